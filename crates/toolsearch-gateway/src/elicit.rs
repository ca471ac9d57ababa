//! Asking the person behind a client for consent, in both forms of the protocol: by a request of the
//! server while the call waits, and, since 2026-07-28, by an answer that says what is still needed.
//!
//! A client that did not declare that it can ask is never asked and never means yes. Neither does an
//! answer that is not clearly one of the choices.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rmcp::model::{ClientCapabilities, ClientResult, CustomRequest, CustomResult, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use serde_json::{Map, Value, json};
use toolsearch_mode::Rendered;
use toolsearch_policy::{ApprovalRequest, Approver, Verdict};
use toolsearch_runtime::{Pending, Session};
use toolsearch_schema::names::sanitise_label;

const METHOD: &str = "elicitation/create";
/// The one field of the form.
const CHOICE: &str = "choice";
/// Most characters of the arguments that are shown.
const MAX_ARGS_CHARS: usize = 1_500;
/// Most characters of the reason that is shown.
const MAX_REASON_CHARS: usize = 300;
/// Most characters of a failure of the client.
const MAX_TROUBLE_CHARS: usize = 200;
/// Most calls of one connection that wait for an answer of the client; the oldest is given up.
const MAX_WAITING: usize = 64;
/// Characters of a question's name.
const NAME_CHARS: usize = 16;

/// Whether a client says that it can show a form to its user. One that names only addresses cannot.
pub(crate) fn can_ask(capabilities: Option<&ClientCapabilities>) -> bool {
    capabilities
        .and_then(|all| all.elicitation.as_ref())
        .is_some_and(|how| how.form.is_some() || how.url.is_none())
}

/// Sends a request to one client and waits for its answer.
#[async_trait]
pub(crate) trait Ask: fmt::Debug + Send + Sync {
    async fn ask(&self, method: &str, params: Value, patience: Duration) -> Result<Value, Unasked>;
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unasked {
    TimedOut,
    Failed(String),
}

#[async_trait]
impl Ask for Peer<RoleServer> {
    async fn ask(&self, method: &str, params: Value, patience: Duration) -> Result<Value, Unasked> {
        let request = ServerRequest::CustomRequest(CustomRequest::new(method, Some(params)));
        let options = PeerRequestOptions::with_timeout(patience);
        let asked = async {
            let handle = self.send_cancellable_request(request, options).await?;
            handle.await_response().await
        };
        match asked.await {
            Ok(ClientResult::CustomResult(CustomResult(answer))) => Ok(answer),
            Ok(other) => {
                serde_json::to_value(other).map_err(|error| Unasked::Failed(error.to_string()))
            }
            Err(ServiceError::Timeout { .. }) => Err(Unasked::TimedOut),
            Err(error) => Err(Unasked::Failed(error.to_string())),
        }
    }
}

/// Asks through the connection while the call waits.
#[derive(Debug)]
pub(crate) struct Elicit<A>(pub(crate) A);

#[async_trait]
impl<A: Ask> Approver for Elicit<A> {
    async fn review(&self, request: ApprovalRequest) -> Verdict {
        // A little less than the call is waited for, so that the question is taken back in time.
        let patience = request.timeout - request.timeout / 20;
        match self.0.ask(METHOD, form(&request), patience).await {
            Ok(answer) => verdict(&answer),
            Err(Unasked::TimedOut) => Verdict::Denied(timed_out(request.timeout)),
            Err(Unasked::Failed(why)) => {
                let why = sanitise_label(&why, MAX_TROUBLE_CHARS);
                Verdict::Denied(format!("the client could not ask its user ({why})"))
            }
        }
    }
}

fn timed_out(after: Duration) -> String {
    format!("timed out after {} ms", after.as_millis())
}

/// The question as parameters of `elicitation/create`.
fn form(request: &ApprovalRequest) -> Value {
    let owner = request.tool.owner();
    let mut message = format!(
        "Allow the tool `{}` of `{}` to run?\nWhy you are asked: {}\nArguments: {}",
        sanitise_label(request.tool.as_str(), MAX_REASON_CHARS),
        sanitise_label(owner, MAX_REASON_CHARS),
        sanitise_label(&request.reason, MAX_REASON_CHARS),
        request.args_picture(MAX_ARGS_CHARS),
    );
    if let Some(agent) = &request.agent {
        let agent = sanitise_label(agent, MAX_REASON_CHARS);
        message.push_str(&format!("\nAgent: {agent}"));
    }
    json!({
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {
                CHOICE: {
                    "type": "string",
                    "title": "Allow it?",
                    "enum": ["once", "session", "deny", "never"],
                    "enumNames": [
                        "Yes, this call",
                        "Yes, this tool for the whole session",
                        "No, not this call",
                        "No, this tool not in this session",
                    ],
                },
            },
            "required": [CHOICE],
        },
    })
}

