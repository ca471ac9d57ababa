//! `toolsearch call ID`.

use std::sync::Arc;

use serde_json::{Value, json};
use toolsearch::catalog::ToolDescriptor;
use toolsearch::mode::{CallRequest, Failure, Request, Response, render};
use toolsearch::runtime::Session;

use crate::assemble::Assembled;
use crate::assemble::sources::Kind;
use crate::cli::CallArgs;
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

use super::{arguments, catalog, outcome_text, unexpected};

/// Calls one tool.
pub(crate) async fn run(args: &CallArgs, assembled: &Assembled, output: &Output) -> Done {
    let session = assembled.open().await?;
    let tool = find(&session, &args.id)
        .map_err(|fault| catalog::blame_server(fault, &args.id, &session))?;
    let call_args = arguments::read(args.args.as_deref(), &args.pairs, &tool.input_schema)?;
    let request = Request::Call(CallRequest::new(tool.id.as_str(), call_args));
    let reply = match session.request(request).await {
        Ok(Response::Call(reply)) => reply,
        Ok(other) => return Err(explained(unexpected(other), assembled)),
        Err(_) => {
            let message = format!("`{}` is run by the client that sent it", tool.id);
            return Err(Fault::new(Exit::Unavailable, "unavailable", message));
        }
    };
    if output.json {
        let result: Value = reply.outcome.to_result_json();
        output.document(&json!({ "tool": render::tool_ref(&reply.tool), "result": result }))?;
    } else {
        output.text(&outcome_text(&reply.outcome))?;
    }
    if reply.outcome.is_error {
        return Ok(Exit::Failed);
    }
    Ok(Exit::Fine)
}

/// The tool that a text names, among the searchable and the visible ones.
fn find(session: &Session, text: &str) -> Result<Arc<ToolDescriptor>, Fault> {
    match session.catalog().resolve(text) {
        Ok(tool) => Ok(Arc::clone(tool)),
        Err(error) => {
            let visible = session.direct().iter();
            let mut named = visible.filter(|tool| tool.id.as_str() == text || tool.name == text);
            match (named.next(), named.next()) {
                (Some(tool), None) => Ok(Arc::clone(tool)),
                _ => Err(Failure::from(error).into()),
            }
        }
    }
}

fn explained(fault: Fault, assembled: &Assembled) -> Fault {
    if fault.exit == Exit::Unavailable && assembled.sources.kind == Kind::Offline {
        return fault
            .next("tools of --tools can be looked at only; configure the server to call it");
    }
    fault
}
