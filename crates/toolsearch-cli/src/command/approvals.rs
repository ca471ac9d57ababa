//! `toolsearch approvals list|show|approve|deny`: the queue of calls that wait for consent.

use serde_json::{Value, json};
use toolsearch_gateway::{ApprovalQueue, QueueAnswer, QueueError, QueuedCall};

use crate::assemble::configuration::Configuration;
use crate::assemble::{logs, store};
use crate::cli::{ApprovalsCommand, Common};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;
use crate::table::Table;

/// Looks into the queue, or answers.
pub(crate) async fn run(command: &ApprovalsCommand, common: &Common, output: &Output) -> Done {
    let configuration = Configuration::read(common, output)?;
    let queue = ApprovalQueue::new(store::store(&configuration));
    match command {
        ApprovalsCommand::List => list(&queue, output).await,
        ApprovalsCommand::Show { id } => {
            let call = queue.show(id).await.map_err(faulty)?;
            show(&call, output)
        }
        ApprovalsCommand::Approve { id, session } => {
            let answer = match session {
                true => QueueAnswer::Session,
                false => QueueAnswer::Once,
            };
            say(&queue, id, answer, None, output).await
        }
        ApprovalsCommand::Deny {
            id,
            session,
            reason,
        } => {
            let answer = match session {
                true => QueueAnswer::DenySession,
                false => QueueAnswer::Deny,
            };
            say(&queue, id, answer, reason.as_deref(), output).await
        }
    }
}

async fn list(queue: &ApprovalQueue, output: &Output) -> Done {
    let listing = queue.list().await.map_err(faulty)?;
    for damaged in &listing.damaged {
        output.warning(&format!(
            "{damaged} is no readable question and is left out"
        ));
    }
    if output.json {
        let calls: Vec<Value> = listing.calls.iter().map(document).collect();
        output.document(&json!({ "approvals": calls, "damaged": listing.damaged }))?;
        return Ok(Exit::Fine);
    }
    if listing.calls.is_empty() {
        output.text("no call waits for approval")?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(["id", "tool", "session", "until (UTC)", "arguments"]);
    for call in &listing.calls {
        table.row([
            call.id.clone(),
            call.tool.to_string(),
            call.session.clone(),
            logs::time(call.expires_ms),
            call.arguments.clone(),
        ]);
    }
    output.table(&table)?;
    output.note("allow one with `toolsearch approvals approve ID`, refuse with `… deny ID`");
    Ok(Exit::Fine)
}

fn show(call: &QueuedCall, output: &Output) -> Done {
    if output.json {
        output.document(&document(call))?;
        return Ok(Exit::Fine);
    }
    let agent = call.agent.as_deref().unwrap_or("-");
    output.text(&format!(
        "{}\ntool       {}\narguments  {}\nsha256     {}\nwhy        {}\nsession    {}\nagent      \
         {agent}\nasked      {} UTC\nuntil      {} UTC",
        call.id,
        call.tool,
        call.arguments,
        call.args_hash,
        call.reason,
        call.session,
        logs::time(call.asked_ms),
        logs::time(call.expires_ms),
    ))?;
    Ok(Exit::Fine)
}

async fn say(
    queue: &ApprovalQueue,
    id: &str,
    answer: QueueAnswer,
    note: Option<&str>,
    output: &Output,
) -> Done {
    let call = queue.answer(id, answer, note).await.map_err(faulty)?;
    if output.json {
        output.document(&document(&call))?;
        return Ok(Exit::Fine);
    }
    let said = match answer {
        QueueAnswer::Once => "may run this once",
        QueueAnswer::Session => "may run for the rest of its session",
        QueueAnswer::DenySession => "may not run for the rest of its session",
        _ => "may not run",
    };
    output.text(&format!("{} {said}", call.tool))?;
    Ok(Exit::Fine)
}

fn document(call: &QueuedCall) -> Value {
    let mut document = serde_json::to_value(call).unwrap_or_default();
    if let Some(fields) = document.as_object_mut() {
        fields.shift_remove("binding");
    }
    document
}

fn faulty(error: QueueError) -> Fault {
    let message = error.to_string();
    match error {
        QueueError::Unknown(_) | QueueError::Answered(_) => {
            Fault::new(Exit::Usage, "not_found", message)
                .next("see what waits with `toolsearch approvals list`")
        }
        _ => Fault::failed(message),
    }
}
