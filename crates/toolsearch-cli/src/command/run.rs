//! `toolsearch run [FILE|-]`.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use serde_json::Value;
use toolsearch::mode::{Request, Response, RunReply, render};
use toolsearch::mode_code::CodeMode;
use toolsearch::runtime::{Compaction, Session};

use crate::assemble::Assembled;
use crate::cli::RunArgs;
use crate::fault::{Done, Exit, Fault, program_exit};
use crate::output::Output;

use super::unexpected;

/// Most bytes that are read; the engine's own limit is far below and names itself.
const MAX_BYTES: u64 = 1 << 20;

/// Runs a program.
pub(crate) async fn run(args: &RunArgs, assembled: &Assembled, output: &Output) -> Done {
    let code = source(args)?;
    let session = open(assembled).await?;
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
        show(&reply, output)?;
    }
    Ok(match &reply.error {
        Some(error) => program_exit(&error.code),
        None => Exit::Fine,
    })
}

/// A session in mode `code`, whatever is shown to models.
pub(crate) async fn open(assembled: &Assembled) -> Result<Session, Fault> {
    let mut request = assembled.request(assembled.sources.list().await);
    request.mode = Some(Arc::new(CodeMode));
    request.compaction = Some(Compaction::Always);
    assembled.open_with(request).await
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

/// The value on standard output; everything about it on standard error.
fn show(reply: &RunReply, output: &Output) -> Result<(), Fault> {
    for line in &reply.logs {
        output.remark(line);
    }
    for note in &reply.notes {
        output.note(note);
    }
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
