//! Turns what the engine threw into an error that a model can act on: the line of its own text, quoted,
//! and what to do instead. Heuristics here only add words to a run that has failed already; they never
//! refuse a program.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{mask::Mask, source::Normalized};
use crate::{ErrorCode, RunError};

mod habits;

/// The name of the program in stack traces.
pub const FILE: &str = "program.js";

/// Most characters of a quoted line.
const EXCERPT: usize = 160;

/// A thrown value as the prelude tells it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thrown {
    /// The error's class.
    pub name: String,
    /// Its text.
    pub message: String,
    /// Where it was made; frames of the program name [`FILE`].
    #[serde(default)]
    pub stack: String,
    /// The code that the host gave it, if it came from there.
    #[serde(default)]
    pub code: String,
    /// Under which circumstances; the prelude does not know.
    #[serde(default)]
    pub why: Why,
}

/// Under which circumstances a value was thrown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Nothing caught it.
    #[default]
    Uncaught,
    /// The text is no program; nothing ran.
    Parsing,
    /// A failed call that nothing waited for.
    NotAwaited,
    /// The program was stopped, near this place.
    Stopped,
}

impl fmt::Display for Thrown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message: String = self.message.chars().take(200).collect();
        write!(f, "{}: {message}", self.name)
    }
}

/// Whether a script failed only because it is the body of a function.
#[must_use]
pub fn is_about_return(thrown: &Thrown) -> bool {
    thrown.message.contains("return not in a function")
}

/// The error of a run. `shift` columns stood before the first line.
#[must_use]
pub fn read(thrown: &Thrown, source: &Normalized, shift: usize) -> RunError {
    let place = place(&thrown.stack, shift);
    let mut error = RunError::new(code(thrown, &source.original), thrown.message.clone());
    error.name.clone_from(&thrown.name);
    if let Some((line, column)) = place {
        error.line = Some(line);
        error.column = column;
        error.excerpt = excerpt(&source.original, line);
    }
    match error.code {
        ErrorCode::SyntaxError => syntax(&mut error, source),
        ErrorCode::GuestError => runtime(&mut error, source),
        ErrorCode::OutOfMemory => {
            error.name = "OutOfMemoryError".into();
            error.message = "the program ran out of memory".into();
            error.hint = Some("keep less at a time; return only what is needed".into());
        }
        _ => {}
    }
    match thrown.why {
        Why::Uncaught | Why::Parsing => error,
        Why::NotAwaited => {
            error.with_hint("this call failed and nothing waited for it; await every call")
        }
        Why::Stopped => timeout(&error),
    }
}

/// Says that time was up, near the line of an error. Near, because engines know the places of calls and
/// not of loops.
fn timeout(place: &RunError) -> RunError {
    let mut error = RunError::new(ErrorCode::Timeout, "the program ran out of time");
    error.line = place.line;
    if let Some(line) = place.line {
        error.hint = Some(format!("it was stopped at or after line {line}"));
    }
    error
}

fn code(thrown: &Thrown, source: &str) -> ErrorCode {
    if !thrown.code.is_empty() {
        return ErrorCode::parse(&thrown.code);
    }
    match thrown.name.as_str() {
        "SyntaxError" if thrown.why == Why::Parsing => ErrorCode::SyntaxError,
        "InternalError" if thrown.message.contains("out of memory") => ErrorCode::OutOfMemory,
        // With no memory left to make an error of, the engine throws `null`. A program that throws it
        // says so.
        _ if thrown.message == "null"
            && thrown.stack.is_empty()
            && !["throw", "reject"].iter().any(|word| source.contains(word)) =>
        {
            ErrorCode::OutOfMemory
        }
        _ => ErrorCode::GuestError,
    }
}

/// Line and column of the first frame in the program.
fn place(stack: &str, shift: usize) -> Option<(u32, Option<u32>)> {
    let start = stack.find(FILE)? + FILE.len();
    let mut numbers = stack[start..]
        .strip_prefix(':')?
        .split(|c: char| !c.is_ascii_digit());
    let line: u32 = numbers.next()?.parse().ok()?;
    let column: Option<u32> = numbers.next().and_then(|text| text.parse().ok());
    let shift = if line == 1 {
        u32::try_from(shift).unwrap_or(0)
    } else {
        0
    };
    Some((
        line.max(1),
        column.map(|column| column.saturating_sub(shift).max(1)),
    ))
}

fn excerpt(text: &str, line: u32) -> Option<String> {
    let line = text.lines().nth(line as usize - 1)?.trim();
    let quoted: String = line
        .chars()
        .filter(|c| !c.is_control())
        .take(EXCERPT)
        .collect();
    (!quoted.is_empty()).then_some(quoted)
}

fn syntax(error: &mut RunError, source: &Normalized) {
    let text = &source.original;
    let code = Mask::new(text).code_only(text);
    if let Some(line) = error.line {
        // A missing bracket is noticed after the end of the text.
        let last = u32::try_from(text.lines().count())
            .unwrap_or(u32::MAX)
            .max(1);
        if line > last {
            // What the engine found there is not the model's.
            error.message = "unexpected end of the program".into();
            error.hint = Some("a bracket or a quote is not closed".into());
            error.line = Some(last);
            error.column = None;
            error.excerpt = excerpt(text, last);
        }
    }
    let line = error.line.map_or(0, |line| line as usize - 1);
    let (whole, bare) = (
        text.lines().nth(line).unwrap_or(""),
        code.lines().nth(line).unwrap_or(""),
    );
    if habits::is_shell(text) {
        shell(error);
    } else if let Some(word) = habits::module_word(&code) {
        error.message = format!("`{word}` is not available here: {}", error.message);
        error.hint = Some(habits::NO_MODULES.into());
    } else if whole.contains(['“', '”', '‘', '’']) {
        error.hint = Some("replace curly quotes by straight ones (\" or ')".into());
    } else if habits::has_entities(whole) {
        error.hint = Some("write HTML entities such as &lt; and &amp; as plain characters".into());
    } else if habits::awaits_outside_async(bare) {
        error.hint =
            Some("`await` needs an async function around it: write `async (x) => …`".into());
    } else if habits::is_typescript(bare) {
        error.hint = Some("this looks like TypeScript: write plain JavaScript, no types".into());
    } else if whole.trim_start().starts_with("```") {
        error.hint = Some("send the program alone, without Markdown".into());
    }
}

fn runtime(error: &mut RunError, source: &Normalized) {
    if error.name == "ReferenceError" {
        let missing = error.message.strip_suffix(" is not defined").unwrap_or("");
        let missing = missing.trim_matches('\'').to_owned();
        if habits::is_shell_word(&source.original, &missing) {
            shell(error);
        } else if error.message.contains("could not load module") {
            error.message = format!("`import` is not available here: {}", error.message);
            error.hint = Some(habits::NO_MODULES.into());
        } else {
            error.hint = habits::missing(&missing).map(str::to_owned);
        }
    } else if error.name == "TypeError" && error.message.contains("not a function") {
        error.hint = error.excerpt.as_deref().and_then(habits::unknown_helper);
    }
}

fn shell(error: &mut RunError) {
    error.code = ErrorCode::SyntaxError;
    error.name = "SyntaxError".into();
    error.message = "this takes a JavaScript program, not a shell command".into();
    error.hint = Some("to run a command, find a tool with tools.search(\"run a command\")".into());
}

#[cfg(test)]
mod tests;
