//! The shelves of a session as one: lists joined under the gateway's names, requests handed to the
//! server that they belong to.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Map, Value, json};
use toolsearch_schema::names::sanitise_label;

use crate::answer::Era;
use crate::clients::ClientName;

use super::names::{self, owned_prompt, owned_resource, prompt_name, resource_uri};
use super::{Shelf, ShelfError, ShelfRequest};

/// What is answered here.
pub(crate) const METHODS: [&str; 8] = [
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
];

/// What may take several rounds of a client's requests, because the server asks something first.
pub(crate) const ROUNDS: [&str; 2] = ["resources/read", "prompts/get"];

/// How long a server may take to give a list. Whoever is slower is left out of it.
const LIST_WAIT: Duration = Duration::from_secs(3);
/// How long it may take for everything else.
const ASK_WAIT: Duration = Duration::from_secs(60);
/// How long it may take where it may ask the client something first.
const ROUNDS_WAIT: Duration = Duration::from_secs(120);
/// Most characters of names in messages.
const MAX_LABEL_CHARS: usize = 200;
/// A resource that is not there, before 2026-07-28.
const RESOURCE_NOT_FOUND: ErrorCode = ErrorCode(-32002);

/// All shelves that a session may see, in the order of their owners.
#[derive(Debug)]
pub(crate) struct Shelves {
    all: Vec<Arc<dyn Shelf>>,
    /// Whom servers may ask something.
    client: Option<ClientName>,
}

/// A place on one shelf, and whether it was asked for by the gateway's name.
struct Found<'a> {
    shelf: &'a Arc<dyn Shelf>,
    own: String,
    named: bool,
}

impl Shelves {
    pub(crate) fn new(mut shelves: Vec<Arc<dyn Shelf>>) -> Self {
        shelves.sort_by(|a, b| a.owner().cmp(b.owner()));
        Self {
            all: shelves,
            client: None,
        }
    }

    /// The same, asked by this client.
    pub(crate) fn asked_by(mut self, client: ClientName) -> Self {
        self.client = Some(client);
        self
    }

    async fn ask(
        &self,
        shelf: &Arc<dyn Shelf>,
        request: ShelfRequest,
        wait: Duration,
    ) -> Result<Value, ShelfError> {
        shelf.ask(request, self.client.as_ref(), wait).await
    }

    /// Whether this owner is among them.
    pub(crate) fn has(&self, owner: &str) -> bool {
        self.all.iter().any(|shelf| shelf.owner() == owner)
    }

    /// Answers one of [`METHODS`] but those of subscriptions.
    pub(crate) async fn answer(
        &self,
        method: &str,
        params: Map<String, Value>,
        era: Era,
    ) -> Result<Value, ErrorData> {
        match method {
            "resources/list" => Ok(self.resources("resources", era).await),
            "resources/templates/list" => Ok(self.resources("resourceTemplates", era).await),
            "prompts/list" => Ok(self.prompts(era).await),
            "resources/read" => {
                let mut read = self.read(&text(&params, "uri")?, era).await?;
                timely(&mut read, era);
                Ok(read)
            }
            "prompts/get" => self.prompt(params, era).await,
            _ => self.complete(params, era).await,
        }
    }

    /// The lists of all shelves. One that gives none is left out.
    async fn lists(&self, request: &ShelfRequest) -> Vec<(&Arc<dyn Shelf>, Vec<Value>)> {
        let lists = self.all.iter().map(|shelf| {
            let request = request.clone();
            async move {
                let entries = match self.ask(shelf, request, LIST_WAIT).await {
                    Ok(Value::Array(entries)) => entries,
                    Ok(_) => Vec::new(),
                    Err(error) => {
                        let owner = shelf.owner();
                        tracing::info!(owner, %error, "a list is left out");
                        Vec::new()
                    }
                };
                (shelf, entries)
            }
        });
        join_all(lists).await
    }

    async fn resources(&self, kind: &str, era: Era) -> Value {
        let (request, key) = match kind {
            "resources" => (ShelfRequest::Resources, "uri"),
            _ => (ShelfRequest::Templates, "uriTemplate"),
        };
        let mut all = Vec::new();
        for (shelf, entries) in self.lists(&request).await {
            let named = entries.into_iter().filter_map(|mut entry| {
                let uri = entry.get(key)?.as_str()?;
                entry[key] = Value::from(resource_uri(shelf.owner(), uri));
                Some(entry)
            });
            all.extend(named);
        }
        listing(kind, all, era)
    }

