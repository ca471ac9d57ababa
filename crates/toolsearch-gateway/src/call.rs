//! One `tools/call`: reading it, running it in the session, telling its progress. Whatever happens
//! inside, the connection lives on.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use rmcp::ErrorData;
use rmcp::model::{
    ProgressNotification, ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::{Peer, RoleServer};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::time::timeout;
use toolsearch_invoke::{Progress, ProgressSink};
use toolsearch_mode::Rendered;
use toolsearch_runtime::{ModelCall, Reply, Session};
use toolsearch_schema::names::sanitise_label;

/// Reports that wait to be sent; further ones are left out.
const QUEUED_REPORTS: usize = 64;
/// How long an answer waits for the reports before it to be written.
const REPORTS_PATIENCE: Duration = Duration::from_millis(500);
/// Most characters of the message of a report.
const MAX_MESSAGE_CHARS: usize = 500;
/// Most characters of names in messages.
const MAX_LABEL_CHARS: usize = 80;

/// A call as the client made it.
#[derive(Debug)]
pub(crate) struct Call {
    name: String,
    arguments: Value,
}

impl Call {
    /// Reads the parameters of `tools/call`. Arguments are an object, the JSON text of one, null or
    /// absent.
    pub(crate) fn read(params: Option<Value>) -> Result<Self, ErrorData> {
        let mut params = match params {
            Some(Value::Object(params)) => params,
            _ => {
                return Err(ErrorData::invalid_params(
                    "`params` must be an object",
                    None,
                ));
            }
        };
        let Some(Value::String(name)) = params.remove("name") else {
            return Err(ErrorData::invalid_params("`name` must be a string", None));
        };
        let arguments = match params.remove("arguments") {
            None | Some(Value::Null) => Some(Map::new()),
            Some(Value::Object(arguments)) => Some(arguments),
            Some(Value::String(text)) => object_in(&text),
            Some(_) => None,
        };
        match arguments {
            Some(arguments) => Ok(Self {
                name,
                arguments: Value::Object(arguments),
            }),
            None => {
                let name = sanitise_label(&name, MAX_LABEL_CHARS);
                let message = format!("the arguments of `{name}` must be an object");
                Err(ErrorData::invalid_params(message, None))
            }
        }
    }

    /// Runs the call; a panic inside becomes a failed result.
    async fn run(self, session: &Session, progress: Option<Arc<dyn ProgressSink>>) -> Rendered {
        let name = sanitise_label(&self.name, MAX_LABEL_CHARS);
        let mut call = ModelCall::new(self.name, self.arguments);
        call.progress = progress;
        match AssertUnwindSafe(session.handle(call)).catch_unwind().await {
            Ok(Reply::Done(answer)) => answer,
            Ok(Reply::Pending(pending)) => {
                let calls = pending.calls();
                let ids: Vec<&str> = calls.iter().map(|call| call.tool.id.as_str()).collect();
                Rendered::error(format!(
                    "The client runs these tools itself, they cannot be called from here: {}. Call \
                     them by their own names.",
                    ids.join(", ")
                ))
            }
            Err(_) => {
                tracing::error!(call = name, "a call panicked");
                Rendered::error(format!(
                    "`{name}` failed by a fault in toolsearch itself; it may have had effects. Do \
                     not repeat it; tell the user. Other tools go on working."
                ))
            }
        }
    }

    /// Runs the call; its progress goes to the client if that gave a token, and comes before the
    /// answer.
    pub(crate) async fn answer(
        self,
        session: &Session,
        peer: &Peer<RoleServer>,
        token: Option<ProgressToken>,
    ) -> Rendered {
        let Some(token) = token else {
            return self.run(session, None).await;
        };
        let (sink, reports) = mpsc::channel(QUEUED_REPORTS);
        let mut reporting = std::pin::pin!(report(peer, token, reports));
        let mut running = std::pin::pin!(self.run(session, Some(Arc::new(Sink(sink)))));
        let answer = tokio::select! {
            answer = &mut running => answer,
            () = &mut reporting => return running.await,
        };
        // A client that does not read gets its answer as late as it reads, but not later.
        let _ = timeout(REPORTS_PATIENCE, reporting).await;
        answer
    }
}

/// `""`, `"null"` and `"{…}"` are what clients send that keep arguments as text.
fn object_in(text: &str) -> Option<Map<String, Value>> {
    if text.trim().is_empty() {
        return Some(Map::new());
    }
    match serde_json::from_str(text).ok()? {
        Value::Object(object) => Some(object),
        Value::Null => Some(Map::new()),
        _ => None,
    }
}

#[derive(Debug)]
struct Sink(mpsc::Sender<Progress>);

impl ProgressSink for Sink {
    fn progress(&self, progress: Progress) {
        // A report that finds no room is superseded by the next one anyway.
        let _ = self.0.try_send(progress);
    }
}

/// Sends reports until nobody can make one any more.
async fn report(
    peer: &Peer<RoleServer>,
    token: ProgressToken,
    mut reports: mpsc::Receiver<Progress>,
) {
    let mut last = f64::NEG_INFINITY;
    while let Some(Progress {
        done,
        total,
        message,
        ..
    }) = reports.recv().await
    {
        // The protocol wants growing numbers; JSON has no others than finite ones.
        if !done.is_finite() || done <= last {
            continue;
        }
        last = done;
        let mut params = ProgressNotificationParam::new(token.clone(), done);
        params.total = total.filter(|total| total.is_finite());
        params.message = message.map(|message| sanitise_label(&message, MAX_MESSAGE_CHARS));
        let notification = ProgressNotification::new(params);
        let notification = ServerNotification::ProgressNotification(notification);
        if peer.send_notification(notification).await.is_err() {
            return;
        }
    }
}
