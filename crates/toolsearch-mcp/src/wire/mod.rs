//! rmcp's transport over a [`Carrier`]: typed messages out, values in.
//!
//! Answers reach the caller as raw JSON, so nothing of a tool or a result is lost to a type.
//! Progress and list changes are handled here, in the order in which they arrive: progress never
//! comes after the answer that it belongs to.

mod answer;
mod asks;
mod parse;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorData, JsonRpcMessage,
    NumberOrString, RequestId, RequestMetaObject, ServerJsonRpcMessage, ServerNotification,
    ServerRequest,
};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};
use toolsearch_invoke::{Caller, Progress, ProgressSink};

use self::asks::Asks;
use crate::carrier::{Carrier, Incoming, Remote};
use crate::peer::{AskKind, ServerEvent};
use crate::shared::Shared;

pub(crate) use self::answer::lost;
pub(crate) use self::parse::{cut_answer, parse};

/// Longest address of a resource that is told about.
const MAX_URI_BYTES: usize = 8 * 1024;
/// Longest text of a log entry, in characters.
const MAX_LOG_CHARS: usize = 2000;

/// Rides in the extensions of a request: who listens to its progress and on whose behalf it runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rider {
    pub(crate) progress: Option<Arc<dyn ProgressSink>>,
    pub(crate) caller: Option<Caller>,
}

/// Why a message could not be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("the server is gone")]
    Closed,
    #[error("the message cannot be written as JSON: {0}")]
    Encode(#[from] serde_json::Error),
}

#[derive(Debug)]
pub(crate) struct Wire {
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    incoming: mpsc::Receiver<Incoming>,
    remote: Remote,
    /// Counts the occasions on which the tool list may have become another.
    list_changes: watch::Sender<u64>,
    pending: BTreeMap<i64, Pending>,
    asks: Asks,
    shared: Arc<Shared>,
}

/// Requests whose answers need more than being handed on.
#[derive(Debug)]
enum Pending {
    Initialize,
    Discover,
    Ridden {
        token: Option<NumberOrString>,
        rider: Rider,
    },
}

impl Wire {
    pub(crate) fn new(
        carrier: Carrier,
        list_changes: watch::Sender<u64>,
        shared: &Arc<Shared>,
    ) -> Self {
        let Carrier {
            outgoing,
            incoming,
            remote,
        } = carrier;
        Self {
            asks: Asks::new(outgoing.clone(), Arc::clone(shared)),
            outgoing: Some(outgoing),
            incoming,
            remote,
            list_changes,
            pending: BTreeMap::new(),
            shared: Arc::clone(shared),
        }
    }