    async fn prompts(&self, era: Era) -> Value {
        let mut all = Vec::new();
        for (shelf, entries) in self.lists(&ShelfRequest::Prompts).await {
            let named = entries.into_iter().filter_map(|mut entry| {
                let name = entry.get("name")?.as_str()?;
                entry["name"] = Value::from(prompt_name(shelf.owner(), name));
                Some(entry)
            });
            all.extend(named);
        }
        listing("prompts", all, era)
    }

    async fn read(&self, uri: &str, era: Era) -> Result<Value, ErrorData> {
        let found = self.resource(uri).await;
        let found = found.ok_or_else(|| no_resource(uri, era))?;
        let own = found.own.clone();
        let request = ShelfRequest::Read { uri: own };
        let read = self.ask(found.shelf, request, ROUNDS_WAIT).await;
        let mut result = read.map_err(|error| match error {
            // Whatever it says of a resource that it does not have, here it is said in one way.
            ShelfError::Refused {
                code: None | Some(-32002 | -32602),
                ..
            } => no_resource(uri, era),
            other => refused(&other),
        })?;
        if found.named
            && let Some(Value::Array(contents)) = result.get_mut("contents")
        {
            for content in contents {
                let own = content.get("uri").and_then(Value::as_str);
                if let Some(named) = own.map(|own| resource_uri(found.shelf.owner(), own)) {
                    content["uri"] = Value::from(named);
                }
            }
        }
        Ok(complete(result, era))
    }

