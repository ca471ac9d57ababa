//! One MCP server as a provider and an invoker of tools.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{ErrorCode, ErrorData, ServerPeerInfo};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;
use toolsearch_catalog::{Outcome, Source};
use toolsearch_invoke::{Invocation, InvokeError, Invoker, Listing, Outage, OutageKind, Provider};

use crate::connection::CallError;
use crate::life::{Down, Keeper, Phase};
use crate::notes::Kept;
use crate::shared::Shared;
use crate::spec::ServerSpec;
use crate::status::{ServerState, ServerStatus};
use crate::text::{MAX_REASON_CHARS, clip};

/// Longest description of a server, in characters.
const MAX_DESCRIPTION_CHARS: usize = 16_000;
/// Longest part of an error's `data` in a message, in characters.
const MAX_DATA_CHARS: usize = 300;
/// Room for the pause in which changes of a list are gathered.
const LIST_SLACK: Duration = Duration::from_secs(1);

/// An upstream MCP server.
///
/// It is started by the first list or call, within a tokio runtime, and then shared by all. Dropping
/// it ends the server without waiting; [`McpServer::shutdown`] waits.
#[derive(Debug)]
pub struct McpServer {
    keeper: Arc<Keeper>,
}

impl McpServer {
    /// A server that is not running yet.
    #[must_use]
    pub fn new(spec: ServerSpec) -> Arc<Self> {
        Arc::new(Self {
            keeper: Arc::new(Keeper::new(Shared::new(spec))),
        })
    }

    /// The settings.
    #[must_use]
    pub fn spec(&self) -> &ServerSpec {
        &self.keeper.shared.spec
    }

    /// The tools as far as they can be known within `wait`. A server that is still starting then is
    /// an outage of kind [`OutageKind::Starting`]; its start goes on, and [`McpServer::changed`]
    /// tells when its tools are there. Tools that were listed earlier are given, marked stale, beside
    /// any outage.
    pub async fn list_within(&self, wait: Duration) -> Listing {
        let deadline = Instant::now() + wait;
        let connection = match self.keeper.connection(deadline).await {
            Ok(connection) => connection,
            Err(Down::Starting(since)) => {
                let reason = format!("still starting, {} s so far", since.as_secs());
                return self.outage(OutageKind::Starting, &reason);
            }
            Err(Down::Failed(reason)) => return self.outage(OutageKind::Failed, &reason),
        };
        match connection.tools(deadline).await {
            Some(Ok(list)) => {
                let mut listing = Listing::new(Source::Mcp, &self.spec().name, list.tools.clone());
                listing.rejected.clone_from(&list.rejected);
                listing.description = connection
                    .info()
                    .map(|info| describe(&info))
                    .unwrap_or_default();
                listing
            }
            Some(Err(reason)) => self.outage(OutageKind::Failed, &reason),
            None => {
                let reason = "connected, but the list of tools is not there yet";
                self.outage(OutageKind::Starting, reason)
            }
        }
    }

