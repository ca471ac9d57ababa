//! rmcp's transport over a [`Carrier`]: typed messages out, values in.
//!
//! Answers reach the caller as raw JSON, so nothing of a tool or a result is lost to a type.
//! Progress and list changes are handled here, in the order in which they arrive: progress never
//! comes after the answer that it belongs to.

mod answer;
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
use toolsearch_invoke::{Progress, ProgressSink};

use crate::carrier::{Carrier, Remote};

pub(crate) use self::parse::parse;

/// Rides in the extensions of a `tools/call` request: who listens to its progress.
#[derive(Debug, Clone)]
pub(crate) struct Listener(pub(crate) Arc<dyn ProgressSink>);

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
    incoming: mpsc::Receiver<Value>,
    remote: Remote,
    /// Counts the occasions on which the tool list may have become another.
    list_changes: watch::Sender<u64>,
    pending: BTreeMap<i64, Pending>,
}

/// Requests whose answers need more than being handed on.
#[derive(Debug)]
enum Pending {
    Initialize,
    Discover,
    Call {
        token: NumberOrString,
        listener: Listener,
    },
}

impl Wire {
    pub(crate) fn new(carrier: Carrier, list_changes: watch::Sender<u64>) -> Self {
        let Carrier {
            outgoing,
            incoming,
            remote,
        } = carrier;
        let outgoing = Some(outgoing);
        Self {
            outgoing,
            incoming,
            remote,
            list_changes,
            pending: BTreeMap::new(),
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
    fn read(&mut self, message: Value) -> Option<ServerJsonRpcMessage> {
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
                self.read_request(id, message)
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
            Some(Pending::Call { .. }) | None => answer::raw(result),
        };
        Some(JsonRpcMessage::response(result, id?))
    }

    fn read_notification(&self, message: Map<String, Value>) -> Option<ServerJsonRpcMessage> {
        match message.get("method").and_then(Value::as_str)? {
            "notifications/progress" => {
                self.progress(message.get("params")?);
                None
            }
            "notifications/tools/list_changed" => {
                self.list_changes.send_modify(|count| *count += 1);
                None
            }
            "notifications/cancelled" => {
                let notification: ServerNotification =
                    serde_json::from_value(Value::Object(message)).ok()?;
                Some(JsonRpcMessage::notification(notification))
            }
            _ => None,
        }
    }

    fn progress(&self, params: &Value) {
        let Some(named) = request_id(params.get("progressToken").cloned()) else {
            return;
        };
        let listener = self.pending.values().find_map(|pending| match pending {
            Pending::Call { token, listener } if *token == named => Some(listener),
            _ => None,
        });
        let done = params.get("progress").and_then(Value::as_f64);
        if let (Some(Listener(sink)), Some(done)) = (listener, done) {
            let total = params.get("total").and_then(Value::as_f64);
            let message = params.get("message").and_then(Value::as_str);
            sink.progress(Progress::new(done, total, message.map(str::to_owned)));
        }
    }

    /// A request of the server. One that cannot be understood is refused here and now, as a server
    /// that asks waits for an answer.
    fn read_request(
        &self,
        id: RequestId,
        mut message: Map<String, Value>,
    ) -> Option<ServerJsonRpcMessage> {
        if message.get("params").is_some_and(Value::is_null) {
            message.remove("params");
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
        ClientRequest::CallToolRequest(call) => {
            let listener = call.extensions.get::<Listener>()?.clone();
            let token = call
                .extensions
                .get::<RequestMetaObject>()?
                .get_progress_token()?
                .0;
            Some(Pending::Call { token, listener })
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