/// What a client's answer means. Only a clear yes is one.
fn verdict(answer: &Value) -> Verdict {
    let said = |why: &str| Verdict::Denied(why.to_owned());
    let choice = answer
        .get("content")
        .and_then(|content| content.get(CHOICE));
    match (
        answer.get("action").and_then(Value::as_str),
        choice.and_then(Value::as_str),
    ) {
        (Some("accept"), Some("once")) => Verdict::Once,
        (Some("accept"), Some("session")) => Verdict::ForSession,
        (Some("accept"), Some("deny")) => said("the user said no"),
        (Some("accept"), Some("never")) => {
            Verdict::DeniedForSession("the user said no for this session".to_owned())
        }
        (Some("decline"), _) => said("the user declined"),
        (Some("cancel"), _) => said("the user dismissed the question"),
        _ => said("the answer of the client is no choice"),
    }
}

/// The questions of one call that are asked by way of its answer, and what was said to earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Form {
    state: Mutex<FormState>,
}

#[derive(Debug, Default)]
struct FormState {
    answers: BTreeMap<String, Verdict>,
    questions: Map<String, Value>,
    timeout: Duration,
}

impl Form {
    /// With the client's answers, by the names of the questions.
    fn answered(responses: &Map<String, Value>) -> Self {
        let answer = |(name, answer): (&String, &Value)| (name.clone(), verdict(answer));
        let answers = responses.iter().take(MAX_WAITING).map(answer).collect();
        let state = FormState {
            answers,
            ..FormState::default()
        };
        Self {
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, FormState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Approver for Form {
    /// An answer counts once, for the call that its question was about.
    async fn review(&self, request: ApprovalRequest) -> Verdict {
        let name: String = request.binding().chars().take(NAME_CHARS).collect();
        let mut state = self.state();
        if let Some(verdict) = state.answers.remove(&name) {
            return verdict;
        }
        let question = json!({ "method": METHOD, "params": form(&request) });
        state.questions.insert(name.clone(), question);
        state.timeout = request.timeout;
        Verdict::Pending(name)
    }
}

/// A call that a client made, as far as it tells this call from another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// What a client sends with a call that it makes again.
#[derive(Debug)]
pub(crate) struct Inputs {
    pub(crate) state: String,
    pub(crate) responses: Map<String, Value>,
}

/// Calls of one connection that wait for answers of the client.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    calls: Mutex<Vec<WaitingCall>>,
    chance: RandomState,
}

#[derive(Debug)]
struct WaitingCall {
    state: String,
    told: Told,
    session: Session,
    pending: Pending,
    until: Instant,
}

/// A call that waited, and the form with what the client said.
pub(crate) struct Continued {
    pub(crate) session: Session,
    pub(crate) pending: Pending,
    pub(crate) form: Arc<Form>,
}

impl Waiting {
    /// Puts a call aside; gives the answer that says what is needed.
    pub(crate) fn put(
        &self,
        told: Told,
        session: &Session,
        pending: Pending,
        form: &Form,
    ) -> Value {
        let (questions, timeout) = {
            let mut form = form.state();
            (std::mem::take(&mut form.questions), form.timeout)
        };
        let now = Instant::now();
        let state = self.name(now);
        let mut calls = self.calls();
        calls.retain(|call| call.until > now);
        if calls.len() >= MAX_WAITING {
            calls.remove(0);
        }
        calls.push(WaitingCall {
            state: state.clone(),
            told,
            session: session.clone(),
            pending,
            until: now + timeout,
        });
        json!({
            "resultType": "input_required",
            "inputRequests": questions,
            "requestState": state,
        })
    }

    /// The call that waits under a state, if it is this one and not too late.
    pub(crate) fn take(&self, inputs: &Inputs, told: &Told) -> Option<Continued> {
        let now = Instant::now();
        let mut calls = self.calls();
        calls.retain(|call| call.until > now);
        let own = |call: &WaitingCall| call.state == inputs.state && call.told == *told;
        let at = calls.iter().position(own)?;
        let WaitingCall {
            session, pending, ..
        } = calls.remove(at);
        let form = Arc::new(Form::answered(&inputs.responses));
        Some(Continued {
            session,
            pending: pending.asking(Arc::clone(&form) as _),
            form,
        })
    }

    fn calls(&self) -> MutexGuard<'_, Vec<WaitingCall>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name that nobody can guess who was not told it.
    fn name(&self, now: Instant) -> String {
        let other = RandomState::new();
        let (one, two) = (self.chance.hash_one(now), other.hash_one(now));
        format!("{one:016x}{two:016x}")
    }
}

/// The answer to a call that comes back too late, or under a state that was never given for it.
pub(crate) fn too_late() -> Rendered {
    let mut answer = Rendered::error(
        "The call was not approved: timed out, or it is not the call that was asked about. Do not \
         repeat it; tell the user.",
    );
    let mut meta = Map::new();
    meta.insert("toolsearch/error".to_owned(), json!("approval_denied"));
    answer.meta = Some(meta);
    answer
}

#[cfg(test)]
mod tests;