    /// Counts the changes of the tool list, the first list included. Changes that come close
    /// together count once, and a list that is the same as before does not count.
    #[must_use]
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.keeper.shared.changes()
    }

    /// What can be said about the server now.
    #[must_use]
    pub fn status(&self) -> ServerStatus {
        let shared = &self.keeper.shared;
        let kept = shared
            .remote()
            .map_or_else(Kept::default, |remote| remote.notes.snapshot());
        let list = shared.list();
        let mut status = ServerStatus {
            name: shared.spec.name.clone(),
            state: ServerState::Stopped,
            protocol: None,
            software: None,
            pid: kept.pid,
            starts: shared.starts(),
            tools: list.as_ref().map_or(0, |list| list.tools.len()),
            rejected: list.as_ref().map_or(0, |list| list.rejected.len()),
            junk_lines: kept.junk_lines,
            junk: kept.junk,
            stderr: kept.stderr.into(),
            exit: kept.exit,
            last_error: None,
            warnings: list.map(|list| list.warnings.clone()).unwrap_or_default(),
        };
        match self.keeper.phase() {
            Phase::Stopped | Phase::Closed => {}
            Phase::Starting(_) => status.state = ServerState::Starting,
            Phase::Failed(failure) => {
                status.state = ServerState::Failed;
                status.last_error = Some(failure.reason);
            }
            Phase::Ready(connection) => {
                if let Some(info) = connection.info() {
                    status.protocol = Some(clip(info.protocol_version.as_str(), 40));
                    status.software = info.server_info.as_ref().map(|software| {
                        let text = format!("{} {}", software.name, software.version);
                        shared.redactor.line(&text, 120)
                    });
                }
                status.state = ServerState::Ready;
                if connection.is_over() {
                    status.state = ServerState::Failed;
                    status.last_error = Some(connection.remote().notes.obituary());
                }
            }
        }
        status
    }

    /// Ends the server for good: its input is closed, then its whole process group is asked, then
    /// killed. Comes back when nothing is left of it, after at most some seconds.
    pub async fn shutdown(&self) {
        self.keeper.close().await;
    }

    fn outage(&self, kind: OutageKind, reason: &str) -> Listing {
        let name = &self.spec().name;
        let outage = Outage::new(name, kind, clip(reason, MAX_REASON_CHARS));
        let mut listing = Listing::outage(Source::Mcp, outage);
        if let Some(list) = self.keeper.shared.list() {
            listing.tools = list.stale_tools();
        }
        listing
    }

    fn unavailable(&self, reason: &str) -> InvokeError {
        let reason = clip(reason, MAX_REASON_CHARS);
        InvokeError::Unavailable {
            owner: self.spec().name.clone(),
            reason,
        }
    }

    fn refused(&self, reason: &str) -> InvokeError {
        let reason = clip(reason, MAX_REASON_CHARS);
        InvokeError::Refused {
            owner: self.spec().name.clone(),
            reason,
        }
    }

    /// What an error answer to a call means.
    fn answered(&self, error: &ErrorData) -> InvokeError {
        let owner = self.spec().name.clone();
        if is_unknown_tool(error) {
            return InvokeError::Gone { owner };
        }
        let redactor = &self.keeper.shared.redactor;
        let mut reason = redactor.line(&error.message, MAX_REASON_CHARS);
        if let Some(data) = &error.data {
            let data = match data {
                Value::String(text) => redactor.line(text, MAX_DATA_CHARS),
                other => redactor.line(&other.to_string(), MAX_DATA_CHARS),
            };
            reason = format!("{reason} ({data})");
        }
        self.refused(&format!("{reason} [{}]", error.code.0))
    }
}

#[async_trait]
impl Provider for McpServer {
    fn source(&self) -> Source {
        Source::Mcp
    }

    fn owner(&self) -> &str {
        &self.spec().name
    }

    async fn list(&self) -> Listing {
        let spec = self.spec();
        self.list_within(spec.start_timeout + spec.list_timeout + LIST_SLACK)
            .await
    }
}

#[async_trait]
impl Invoker for McpServer {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        let spec = self.spec();
        if !spec.tools.accepts(&call.tool.name) {
            return Err(InvokeError::Gone {
                owner: spec.name.clone(),
            });
        }
        let limit = spec
            .call_timeout
            .map_or(call.timeout, |limit| limit.min(call.timeout));
        let deadline = Instant::now() + limit;
        let connection = match self.keeper.connection(deadline).await {
            Ok(connection) => connection,
            Err(Down::Starting(since)) => {
                let reason = format!("it is still starting, {} s so far", since.as_secs());
                return Err(self.unavailable(&reason));
            }
            Err(Down::Failed(reason)) => return Err(self.unavailable(&reason)),
        };
        match connection
            .call(&call.tool.name, call.args, call.progress, deadline)
            .await
        {
            Ok(result) => Ok(Outcome::from_result_json(result)),
            Err(CallError::Answered(error)) => Err(self.answered(&error)),
            Err(CallError::Ended(reason)) => {
                let reason = format!("server {} {reason}", spec.name);
                Err(self.unavailable(&reason))
            }
            Err(CallError::TimedOut) => Err(InvokeError::Timeout(limit)),
            Err(CallError::Unsupported(what)) => {
                Err(self.refused(&format!("the tool {what}, which is not supported here")))
            }
        }
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        self.keeper.abandon();
    }
}

/// What a server says about itself: instructions first, then what it calls itself.
fn describe(info: &ServerPeerInfo) -> String {
    let instructions = info
        .instructions
        .clone()
        .filter(|text| !text.trim().is_empty());
    let text = instructions.or_else(|| {
        let software = info.server_info.as_ref()?;
        software
            .description
            .clone()
            .or_else(|| software.title.clone())
    });
    clip(text.unwrap_or_default().trim(), MAX_DESCRIPTION_CHARS)
}

/// Servers that answer an unknown tool with an error say so in words; the codes mean other things
/// as well.
fn is_unknown_tool(error: &ErrorData) -> bool {
    let codes = [ErrorCode::INVALID_PARAMS, ErrorCode::METHOD_NOT_FOUND];
    let message = error.message.to_lowercase();
    codes.contains(&error.code)
        && (message.contains("unknown tool")
            || message.starts_with("tool") && message.ends_with("not found")
            || message.contains("tool not found"))
}
