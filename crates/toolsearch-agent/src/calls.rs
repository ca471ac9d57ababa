//! One call of the model, from its name to the answer that it reads, client tools included.

use futures::future::join_all;
use serde_json::Value;
use toolsearch::catalog::Outcome;
use toolsearch::mode::{Rendered, render};
use toolsearch::runtime::{ClientAnswer, ClientCall, ModelCall, Reply, Session};

use toolsearch_dialect::{Arguments, Call};

use crate::agent::Agent;
use crate::model::size;
use crate::report::Step;

/// How often one call may come back for tools of the client: a program can ask again and again.
const MAX_ROUNDS: usize = 256;

/// Runs one call. Trouble is an answer that the model reads.
pub(crate) async fn run(agent: &Agent, call: &Call) -> Rendered {
    agent.tell(&Step::Calling { name: &call.name });
    let rendered = match &call.arguments {
        Arguments::Object(args) => {
            let call = ModelCall::new(call.name.as_str(), Value::Object(args.clone()));
            finish(agent, agent.session().handle(call).await).await
        }
        Arguments::Unreadable { excerpt, problem } => Rendered::error(format!(
            "The arguments of `{}` must be one JSON object, but {problem}. Nothing was run. Call it again \
             with valid JSON. You sent: {excerpt}",
            call.name
        )),
    };
    agent.tell(&Step::Called {
        name: &call.name,
        ok: !rendered.is_error,
        answer_bytes: size(&rendered),
    });
    render::fenced(&rendered)
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
