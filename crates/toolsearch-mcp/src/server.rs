//! One MCP server as a provider and an invoker of tools.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{ErrorCode, ErrorData};
use serde_json::Value;
use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use toolsearch_catalog::{Outcome, Source};
use toolsearch_invoke::{Invocation, InvokeError, Invoker, Listing, Outage, OutageKind, Provider};

use crate::cache::{READERS, unix_ms};
use crate::connection::{Call, CallError, Connection};
use crate::life::{Down, Keeper, Need, Phase};
use crate::notes::Kept;
use crate::peer::{ClientPeer, ServerEvent};
use crate::shared::{Known, Shared};
use crate::spec::ServerSpec;
use crate::status::{ServerState, ServerStatus};
use crate::text::{MAX_REASON_CHARS, clip};

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
    pub(crate) keeper: Arc<Keeper>,
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

    /// Names who answers questions of this server. Must be said before the first list or call, as
    /// the server is told what it may ask; a second time changes nothing and gives false.
    pub fn set_client(&self, peer: Arc<dyn ClientPeer>) -> bool {
        self.keeper.shared.set_peer(peer)
    }

    /// What the server tells from now on. A listener that is slow misses the oldest.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<ServerEvent> {
        self.keeper.shared.events()
    }

    /// The last list without asking anybody: of this process, or of an earlier one with its tools
    /// marked stale. `None` when no list was ever kept. Starts nothing.
    pub async fn list_cached(&self) -> Option<Listing> {
        let known = self.known().await;
        let list = known.list.as_ref()?;
        let tools = match known.cached {
            true => list.stale_tools().to_vec(),
            false => list.tools.clone(),
        };
        let mut listing = Listing::new(Source::Mcp, &self.spec().name, tools);
        listing.rejected.clone_from(&list.rejected);
        listing.description = known.description;
        Some(listing)
    }

    /// The tools as far as they can be known within `wait`. A server that is still starting then is
    /// an outage of kind [`OutageKind::Starting`]; its start goes on, and [`McpServer::changed`]
    /// tells when its tools are there. Tools that were listed earlier are given, marked stale, beside
    /// any outage.
    pub async fn list_within(&self, wait: Duration) -> Listing {
        let deadline = Instant::now() + wait;
        let connection = match self.keeper.connection(Need::List, deadline).await {
            Ok(connection) => connection,
            Err(Down::Starting(since)) => {
                let reason = format!("still starting, {} s so far", since.as_secs());
                return self.outage(OutageKind::Starting, &reason).await;
            }
            Err(Down::Failed(reason)) => {
                return self.outage(OutageKind::Failed, &reason).await;
            }
            Err(Down::WantsAuth(reason)) => {
                return self.outage(OutageKind::NeedsConfiguration, &reason).await;
            }
        };
        match connection.tools(deadline).await {
            Some(Ok(list)) => {
                let known = self.keeper.shared.list();
                let mut listing = Listing::new(Source::Mcp, &self.spec().name, list.tools.clone());
                listing.rejected.clone_from(&list.rejected);
                listing.description = known.description;
                // The tools are right, but calls fail at once for a while.
                listing.outage = self
                    .keeper
                    .shared
                    .breaker
                    .refusal()
                    .map(|reason| Outage::new(&self.spec().name, OutageKind::Failed, reason));
                listing
            }
            Some(Err(reason)) => {
                let wants_auth = self.keeper.shared.incident();
                let kind = match wants_auth.is_some_and(|last| last.wants_auth && !last.over) {
                    true => OutageKind::NeedsConfiguration,
                    false => OutageKind::Failed,
                };
                self.outage(kind, &reason).await
            }
            None => {
                let reason = "connected, but the list of tools is not there yet";
                self.outage(OutageKind::Starting, reason).await
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
        let known = shared.list();
        let list = known.list.as_ref();
        let incident = shared.incident();
        let mut status = ServerStatus {
            name: shared.spec.name.clone(),
            state: ServerState::Stopped,
            protocol: None,
            software: None,
            pid: kept.pid,
            starts: shared.starts(),
            tools: list.map_or(0, |list| list.tools.len()),
            rejected: list.map_or(0, |list| list.rejected.len()),
            junk_lines: kept.junk_lines,
            junk: kept.junk,
            stderr: kept.stderr.into(),
            exit: kept.exit,
            last_error: incident.as_ref().map(|last| last.reason.clone()),
            last_error_at_ms: incident.as_ref().map(|last| unix_ms(last.at)),
            listed_at_ms: known.at.map(unix_ms),
            stale: known.cached,
            warnings: list.map(|list| list.warnings.clone()).unwrap_or_default(),
        };
        match self.keeper.phase() {
            Phase::Stopped | Phase::Closed => {}
            Phase::Starting(_) => status.state = ServerState::Starting,
            Phase::Failed(failure) => {
                status.state = match failure.wants_auth {
                    true => ServerState::NeedsAuth,
                    false => ServerState::Failed,
                };
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
                let wants_auth = incident.is_some_and(|last| last.wants_auth && !last.over);
                status.state = match shared.breaker.refusal() {
                    _ if wants_auth => ServerState::NeedsAuth,
                    Some(_) => ServerState::Failed,
                    None => ServerState::Ready,
                };
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

    /// What is known of the list. The first time that is read from the disk, beside what the runtime
    /// does: a long list takes milliseconds to read.
    async fn known(&self) -> Known {
        if !self.keeper.shared.list().looked {
            // Never closed.
            let _turn = READERS.acquire().await;
            let keeper = Arc::clone(&self.keeper);
            let read = tokio::task::spawn_blocking(move || keeper.shared.known());
            if let Ok(known) = read.await {
                return known;
            }
        }
        self.keeper.shared.known()
    }

    async fn outage(&self, kind: OutageKind, reason: &str) -> Listing {
        let name = &self.spec().name;
        let outage = Outage::new(name, kind, clip(reason, MAX_REASON_CHARS));
        let mut listing = Listing::outage(Source::Mcp, outage);
        let Known {
            list, description, ..
        } = self.known().await;
        if let Some(list) = list {
            listing.tools = list.stale_tools().to_vec();
            listing.description = description;
        }
        listing
    }

    pub(crate) fn unavailable(&self, reason: &str) -> InvokeError {
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

    /// The connection for something that cannot wait for a turn.
    pub(crate) async fn connected(
        &self,
        deadline: Instant,
    ) -> Result<Arc<Connection>, InvokeError> {
        if let Err(reason) = self.keeper.shared.breaker.admit() {
            return Err(self.unavailable(&reason));
        }
        match self.keeper.connection(Need::Call, deadline).await {
            Ok(connection) => Ok(connection),
            Err(Down::Starting(since)) => {
                let reason = format!("it is still starting, {} s so far", since.as_secs());
                Err(self.unavailable(&reason))
            }
            Err(Down::Failed(reason) | Down::WantsAuth(reason)) => Err(self.unavailable(&reason)),
        }
    }

    /// Takes note of how a request went that began at `begin`, and says what that means.
    pub(crate) fn judged<T>(
        &self,
        result: Result<T, CallError>,
        begin: Instant,
        limit: Duration,
    ) -> Result<T, InvokeError> {
        let shared = &self.keeper.shared;
        let error = match result {
            Ok(value) => {
                shared.note_answer();
                return Ok(value);
            }
            Err(error) => error,
        };
        Err(match error {
            CallError::Answered(error) => {
                shared.note_answer();
                self.answered(&error)
            }
            CallError::Unsupported(what) => {
                shared.note_answer();
                self.refused(&format!("the tool {what}, which is not supported here"))
            }
            CallError::Ended(reason) => {
                let reason = format!("server {} {reason}", self.spec().name);
                shared.note_incident(&reason, None);
                self.unavailable(&reason)
            }
            CallError::Lost(trouble) => {
                let reason = trouble.to_string();
                shared.note_incident(&reason, Some(&trouble));
                if trouble.is_passing() || trouble.wants_auth() {
                    shared.breaker.fail(&reason, trouble.pause());
                }
                self.unavailable(&reason)
            }
            CallError::TimedOut => {
                if !shared.was_heard_since(begin) {
                    let reason = "it has not answered for a while";
                    shared.note_incident(reason, None);
                    shared.breaker.fail(reason, None);
                }
                InvokeError::Timeout(limit)
            }
        })
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
        let begin = Instant::now();
        let deadline = begin + limit;
        let connection = self.connected(deadline).await?;
        let call = Call {
            name: call.tool.name.clone(),
            args: call.args,
            caller: call.caller,
            progress: call.progress,
        };
        let result = connection.call(call, deadline).await;
        self.judged(result, begin, limit)
            .map(Outcome::from_result_json)
    }
}

impl Drop for McpServer {
    fn drop(&mut self) {
        self.keeper.abandon();
    }
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
