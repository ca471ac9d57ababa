//! What a server has besides tools: resources, prompts, completion, log levels. Everything is handed
//! on as the JSON that the server gave; names are not changed and nothing is kept.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;
use toolsearch_catalog::json_bytes;
use toolsearch_invoke::{Caller, InvokeError};

use crate::connection::{CallError, Connection};
use crate::server::McpServer;
use crate::wire::Rider;

/// Pages of one list.
const MAX_PAGES: usize = 200;
/// Entries of one list.
const MAX_ENTRIES: usize = 20_000;
/// Bytes of one list as JSON.
const MAX_LIST_BYTES: usize = 64 * 1024 * 1024;

/// What a server offers, as it said when it was greeted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Features {
    /// It has resources.
    pub resources: bool,
    /// It tells when a resource that was subscribed to changes.
    pub subscriptions: bool,
    /// It has prompts.
    pub prompts: bool,
    /// It completes arguments of prompts and templates.
    pub completions: bool,
    /// It tells what it does, as loudly as it is asked to.
    pub logging: bool,
}

impl McpServer {
    /// What the server offers; connects if need be, within `wait`.
    ///
    /// # Errors
    /// [`InvokeError::Unavailable`] when there is no connection by then.
    pub async fn features(&self, wait: Duration) -> Result<Features, InvokeError> {
        let connection = self.connected(Instant::now() + wait).await?;
        Ok(features(&connection))
    }

    /// All resources, each as the server describes it; none where it has none. At most 200 pages,
    /// 20,000 entries and 64 MiB; what is beyond is left out.
    ///
    /// # Errors
    /// [`InvokeError`] when there is no connection, or no answer within `wait`.
    pub async fn resources(&self, wait: Duration) -> Result<Vec<Value>, InvokeError> {
        let has = |features: Features| features.resources;
        self.all("resources/list", "resources", has, wait).await
    }

    /// All templates of resources, with the limits of [`McpServer::resources`].
    ///
    /// # Errors
    /// As for [`McpServer::resources`].
    pub async fn resource_templates(&self, wait: Duration) -> Result<Vec<Value>, InvokeError> {
        let has = |features: Features| features.resources;
        let method = "resources/templates/list";
        self.all(method, "resourceTemplates", has, wait).await
    }

    /// The whole result of reading a resource: `{"contents": […]}`. A server that wants to know
    /// something first asks the caller's client.
    ///
    /// # Errors
    /// As for [`McpServer::resources`]; [`InvokeError::Refused`] when there is no such resource.
    pub async fn read_resource(
        &self,
        uri: &str,
        caller: Caller,
        wait: Duration,
    ) -> Result<Value, InvokeError> {
        self.ask_for("resources/read", json!({ "uri": uri }), caller, wait)
            .await
    }

    /// Asks to be told when a resource changes, as [`crate::ServerEvent::ResourceUpdated`]. Holds
    /// until the connection ends. Servers of 2026-07-28 do not know this request.
    ///
    /// # Errors
    /// As for [`McpServer::read_resource`].
    pub async fn subscribe_resource(&self, uri: &str, wait: Duration) -> Result<(), InvokeError> {
        let params = json!({ "uri": uri });
        self.ask("resources/subscribe", params, wait)
            .await
            .map(drop)
    }

    /// Takes that back.
    ///
    /// # Errors
    /// As for [`McpServer::read_resource`].
    pub async fn unsubscribe_resource(&self, uri: &str, wait: Duration) -> Result<(), InvokeError> {
        let params = json!({ "uri": uri });
        self.ask("resources/unsubscribe", params, wait)
            .await
            .map(drop)
    }

    /// All prompts, with the limits of [`McpServer::resources`].
    ///
    /// # Errors
    /// As for [`McpServer::resources`].
    pub async fn prompts(&self, wait: Duration) -> Result<Vec<Value>, InvokeError> {
        let has = |features: Features| features.prompts;
        self.all("prompts/list", "prompts", has, wait).await
    }

