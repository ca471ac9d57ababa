//! One call of the model, from its name to the text that it reads, client tools included.

use futures::future::join_all;
use serde_json::Value;
use toolsearch::catalog::Outcome;
use toolsearch::mode::Rendered;
use toolsearch::runtime::{ClientAnswer, ClientCall, ModelCall, Reply, Session};

use crate::agent::Agent;
use crate::answer;
use crate::model::{Arguments, ToolCall};
use crate::report::Step;

/// How often one call may come back for tools of the client: a program can ask again and again.
const MAX_ROUNDS: usize = 256;

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) ok: bool,
    pub(crate) text: String,
}

/// Runs one call. Trouble is an answer that the model reads.
pub(crate) async fn run(agent: &Agent, call: &ToolCall) -> Answered {
    agent.tell(&Step::Calling { name: &call.name });
    let answered = match &call.arguments {
        Arguments::Object(args) => {
            let call = ModelCall::new(call.name.as_str(), Value::Object(args.clone()));
            let rendered = finish(agent, agent.session().handle(call).await).await;
            Answered {
                ok: !rendered.is_error,
                text: answer::text(&rendered),
            }
        }
        Arguments::Unreadable { excerpt, problem } => Answered {
            ok: false,
            text: format!(
                "Error: the arguments of `{}` must be one JSON object, but {problem}. Nothing was \
                 run. Call it again with valid JSON. You sent: {excerpt}",
                call.name
            ),
        },
    };
    agent.tell(&Step::Called {
        name: &call.name,
        ok: answered.ok,
        answer_bytes: answered.text.len(),
    });
    answered
}

async fn finish(agent: &Agent, mut reply: Reply) -> Rendered {
    for _ in 0..MAX_ROUNDS {
        let pending = match reply {
            Reply::Done(rendered) => return rendered,
            Reply::Pending(pending) => pending,
        };
        let calls = pending.calls();
        let answers = join_all(calls.iter().map(|call| by_client(agent, call))).await;
        reply = match resume(agent.session(), *pending, answers).await {
            Ok(reply) => reply,
            Err(rendered) => return rendered,
        };
    }
    match reply {
        Reply::Done(rendered) => rendered,
        Reply::Pending(_) => {
            Rendered::error("The call asked the client too often and was stopped.")
        }
    }
}

async fn resume(
    session: &Session,
    pending: toolsearch::runtime::Pending,
    answers: Vec<ClientAnswer>,
) -> Result<Reply, Rendered> {
    let resumed = session.resume(pending, answers).await;
    resumed.map_err(|(error, _)| Rendered::error(format!("The call cannot go on: {error}.")))
}

async fn by_client(agent: &Agent, call: &ClientCall) -> ClientAnswer {
    let name = call.tool.name.as_str();
    agent.tell(&Step::Client { name });
    let outcome = match agent.client() {
        Some(client) => client.call(name, call.args.clone()).await,
        None => Outcome::error(format!("Nobody runs `{name}` here.")),
    };
    ClientAnswer::new(call.handle.as_str(), outcome)
}
