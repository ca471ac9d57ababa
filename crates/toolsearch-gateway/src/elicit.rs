//! Asking the person behind a client for consent, in whichever way the client can be asked.
//!
//! A client that did not declare that it can ask is never asked and never means yes. Neither does an
//! answer that is not clearly one of the choices.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolsearch_policy::{ApprovalRequest, Approver, Verdict};
use toolsearch_schema::names::sanitise_label;

use crate::ask::{Ask, ClientCapability, Question, Unasked};

/// The one field of the form.
const CHOICE: &str = "choice";
/// Most characters of the arguments that are shown.
const MAX_ARGS_CHARS: usize = 1_500;
/// Most characters of the reason that is shown.
const MAX_REASON_CHARS: usize = 300;
/// Most characters of a failure of the client.
const MAX_TROUBLE_CHARS: usize = 200;
/// Characters of a question's name.
const NAME_CHARS: usize = 16;

/// Asks one client while the call waits.
#[derive(Debug)]
pub(crate) struct Elicit(pub(crate) Arc<dyn Ask>);

#[async_trait]
impl Approver for Elicit {
    async fn review(&self, request: ApprovalRequest) -> Verdict {
        // A little less than the call is waited for, so that the question is taken back in time.
        let question = Question {
            kind: ClientCapability::Elicitation,
            params: form(&request),
            name: Some(request.binding().chars().take(NAME_CHARS).collect()),
            in_advance: false,
            patience: request.timeout - request.timeout / 20,
        };
        match self.0.ask(question).await {
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

#[cfg(test)]
mod tests;