    /// Whose a resource is: by the gateway's name, or by its own where only one server has it.
    async fn resource(&self, uri: &str) -> Option<Found<'_>> {
        if let Some((owner, own)) = owned_resource(uri) {
            let shelf = self.all.iter().find(|shelf| shelf.owner() == owner)?;
            let own = own.to_owned();
            return Some(Found {
                shelf,
                own,
                named: true,
            });
        }
        let own = uri.to_owned();
        if let [shelf] = self.all.as_slice() {
            return Some(Found {
                shelf,
                own,
                named: false,
            });
        }
        let is = |entry: &Value| entry.get("uri").and_then(Value::as_str) == Some(uri);
        let made = |entry: &Value| {
            let template = entry.get("uriTemplate").and_then(Value::as_str);
            template.is_some_and(|template| names::matches(template, uri))
        };
        let listed = self.lists(&ShelfRequest::Resources).await;
        let shelf = match only(listed, is) {
            Some(shelf) => shelf,
            None => only(self.lists(&ShelfRequest::Templates).await, made)?,
        };
        Some(Found {
            shelf,
            own,
            named: false,
        })
    }

    /// The server that a subscription goes to, and its own name of the resource.
    pub(crate) async fn subscribe(
        &self,
        uri: &str,
        era: Era,
    ) -> Result<(String, String), ErrorData> {
        let found = self.resource(uri).await;
        let found = found.ok_or_else(|| no_resource(uri, era))?;
        let own = found.own.clone();
        let request = ShelfRequest::Subscribe { uri: own };
        let asked = self.ask(found.shelf, request, ASK_WAIT).await;
        asked.map_err(|error| refused(&error))?;
        Ok((found.shelf.owner().to_owned(), found.own))
    }

    async fn prompt(&self, mut params: Map<String, Value>, era: Era) -> Result<Value, ErrorData> {
        let name = text(&params, "name")?;
        let arguments = match params.remove("arguments") {
            Some(Value::Object(arguments)) => arguments,
            None | Some(Value::Null) => Map::new(),
            Some(_) => {
                let message = "`arguments` must be an object";
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let found = self.prompt_called(&name).await?;
        let request = ShelfRequest::Prompt {
            name: found.own,
            arguments,
        };
        let result = self.ask(found.shelf, request, ROUNDS_WAIT).await;
        Ok(complete(result.map_err(|error| refused(&error))?, era))
    }

    /// Whose a prompt is: by the gateway's name, or by its own where only one server has it.
    async fn prompt_called(&self, name: &str) -> Result<Found<'_>, ErrorData> {
        let lists = self.lists(&ShelfRequest::Prompts).await;
        let has = |entries: &[Value], name: &str| {
            let mut names = entries
                .iter()
                .filter_map(|entry| entry.get("name")?.as_str());
            names.any(|known| known == name)
        };
        let mut named: Vec<Found<'_>> = Vec::new();
        let mut bare: Vec<Found<'_>> = Vec::new();
        for (shelf, entries) in &lists {
            let shelf: &Arc<dyn Shelf> = shelf;
            if let Some(own) = owned_prompt(shelf.owner(), name).filter(|own| has(entries, own)) {
                let own = own.to_owned();
                named.push(Found {
                    shelf,
                    own,
                    named: true,
                });
            }
            if has(entries, name) {
                let own = name.to_owned();
                bare.push(Found {
                    shelf,
                    own,
                    named: false,
                });
            }
        }
        let label = sanitise_label(name, MAX_LABEL_CHARS);
        // Two readings of one name are as good as two prompts of one name.
        let mut fitting = if named.is_empty() { bare } else { named };
        match (fitting.len(), fitting.pop()) {
            (1, Some(found)) => Ok(found),
            (0, _) | (_, None) => {
                let message = format!("there is no prompt `{label}`; see prompts/list");
                Err(ErrorData::invalid_params(message, None))
            }
            (_, Some(last)) => {
                fitting.push(last);
                let names: Vec<String> = fitting
                    .iter()
                    .map(|found| prompt_name(found.shelf.owner(), &found.own))
                    .collect();
                let message = format!("`{label}` may be any of: {}", names.join(", "));
                Err(ErrorData::invalid_params(message, None))
            }
        }
    }

    async fn complete(&self, params: Map<String, Value>, era: Era) -> Result<Value, ErrorData> {
        let mut params = Value::Object(params);
        let reference = params.get("ref").cloned().unwrap_or_default();
        let said = |key: &str| reference.get(key).and_then(Value::as_str);
        let found = match (said("type"), said("name"), said("uri")) {
            (Some("ref/prompt"), Some(name), _) => {
                let found = self.prompt_called(name).await?;
                params["ref"]["name"] = Value::from(found.own.as_str());
                found
            }
            (Some("ref/resource"), _, Some(uri)) => {
                let found = self.resource(uri).await;
                let found = found.ok_or_else(|| no_resource(uri, era))?;
                params["ref"]["uri"] = Value::from(found.own.as_str());
                found
            }
            _ => {
                let message = "`ref` must name a prompt or a resource";
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let request = ShelfRequest::Complete { params };
        let result = self.ask(found.shelf, request, ASK_WAIT).await;
        Ok(complete(result.map_err(|error| refused(&error))?, era))
    }
}

/// The only shelf with such an entry.
fn only(
    lists: Vec<(&Arc<dyn Shelf>, Vec<Value>)>,
    is: impl Fn(&Value) -> bool,
) -> Option<&Arc<dyn Shelf>> {
    let mut having = lists
        .into_iter()
        .filter(|(_, entries)| entries.iter().any(&is))
        .map(|(shelf, _)| shelf);
    let first = having.next()?;
    having.next().is_none().then_some(first)
}

pub(crate) fn text(params: &Map<String, Value>, key: &str) -> Result<String, ErrorData> {
    let text = params.get(key).and_then(Value::as_str);
    text.map(str::to_owned)
        .ok_or_else(|| ErrorData::invalid_params(format!("`{key}` must be a string"), None))
}

fn listing(key: &str, entries: Vec<Value>, era: Era) -> Value {
    let mut result = complete(json!({ key: entries }), era);
    timely(&mut result, era);
    result
}

/// Since 2026-07-28 lists and contents say for how long they hold: no time.
fn timely(result: &mut Value, era: Era) {
    if era == Era::Inline
        && let Value::Object(result) = result
    {
        result.entry("ttlMs").or_insert_with(|| Value::from(0));
        let scope = || Value::from("private");
        result.entry("cacheScope").or_insert_with(scope);
    }
}

/// The result as this era has it.
fn complete(mut result: Value, era: Era) -> Value {
    if let Value::Object(result) = &mut result {
        match era {
            Era::Inline => {
                result.insert("resultType".to_owned(), Value::from("complete"));
            }
            Era::Handshake => {
                result.remove("resultType");
            }
        }
    }
    result
}

fn no_resource(uri: &str, era: Era) -> ErrorData {
    let code = match era {
        Era::Handshake => RESOURCE_NOT_FOUND,
        Era::Inline => ErrorCode::INVALID_PARAMS,
    };
    let label = sanitise_label(uri, MAX_LABEL_CHARS);
    let message = format!("there is no resource `{label}`; see resources/list");
    ErrorData::new(code, message, Some(json!({ "uri": uri })))
}

fn refused(error: &ShelfError) -> ErrorData {
    let message = sanitise_label(&error.to_string(), MAX_LABEL_CHARS);
    match error {
        ShelfError::Refused {
            code: Some(code), ..
        } => ErrorData::new(ErrorCode(*code), message, None),
        _ => ErrorData::internal_error(message, None),
    }
}
