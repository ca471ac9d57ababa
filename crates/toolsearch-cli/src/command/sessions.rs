//! `toolsearch sessions list|show|stats|tail|export`.

mod stats;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use toolsearch::catalog::Source;
use toolsearch::telemetry::{Event, Sizes, Stamped, Summary};

use crate::assemble::configuration::Configuration;
use crate::assemble::logs;
use crate::cli::{Common, SessionsCommand};
use crate::fault::{Done, Exit, Fault};
use crate::measure::grouped;
use crate::output::Output;
use crate::table::Table;

/// Between two looks at a log that another process writes.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// Bytes of a token in schemas and prompt text, for numbers that are marked as estimated.
const BYTES_PER_TOKEN: usize = 4;

/// Looks into session logs.
pub(crate) async fn run(command: &SessionsCommand, common: &Common, output: &Output) -> Done {
    let configuration = Configuration::read(common, output)?;
    let folder = logs::folder(&configuration)
        .ok_or_else(|| Fault::failed("there is no folder for logs: HOME is not set"))?;
    match command {
        SessionsCommand::List { limit } => list(&folder, *limit, output),
        SessionsCommand::Show { id } => show(&folder, id, output),
        SessionsCommand::Stats { limit } => stats::run(&folder, *limit, output),
        SessionsCommand::Tail { id, no_follow } => tail(&folder, id, !no_follow, output).await,
        SessionsCommand::Export { id } => {
            let text = logs::read_text(&folder, &named(&folder, id)?)?;
            output.lines(&text)?;
            Ok(Exit::Fine)
        }
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
    let name = named(folder, id)?;
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

/// The name of a session, `last` being the latest.
fn named(folder: &Path, id: &str) -> Result<String, Fault> {
    match id {
        "last" => logs::names(folder).pop().ok_or_else(|| {
            Fault::failed("there are no session logs yet")
                .next("make one with `toolsearch search` or `toolsearch demo`")
        }),
        id => Ok(id.to_owned()),
    }
}

/// Prints the events of a session, and further ones as they are written, until it is closed.
async fn tail(folder: &Path, id: &str, follow: bool, output: &Output) -> Done {
    let name = named(folder, id)?;
    let mut told = 0;
    loop {
        let text = logs::read_text(folder, &name)?;
        let fresh = text.get(told..).unwrap_or_default();
        told = text.len();
        let events = logs::events(fresh)?;
        if output.json {
            output.lines(fresh)?;
        } else {
            for event in &events {
                output.text(&described(event))?;
            }
        }
        let over = events.iter().any(|event| event.event == Event::Closed);
        if over || !follow {
            return Ok(Exit::Fine);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// An event as a line for a person.
fn described(stamped: &Stamped) -> String {
    let time = logs::time(stamped.at);
    let what = match &stamped.event {
        Event::Opened(opened) => format!(
            "opened in mode {}, {} of {} schemas shown",
            opened.mode, opened.sizes.tools, opened.sizes.direct_tools
        ),
        Event::Searched(searched) => {
            format!(
                "searched: {} queries, {} hits",
                searched.queries, searched.hits
            )
        }
        Event::Described(described) => {
            let ids: Vec<String> = described.ids.iter().map(ToString::to_string).collect();
            format!("described {}", ids.join(", "))
        }
        Event::Called(called) => format!(
            "called {}: {} in {} ms, {} bytes",
            called.id,
            called.error.as_deref().unwrap_or("ok"),
            called.millis,
            called.result_bytes
        ),
        Event::Ran(ran) => format!(
            "ran a program on {}: {} in {} ms, {} calls",
            ran.engine,
            ran.error.as_deref().unwrap_or("ok"),
            ran.millis,
            ran.calls
        ),
        Event::Closed => "closed".to_owned(),
        _ => "something that this version does not know".to_owned(),
    };
    format!("{time}  {what}")
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
