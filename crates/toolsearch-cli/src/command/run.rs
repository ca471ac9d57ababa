//! `toolsearch run [FILE|-]`.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;
use toolsearch::catalog::ToolId;
use toolsearch::mode::{Request, Response, RunReply, render};
use toolsearch::mode_code::CodeMode;
use toolsearch::runtime::{Compaction, Programs, Session, Watcher};
use toolsearch::sandbox::LogLine;
use toolsearch_config::EngineChoice;

use crate::assemble::{Assembled, modes};
use crate::cli::{EngineArg, RunArgs};
use crate::fault::{Done, Exit, Fault, program_exit};
use crate::output::Output;

use super::unexpected;

/// Most bytes that are read; the engine's own limit is far below and names itself.
const MAX_BYTES: u64 = 1 << 20;

/// Runs a program.
pub(crate) async fn run(args: &RunArgs, assembled: &Assembled, output: &Output) -> Done {
    let code = source(args)?;
    let watched = Arc::new(Watched::new(args, output));
    let session = open_with(assembled, programs(args, assembled, &watched)).await?;
    if let Some(fallback) = session.fallback() {
        let code = "engine_unavailable";
        return Err(Fault::new(Exit::Unavailable, code, &fallback.reason));
    }
    let reply = match session.request(Request::Run { code }).await {
        Ok(Response::Run(reply)) => reply,
        Ok(other) => return Err(unexpected(other)),
        Err(_) => {
            return Err(Fault::failed(
                "the program waits for a client that is not there",
            ));
        }
    };
    if output.json {
        output.document(&render::run_value(&reply))?;
    } else {
        show(&reply, watched.lines.load(Ordering::Relaxed), output)?;
    }
    Ok(match &reply.error {
        Some(error) => program_exit(&error.code),
        None => Exit::Fine,
    })
}

/// A session in mode `code`, whatever is shown to models.
pub(crate) async fn open(assembled: &Assembled) -> Result<Session, Fault> {
    open_with(assembled, Programs::default()).await
}

async fn open_with(assembled: &Assembled, programs: Programs) -> Result<Session, Fault> {
    let mut request = assembled.request(assembled.sources.list().await);
    request.programs = programs;
    request.mode = Some(Arc::new(CodeMode));
    request.compaction = Some(Compaction::Always);
    assembled.open_with(request).await
}

fn programs(args: &RunArgs, assembled: &Assembled, watched: &Arc<Watched>) -> Programs {
    let mut programs = Programs::default();
    programs.engine = args.engine.map(|engine| {
        let choice = match engine {
            EngineArg::Auto => EngineChoice::Auto,
            EngineArg::Quickjs => EngineChoice::Quickjs,
            EngineArg::Node => EngineChoice::Node,
        };
        modes::engine(choice, &assembled.configuration.settings.sandbox)
    });
    programs.wall = args.timeout_ms.map(Duration::from_millis);
    programs.watcher = Some(Arc::clone(watched) as Arc<dyn Watcher>);
    programs
}

/// Writes what a program does to standard error as it happens.
#[derive(Debug)]
struct Watched {
    output: Output,
    trace: bool,
    /// Lines written so far.
    lines: AtomicUsize,
}

impl Watched {
    fn new(args: &RunArgs, output: &Output) -> Self {
        Self {
            output: output.clone(),
            trace: args.trace,
            lines: AtomicUsize::new(0),
        }
    }
}

impl Watcher for Watched {
    fn logged(&self, line: &LogLine) {
        // A document holds them all.
        if !self.output.json {
            self.output.remark(&line.text);
            self.lines.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn searched(&self, queries: &[String], hits: usize) {
        if self.trace {
            let noun = if hits == 1 { "hit" } else { "hits" };
            let step = format!("search {queries:?}: {hits} {noun}");
            self.output.step(&step);
        }
    }

    fn called(&self, tool: &ToolId, ok: bool) {
        if self.trace {
            let outcome = if ok { "done" } else { "failed" };
            self.output.step(&format!("call {tool}: {outcome}"));
        }
    }
}

fn source(args: &RunArgs) -> Result<String, Fault> {
    let name = args.file.display();
    let unreadable = |error| Fault::usage(format!("cannot read {name}: {error}"));
    let mut code = String::new();
    if args.file.as_os_str() == "-" {
        std::io::stdin()
            .lock()
            .take(MAX_BYTES)
            .read_to_string(&mut code)
            .map_err(unreadable)?;
    } else {
        File::open(&args.file)
            .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut code))
            .map_err(unreadable)?;
    }
    Ok(code)
}

/// The value on standard output; everything about it on standard error. So many lines of its log are there
/// already.
fn show(reply: &RunReply, lines: usize, output: &Output) -> Result<(), Fault> {
    for line in reply.logs.iter().skip(lines) {
        output.remark(line);
    }
    for note in &reply.notes {
        output.note(note);
    }
    if reply.truncated {
        output.note("what the program gave out was cut to its limit");
    }
    for block in &reply.blocks {
        let kind = block["type"].as_str().unwrap_or("block");
        let media = block["mimeType"].as_str().unwrap_or("");
        output.note(&format!("attached: {kind} {media}"));
    }
    let count = |name: &str| reply.telemetry[name].as_u64().unwrap_or(0);
    output.note(&format!(
        "{} searches, {} describes, {} calls, {} ms with {}",
        count("searches"),
        count("describes"),
        count("calls"),
        count("ms"),
        reply.telemetry["engine"].as_str().unwrap_or("no engine"),
    ));
    if let Some(error) = &reply.error {
        let place = error.line.map(|line| format!(" (line {line})"));
        let mut text = format!(
            "{}: {}{}",
            error.name,
            error.message,
            place.unwrap_or_default()
        );
        if let Some(hint) = &error.hint {
            text.push_str(&format!("\nnext: {hint}"));
        }
        output.failure(&text);
        return Ok(());
    }
    match &reply.value {
        Value::String(text) => output.text(text)?,
        value => output.text(&serde_json::to_string_pretty(value).unwrap_or_default())?,
    }
    Ok(())
}