    /// The whole result of getting a prompt: `{"messages": […]}`. A server that wants to know
    /// something first asks the caller's client.
    ///
    /// # Errors
    /// As for [`McpServer::resources`]; [`InvokeError::Refused`] when there is no such prompt.
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        caller: Caller,
        wait: Duration,
    ) -> Result<Value, InvokeError> {
        let params = json!({ "name": name, "arguments": arguments });
        self.ask_for("prompts/get", params, caller, wait).await
    }

    /// The whole result of `completion/complete` for these parameters.
    ///
    /// # Errors
    /// As for [`McpServer::resources`]; [`InvokeError::Refused`] where the server completes nothing.
    pub async fn complete(&self, params: Value, wait: Duration) -> Result<Value, InvokeError> {
        self.ask("completion/complete", params, wait).await
    }

    /// Sets how much the server tells as [`crate::ServerEvent::Log`]. Holds until the connection
    /// ends.
    ///
    /// # Errors
    /// As for [`McpServer::resources`]; [`InvokeError::Refused`] where the server has no levels.
    pub async fn set_log_level(&self, level: &str, wait: Duration) -> Result<(), InvokeError> {
        let params = json!({ "level": level });
        self.ask("logging/setLevel", params, wait).await.map(drop)
    }

    async fn ask(&self, method: &str, params: Value, wait: Duration) -> Result<Value, InvokeError> {
        let begin = Instant::now();
        let deadline = begin + wait;
        let connection = self.connected(deadline).await?;
        let rider = Rider::default();
        let result = connection.request(method, params, rider, deadline).await;
        if result.is_ok() {
            connection.prove();
        }
        self.judged(result, begin, wait)
    }

    /// The same on behalf of somebody whose client may be asked something first.
    async fn ask_for(
        &self,
        method: &str,
        params: Value,
        caller: Caller,
        wait: Duration,
    ) -> Result<Value, InvokeError> {
        let begin = Instant::now();
        let deadline = begin + wait;
        let connection = self.connected(deadline).await?;
        let rider = Rider {
            caller: Some(caller),
            ..Rider::default()
        };
        let result = connection.finished(method, params, rider, deadline).await;
        self.judged(result, begin, wait)
    }

    async fn all(
        &self,
        method: &str,
        key: &str,
        has: impl Fn(Features) -> bool,
        wait: Duration,
    ) -> Result<Vec<Value>, InvokeError> {
        let begin = Instant::now();
        let deadline = begin + wait;
        let connection = self.connected(deadline).await?;
        if !has(features(&connection)) {
            return Ok(Vec::new());
        }
        let result = pages(&connection, method, key, deadline).await;
        self.judged(result, begin, wait)
    }
}

async fn pages(
    connection: &Connection,
    method: &str,
    key: &str,
    deadline: Instant,
) -> Result<Vec<Value>, CallError> {
    let mut entries = Vec::new();
    let mut bytes = 0;
    let mut cursors = BTreeSet::new();
    let mut params = json!({});
    for _ in 0..MAX_PAGES {
        let rider = Rider::default();
        let mut page = connection.request(method, params, rider, deadline).await?;
        let Some(Value::Array(read)) = page.get_mut(key).map(Value::take) else {
            break;
        };
        for entry in read {
            bytes += json_bytes(&entry);
            if entries.len() >= MAX_ENTRIES || bytes > MAX_LIST_BYTES {
                return Ok(entries);
            }
            if entry.is_object() {
                entries.push(entry);
            }
        }
        let cursor = page.get("nextCursor").and_then(Value::as_str);
        let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else {
            break;
        };
        if !cursors.insert(cursor.to_owned()) {
            break;
        }
        params = json!({ "cursor": cursor });
    }
    Ok(entries)
}

fn features(connection: &Connection) -> Features {
    let Some(info) = connection.info() else {
        return Features::default();
    };
    let all = &info.capabilities;
    Features {
        resources: all.resources.is_some(),
        subscriptions: all
            .resources
            .as_ref()
            .is_some_and(|resources| resources.subscribe == Some(true)),
        prompts: all.prompts.is_some(),
        completions: all.completions.is_some(),
        logging: all.logging.is_some(),
    }
}
