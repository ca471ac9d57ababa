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
use toolsearch_policy::Approver;
use toolsearch_runtime::{ModelCall, Pending, Reply, Session};
use toolsearch_schema::names::sanitise_label;

use crate::elicit::{self, Continued, Form, Inputs, Told, Waiting};

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
    /// Set when the call is made again with answers of the client.
    inputs: Option<Inputs>,
}

/// How the person behind the client is asked for consent.
#[derive(Debug, Clone)]
pub(crate) enum Asking {
    /// Not at all: whoever the session asks is asked.
    Not,
    /// By a request, while the call waits.
    Request(Arc<dyn Approver>),
    /// By the answer: the client makes the call again.
    Answer(Arc<Waiting>),
}

/// What a call is answered with.
#[derive(Debug)]
pub(crate) enum Answered {
    /// A result.
    Done(Rendered),
    /// What the client has to find out first.
    Asks(Value),
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
        let inputs = inputs(&mut params);
        match arguments {
            Some(arguments) => Ok(Self {
                name,
                arguments: Value::Object(arguments),
                inputs,
            }),
            None => {
                let name = sanitise_label(&name, MAX_LABEL_CHARS);
                let message = format!("the arguments of `{name}` must be an object");
                Err(ErrorData::invalid_params(message, None))
            }
        }
    }

    /// Runs the call; a panic inside becomes a failed result.
    async fn run(
        self,
        session: &Session,
        asking: &Asking,
        progress: Option<Arc<dyn ProgressSink>>,
    ) -> Answered {
        let name = sanitise_label(&self.name, MAX_LABEL_CHARS);
        let work = async {
            match asking {
                Asking::Answer(waiting) => self.by_answer(session, waiting, progress).await,
                Asking::Not => self.at_once(session, None, progress).await,
                Asking::Request(approver) => {
                    self.at_once(session, Some(Arc::clone(approver)), progress)
                        .await
                }
            }
        };
        match AssertUnwindSafe(work).catch_unwind().await {
            Ok(answer) => answer,
            Err(_) => {
                tracing::error!(call = name, "a call panicked");
                Answered::Done(Rendered::error(format!(
                    "`{name}` failed by a fault in toolsearch itself; it may have had effects. Do \
                     not repeat it; tell the user. Other tools go on working."
                )))
            }
        }
    }

    async fn at_once(
        self,
        session: &Session,
        approver: Option<Arc<dyn Approver>>,
        progress: Option<Arc<dyn ProgressSink>>,
    ) -> Answered {
        let mut call = ModelCall::new(self.name, self.arguments);
        call.progress = progress;
        call.approver = approver;
        Answered::Done(match session.handle(call).await {
            Reply::Done(answer) => answer,
            Reply::Pending(pending) => for_the_client(&pending),
        })
    }

    /// Runs the call as far as it goes without an answer of the client.
    async fn by_answer(
        self,
        session: &Session,
        waiting: &Waiting,
        progress: Option<Arc<dyn ProgressSink>>,
    ) -> Answered {
        let told = Told {
            name: self.name.clone(),
            arguments: self.arguments.clone(),
        };
        let (reply, form, session) = match self.inputs {
            None => {
                let form = Arc::new(Form::default());
                let mut call = ModelCall::new(self.name, self.arguments);
                call.progress = progress;
                call.approver = Some(Arc::clone(&form) as _);
                call.waits = true;
                (session.handle(call).await, form, session.clone())
            }
            Some(inputs) => {
                let Some(continued) = waiting.take(&inputs, &told) else {
                    return Answered::Done(elicit::too_late());
                };
                let Continued {
                    session,
                    pending,
                    form,
                } = continued;
                let reply = match session.resume(pending, Vec::new()).await {
                    Ok(reply) => reply,
                    Err((_, pending)) => Reply::Pending(Box::new(pending)),
                };
                (reply, form, session)
            }
        };
        match reply {
            Reply::Done(answer) => Answered::Done(answer),
            Reply::Pending(pending) if pending.held().is_empty() => {
                Answered::Done(for_the_client(&pending))
            }
            Reply::Pending(pending) => Answered::Asks(waiting.put(told, &session, *pending, &form)),
        }
    }

    /// Runs the call; its progress goes to the client if that gave a token, and comes before the
    /// answer.
    pub(crate) async fn answer(
        self,
        session: &Session,
        asking: &Asking,
        peer: &Peer<RoleServer>,
        token: Option<ProgressToken>,
    ) -> Answered {
        let Some(token) = token else {
            return self.run(session, asking, None).await;
        };
        let (sink, reports) = mpsc::channel(QUEUED_REPORTS);
        let mut reporting = std::pin::pin!(report(peer, token, reports));
        let mut running = std::pin::pin!(self.run(session, asking, Some(Arc::new(Sink(sink)))));
        let answer = tokio::select! {
            answer = &mut running => answer,
            () = &mut reporting => return running.await,
        };
        // A client that does not read gets its answer as late as it reads, but not later.
        let _ = timeout(REPORTS_PATIENCE, reporting).await;
        answer
    }
}

/// The gateway runs nothing that the client has to run.
fn for_the_client(pending: &Pending) -> Rendered {
    let calls = pending.calls();
    let ids: Vec<&str> = calls.iter().map(|call| call.tool.id.as_str()).collect();
    Rendered::error(format!(
        "The client runs these tools itself, they cannot be called from here: {}. Call them by their \
         own names.",
        ids.join(", ")
    ))
}

/// What comes with a call that is made again.
fn inputs(params: &mut Map<String, Value>) -> Option<Inputs> {
    let Some(Value::String(state)) = params.remove("requestState") else {
        return None;
    };
    let responses = match params.remove("inputResponses") {
        Some(Value::Object(responses)) => responses,
        _ => Map::new(),
    };
    Some(Inputs { state, responses })
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