    /// Must happen before the message leaves, so that no answer can overtake it.
    fn remember(&mut self, message: &ClientJsonRpcMessage) {
        match message {
            JsonRpcMessage::Request(request) => {
                let NumberOrString::Number(id) = request.id else {
                    return;
                };
                if let Some(pending) = pending(&request.request) {
                    self.pending.insert(id, pending);
                }
            }
            JsonRpcMessage::Notification(notification) => {
                let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                else {
                    return;
                };
                if let Some(id) = cancelled.params.request_id.as_ref().and_then(number) {
                    self.pending.remove(&id);
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
    }

    /// Queues the message at once, so that the order of sending is kept. When the queue is full,
    /// gives back what has to wait; answers do not wait, as a server that asks without reading
    /// would fill the memory with them.
    fn queue(&self, message: &ClientJsonRpcMessage) -> Result<Option<Waiting>, WireError> {
        let is_answer = matches!(
            message,
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
        );
        let text = serde_json::to_vec(message)?;
        let outgoing = self.outgoing.as_ref().ok_or(WireError::Closed)?;
        match outgoing.try_send(text) {
            Ok(()) => Ok(None),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(WireError::Closed),
            Err(mpsc::error::TrySendError::Full(_)) if is_answer => Ok(None),
            Err(mpsc::error::TrySendError::Full(text)) => Ok(Some((outgoing.clone(), text))),
        }
    }

    /// What a message means for rmcp; `None` when it is dealt with here.
    fn read(&mut self, incoming: Incoming) -> Option<ServerJsonRpcMessage> {
        let (message, origin) = match incoming {
            Incoming::Message { message, origin } => (message, origin),
            Incoming::Lost { id, trouble } => {
                self.pending.remove(&id);
                let id = NumberOrString::Number(id);
                return Some(JsonRpcMessage::error(
                    answer::lost_on_the_way(&trouble),
                    Some(id),
                ));
            }
        };
        let Value::Object(mut message) = message else {
            return None;
        };
        if !message.contains_key("method") {
            return self.read_answer(message);
        }
        match message.get("id") {
            None | Some(Value::Null) => self.read_notification(message),
            Some(_) => {
                let id = request_id(message.remove("id"))?;
                self.read_request(id, message, origin)
            }
        }
    }

    fn read_answer(&mut self, mut message: Map<String, Value>) -> Option<ServerJsonRpcMessage> {
        let id = request_id(message.remove("id"));
        let pending = id
            .as_ref()
            .and_then(number)
            .and_then(|id| self.pending.remove(&id));
        if let Some(error) = message.remove("error").filter(|error| !error.is_null()) {
            return Some(JsonRpcMessage::error(answer::error(error), id));
        }
        let result = message.remove("result").unwrap_or_default();
        let result = match pending {
            Some(Pending::Initialize) => answer::initialize(result),
            Some(Pending::Discover) => answer::discover(result),
            Some(Pending::Ridden { .. }) | None => answer::raw(result),
        };
        Some(JsonRpcMessage::response(result, id?))
    }

    fn read_notification(&mut self, message: Map<String, Value>) -> Option<ServerJsonRpcMessage> {
        match message.get("method").and_then(Value::as_str)? {
            "notifications/progress" => self.progress(message.get("params")?),
            "notifications/tools/list_changed" => {
                self.list_changes.send_modify(|count| *count += 1);
            }
            "notifications/resources/list_changed" => {
                self.shared.tell(ServerEvent::ResourcesChanged);
            }
            "notifications/prompts/list_changed" => self.shared.tell(ServerEvent::PromptsChanged),
            "notifications/resources/updated" => {
                let uri = message.get("params")?.get("uri")?.as_str()?;
                if uri.len() <= MAX_URI_BYTES {
                    let uri = uri.to_owned();
                    self.shared.tell(ServerEvent::ResourceUpdated { uri });
                }
            }
            "notifications/message" => self.log(message.get("params")?),
            "notifications/cancelled" => {
                let asked = message.get("params").and_then(|all| all.get("requestId"));
                if asked.is_some_and(|id| self.asks.take_back(id)) {
                    return None;
                }
                let notification: ServerNotification =
                    serde_json::from_value(Value::Object(message)).ok()?;
                return Some(JsonRpcMessage::notification(notification));
            }
            _ => {}
        }
        None
    }

    fn log(&self, params: &Value) {
        let line = |text: &str, max| self.shared.redactor.line(text, max);
        let text = |key: &str| params.get(key).and_then(Value::as_str);
        let message = match params.get("data") {
            Some(Value::String(text)) => line(text, MAX_LOG_CHARS),
            Some(other) => line(&other.to_string(), MAX_LOG_CHARS),
            None => return,
        };
        let level = line(text("level").unwrap_or("info"), 20);
        let logger = text("logger").map(|logger| line(logger, 100));
        tracing::debug!(
            server = self.shared.spec.name,
            level,
            message,
            "log entry of a server"
        );
        self.shared.tell(ServerEvent::Log {
            level,
            logger,
            message,
        });
    }

    fn progress(&self, params: &Value) {
        let Some(named) = request_id(params.get("progressToken").cloned()) else {
            return;
        };
        let sink = self.pending.values().find_map(|pending| match pending {
            Pending::Ridden { token, rider } if token.as_ref() == Some(&named) => {
                rider.progress.as_ref()
            }
            _ => None,
        });
        let done = params.get("progress").and_then(Value::as_f64);
        if let (Some(sink), Some(done)) = (sink, done) {
            let total = params.get("total").and_then(Value::as_f64);
            let message = params.get("message").and_then(Value::as_str);
            sink.progress(Progress::new(done, total, message.map(str::to_owned)));
        }
    }

    /// A request of the server. One that cannot be understood is refused here and now, as a server
    /// that asks waits for an answer.
    fn read_request(
        &mut self,
        id: RequestId,
        mut message: Map<String, Value>,
        origin: Option<i64>,
    ) -> Option<ServerJsonRpcMessage> {
        if message.get("params").is_some_and(Value::is_null) {
            message.remove("params");
        }
        let method = message.get("method").and_then(Value::as_str);
        if let Some(kind) = method.and_then(AskKind::of)
            && let Some(caller) = self.caller(origin)
        {
            let params = message.get("params").cloned().unwrap_or_default();
            if self.asks.put(&id, kind, caller, params) {
                return None;
            }
        }
        match serde_json::from_value::<ServerRequest>(Value::Object(message)) {
            Ok(request) => Some(JsonRpcMessage::request(request, id)),
            Err(_) => {
                let error = ErrorData::invalid_params("the parameters cannot be understood", None);
                let refusal = JsonRpcMessage::error(error, Some(id));
                if let Err(error) = self.queue(&refusal) {
                    tracing::debug!(%error, "a request of the server could not be refused");
                }
                None
            }
        }
    }

    /// Whose call a request of the server belongs to, where that is certain.
    fn caller(&self, origin: Option<i64>) -> Option<Caller> {
        let of = |pending: &Pending| match pending {
            Pending::Ridden { rider, .. } => rider.caller.clone(),
            _ => None,
        };
        if let Some(origin) = origin {
            return self.pending.get(&origin).and_then(of);
        }
        let mut callers = self.pending.values().filter_map(of);
        let first = callers.next()?;
        callers.all(|other| other == first).then_some(first)
    }
}

type Waiting = (mpsc::Sender<Vec<u8>>, Vec<u8>);

impl Transport<RoleClient> for Wire {
    type Error = WireError;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), WireError>> + Send + 'static {
        self.remember(&message);
        let queued = self.queue(&message);
        async move {
            match queued? {
                None => Ok(()),
                Some((outgoing, text)) => outgoing.send(text).await.map_err(|_| WireError::Closed),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            let message = self.incoming.recv().await?;
            if let Some(message) = self.read(message) {
                return Some(message);
            }
        }
    }

    /// Returns at once; the end of the server can be watched at its [`Remote`].
    async fn close(&mut self) -> Result<(), WireError> {
        self.outgoing = None;
        self.asks.end();
        self.remote.stop();
        Ok(())
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.remote.stop();
    }
}

fn pending(request: &ClientRequest) -> Option<Pending> {
    match request {
        ClientRequest::InitializeRequest(_) => Some(Pending::Initialize),
        ClientRequest::DiscoverRequest(_) => Some(Pending::Discover),
        ClientRequest::CustomRequest(request) => {
            let rider = request.extensions.get::<Rider>()?.clone();
            let meta = request.extensions.get::<RequestMetaObject>();
            let token = meta.and_then(RequestMetaObject::get_progress_token);
            let token = token.map(|token| token.0);
            Some(Pending::Ridden { token, rider })
        }
        _ => None,
    }
}

fn request_id(id: Option<Value>) -> Option<RequestId> {
    serde_json::from_value(id?).ok()
}

/// The number of an id that rmcp gave out, also where a server sends it back as text.
fn number(id: &RequestId) -> Option<i64> {
    match id {
        NumberOrString::Number(number) => Some(*number),
        NumberOrString::String(text) => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
