//! What a run of `toolsearch agent` tells while it goes on, and the further messages of a conversation.

use std::io::{self, BufRead, Read};

use toolsearch_agent::{Observer, Step};

use crate::fault::Fault;
use crate::output::Output;

use super::MAX_MESSAGE_BYTES;

/// Events as JSON lines, or lines for a person; with the words of the model as they come where the
/// conversation goes on.
#[derive(Debug)]
pub(super) struct Told {
    output: Output,
    live: bool,
}

impl Told {
    pub(super) const fn new(output: Output, live: bool) -> Self {
        Self { output, live }
    }
}

impl Observer for Told {
    fn step(&self, step: &Step<'_>) {
        let output = &self.output;
        // Nobody is left to tell when the output is gone; the run ends with its last line.
        let _ = match step {
            step if output.json => output.lines(&format!("{}\n", step.to_json())),
            Step::Words { piece } => output.piece(piece),
            Step::Said { .. } if self.live => output.text(""),
            Step::Said { text } => {
                output.step(text);
                Ok(())
            }
            Step::Retrying { after, error } => {
                let seconds = after.as_secs_f64();
                output.step(&format!("asking again in {seconds} s: {error}"));
                Ok(())
            }
            Step::Called {
                name,
                ok,
                answer_bytes,
            } => {
                let how = if *ok { "done" } else { "failed" };
                output.step(&format!("{name}: {how}, {answer_bytes} bytes"));
                Ok(())
            }
            _ => Ok(()),
        };
    }

    fn wants_words(&self) -> bool {
        self.live
    }
}

/// The lines of standard input that say something.
pub(super) struct Lines<'a> {
    output: &'a Output,
}

impl<'a> Lines<'a> {
    pub(super) const fn new(output: &'a Output) -> Self {
        Self { output }
    }

    /// The next message; nothing when the input has ended.
    pub(super) async fn next(&mut self) -> Result<Option<String>, Fault> {
        loop {
            self.output.prompt("> ");
            let line = tokio::task::spawn_blocking(read_line).await;
            let line = line.unwrap_or_else(|error| Err(io::Error::other(error)));
            let line = line
                .map_err(|error| Fault::failed(format!("cannot read standard input: {error}")))?;
            match line.as_deref().map(str::trim) {
                None => return Ok(None),
                Some("") => {}
                Some(_) => return Ok(line),
            }
        }
    }
}

/// A line without its end; nothing at the end of the input.
fn read_line() -> io::Result<Option<String>> {
    let mut line = String::new();
    let mut stdin = io::stdin().lock().take(MAX_MESSAGE_BYTES);
    if stdin.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end_matches(['\n', '\r']).to_owned()))
}
