//! One `tools/call`: reading it and running it in the session. Whatever happens inside, the connection
//! lives on.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use rmcp::ErrorData;
use serde_json::{Map, Value};
use toolsearch_invoke::ProgressSink;
use toolsearch_mode::Rendered;
use toolsearch_policy::Approver;
use toolsearch_runtime::{ModelCall, Pending, Reply, Session};
use toolsearch_schema::names::sanitise_label;

use crate::rounds::{Inputs, Told};

/// Most characters of names in messages.
const MAX_LABEL_CHARS: usize = 80;

/// A call as the client made it.
#[derive(Debug)]
pub(crate) struct Call {
    name: String,
    arguments: Value,
}

/// What a call is run with.
#[derive(Debug, Default)]
pub(crate) struct With {
    /// Who is asked for consent, instead of whoever the session asks.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) progress: Option<Arc<dyn ProgressSink>>,
    /// Names the call where a session serves several clients.
    pub(crate) request: Option<String>,
}

impl Call {
    /// Reads the parameters of `tools/call`. Arguments are an object, the JSON text of one, null or
    /// absent.
    pub(crate) fn read(params: Option<Value>) -> Result<(Self, Inputs), ErrorData> {
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
        let Some(arguments) = arguments else {
            let name = sanitise_label(&name, MAX_LABEL_CHARS);
            let message = format!("the arguments of `{name}` must be an object");
            return Err(ErrorData::invalid_params(message, None));
        };
        let inputs = Inputs::take(&mut params)?;
        let arguments = Value::Object(arguments);
        Ok((Self { name, arguments }, inputs))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn arguments(&self) -> &Value {
        &self.arguments
    }

    /// This call, as its client has to repeat it.
    pub(crate) fn told(&self) -> Told {
        Told {
            method: "tools/call".to_owned(),
            name: self.name.clone(),
            arguments: self.arguments.clone(),
        }
    }

    /// Runs the call; a panic inside becomes a failed result.
    pub(crate) async fn run(self, session: &Session, with: With) -> Rendered {
        let name = sanitise_label(&self.name, MAX_LABEL_CHARS);
        let mut call = ModelCall::new(self.name, self.arguments);
        call.progress = with.progress;
        call.approver = with.approver;
        call.request = with.request;
        match AssertUnwindSafe(session.handle(call)).catch_unwind().await {
            Ok(Reply::Done(answer)) => answer,
            Ok(Reply::Pending(pending)) => for_the_client(&pending),
            Err(_) => {
                tracing::error!(call = name, "a call panicked");
                Rendered::error(format!(
                    "`{name}` failed by a fault in toolsearch itself; it may have had effects. Do \
                     not repeat it; tell the user. Other tools go on working."
                ))
            }
        }
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
