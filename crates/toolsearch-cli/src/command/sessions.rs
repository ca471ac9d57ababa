//! `toolsearch sessions list|show`.

use std::path::Path;

use serde_json::{Value, json};
use toolsearch::catalog::Source;
use toolsearch::telemetry::{Sizes, Summary};

use crate::assemble::configuration::Configuration;
use crate::assemble::logs;
use crate::cli::{Common, SessionsCommand};
use crate::fault::{Done, Exit, Fault};
use crate::measure::grouped;
use crate::output::Output;
use crate::table::Table;

/// Bytes of a token in schemas and prompt text, for numbers that are marked as estimated.
const BYTES_PER_TOKEN: usize = 4;

/// Looks into session logs.
pub(crate) fn run(command: &SessionsCommand, common: &Common, output: &Output) -> Done {
    let configuration = Configuration::read(common, output)?;
    let folder = logs::folder(&configuration)
        .ok_or_else(|| Fault::failed("there is no folder for logs: HOME is not set"))?;
    match command {
        SessionsCommand::List { limit } => list(&folder, *limit, output),
        SessionsCommand::Show { id } => show(&folder, id, output),
    }
}

fn list(folder: &Path, limit: usize, output: &Output) -> Done {
    let mut sessions = Vec::new();
    for name in logs::names(folder).iter().rev().take(limit) {
        match logs::read(folder, name) {
            Ok(summary) => sessions.push(summary),
            Err(fault) => output.warning(&format!("{name}: {}", fault.message)),
        }
    }
    if output.json {
        let lines: Vec<Value> = sessions.iter().map(line).collect();
        output.document(&json!({ "sessions": lines }))?;
        return Ok(Exit::Fine);
    }
    if sessions.is_empty() {
        output.text("There are no session logs yet.")?;
        return Ok(Exit::Fine);
    }
    let columns = [
        "session",
        "opened (UTC)",
        "mode",
        ">searches",
        ">describes",
        ">calls",
        "last call",
    ];
    let mut table = Table::new(columns);
    for session in &sessions {
        table.row([
            session.session.clone(),
            logs::time(session.opened_at),
            session.mode.clone(),
            session.searches.to_string(),
            session.describes.to_string(),
            session.calls.len().to_string(),
            session
                .last_call
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
        ]);
    }
    output.table(&table)?;
    Ok(Exit::Fine)
}

fn line(session: &Summary) -> Value {
    let mut line = json!({
        "session": session.session,
        "openedAt": session.opened_at,
        "mode": session.mode,
        "searches": session.searches,
        "describes": session.describes,
        "calls": session.calls.len(),
    });
    if let Some(last) = &session.last_call {
        line["lastCall"] = json!(last);
    }
    line
}

fn show(folder: &Path, id: &str, output: &Output) -> Done {
    let name = match id {
        "last" => logs::names(folder).pop().ok_or_else(|| {
            Fault::failed("there are no session logs yet")
                .next("make one with `toolsearch search` or `toolsearch demo`")
        })?,
        id => id.to_owned(),
    };
    let summary = logs::read(folder, &name)?;
    if output.json {
        output.document(&document(&summary)?)?;
        return Ok(Exit::Fine);
    }
    output.heading(&format!("session {}", summary.session))?;
    output.table(&answers(&summary))?;
    if !summary.calls.is_empty() {
        output.text("")?;
        output.table(&calls(&summary))?;
    }
    Ok(Exit::Fine)
}

/// The summary, with tokens as estimated from its bytes.
pub(crate) fn document(summary: &Summary) -> Result<Value, Fault> {
    let mut document = serde_json::to_value(summary)
        .map_err(|error| Fault::failed(format!("the summary cannot be written: {error}")))?;
    let Sizes {
        direct_tool_bytes, ..
    } = summary.bytes;
    document["tokens"] = json!({
        "sent": summary.bytes.sent().div_ceil(BYTES_PER_TOKEN),
        "direct": direct_tool_bytes.div_ceil(BYTES_PER_TOKEN),
        "estimated": true,
    });
    Ok(document)
}

/// The four questions, and what there is to say about them.
pub(crate) fn answers(summary: &Summary) -> Table {
    let mut table = Table::new(["question", "answer"]);
    let mut row = |question: &str, answer: String| table.row([question.to_owned(), answer]);
    let sizes = &summary.bytes;
    row(
        "tool schemas the model saw at first",
        format!(
            "{} of {} ({} bytes instead of {})",
            grouped(summary.schemas_seen_at_first),
            grouped(sizes.direct_tools),
            grouped(sizes.sent()),
            grouped(sizes.direct_tool_bytes),
        ),
    );
    row(
        "searches and descriptions",
        format!("{} and {}", summary.searches, summary.describes),
    );
    let last = summary.calls.last();
    row(
        "tool that was called in the end",
        last.map_or_else(|| "none".to_owned(), |call| call.id.to_string()),
    );
    row(
        "where its result came from",
        last.map_or("nowhere", |call| origin(call.source))
            .to_owned(),
    );
    let engine = summary.engine.as_ref().map(|engine| format!(" ({engine})"));
    row(
        "mode",
        format!("{}{}", summary.mode, engine.unwrap_or_default()),
    );
    if let Some(fallback) = &summary.fallback {
        row(
            "instead of",
            format!("{}: {}", fallback.from, fallback.reason),
        );
    }
    if let Some(agent) = &summary.agent {
        row("agent", agent.clone());
    }
    table
}

fn origin(source: Source) -> &'static str {
    match source {
        Source::Native => "a native tool",
        Source::Plugin => "a plugin",
        Source::Mcp => "an MCP server",
        Source::Client => "the client",
        _ => "another source",
    }
}

fn calls(summary: &Summary) -> Table {
    let mut table = Table::new(["call", "source", "result"]);
    for call in &summary.calls {
        let result = match (&call.error, &call.parent) {
            (Some(error), _) => error.clone(),
            (None, Some(parent)) => format!("ok, by program {parent}"),
            (None, None) => "ok".to_owned(),
        };
        table.row([call.id.to_string(), call.source.to_string(), result]);
    }
    table
}
