//! What the output of a command means.

use std::process::ExitStatus;

use serde_json::{Map, Value};
use toolsearch_catalog::Outcome;

use crate::run::Ended;
use crate::{MAX_OUTPUT_BYTES, MAX_STDERR_BYTES};

/// Longest excerpt of output that is no JSON, in characters.
const MAX_EXCERPT_CHARS: usize = 200;
/// Shorter values would blot out ordinary words such as `1` or `on`.
const MIN_SECRET_BYTES: usize = 4;

/// The result of a command.
pub(crate) fn read(ended: &Ended) -> Outcome {
    let said = printable(&ended.stderr, &ended.secrets);
    match ended.status {
        Some(status) if status.success() => succeeded(ended, &said),
        Some(status) => failed(status, &ended.stdout, &said),
        None => Outcome::error(format!(
            "The command wrote more than {} MiB and was stopped. It may have had effects.",
            MAX_OUTPUT_BYTES >> 20
        )),
    }
}

fn succeeded(ended: &Ended, said: &str) -> Outcome {
    let stdout = &ended.stdout[..];
    if stdout.trim_ascii().is_empty() {
        return Outcome::default();
    }
    match serde_json::from_slice::<Value>(stdout) {
        Ok(value) => from_value(value),
        Err(error) => {
            let told = redacted(&String::from_utf8_lossy(stdout), &ended.secrets);
            let excerpt: String = told.chars().take(MAX_EXCERPT_CHARS).collect();
            let text = format!(
                "The command ended well, but its output is not JSON ({error}). It may have had \
                 effects. Its output starts with: {excerpt}"
            );
            Outcome::error(with_words(text, said))
        }
    }
}

/// A command that says itself what went wrong is quoted; otherwise standard error is.
fn failed(status: ExitStatus, stdout: &[u8], said: &str) -> Outcome {
    let own = serde_json::from_slice::<Value>(stdout)
        .ok()
        .filter(is_result)
        .map(Outcome::from_result_json)
        .filter(|outcome| !outcome.content.is_empty());
    if let Some(mut outcome) = own {
        outcome.is_error = true;
        return outcome;
    }
    let how = match status.code() {
        Some(code) => format!("The command ended with exit code {code}."),
        None => format!("The command was ended from outside ({status})."),
    };
    Outcome::error(with_words(how, said))
}

fn with_words(text: String, said: &str) -> String {
    if said.is_empty() {
        return text;
    }
    format!("{text}\nIt wrote to standard error:\n{said}")
}

fn from_value(value: Value) -> Outcome {
    if is_result(&value) {
        return read_result(value);
    }
    let mut outcome = Outcome::structured(value);
    if let Some(Value::String(text)) = outcome.structured.as_deref() {
        outcome.content = Outcome::text(text.as_str()).content;
    }
    outcome
}

/// A result in the form that [`is_result`] knows, with every content block being one.
pub(crate) fn read_result(value: Value) -> Outcome {
    let mut outcome = Outcome::from_result_json(value);
    for block in &mut outcome.content {
        if !block.get("type").is_some_and(Value::is_string) {
            *block = text_block(block);
        }
    }
    outcome
}

/// Whether an object is a result as tools give it over MCP, and not just any object.
pub(crate) fn is_result(value: &Value) -> bool {
    let known = |key: &String| {
        matches!(
            key.as_str(),
            "content" | "structuredContent" | "isError" | "_meta"
        )
    };
    let Some(object) = value.as_object() else {
        return false;
    };
    object.keys().all(known)
        && (object.get("content").is_some_and(Value::is_array)
            || object.contains_key("structuredContent"))
}

/// What is no content block stands as the text that it is.
fn text_block(value: &Value) -> Value {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut block = Map::new();
    block.insert("type".to_owned(), Value::from("text"));
    block.insert("text".to_owned(), Value::String(text));
    Value::Object(block)
}

/// Standard error as a model may read it: no secrets, no control characters but line breaks.
pub(crate) fn printable(bytes: &[u8], secrets: &[String]) -> String {
    let longest = secrets.iter().map(String::len).max().unwrap_or(0);
    // The end of a secret may stand where the beginning was cut off.
    let cut = bytes.len() >= MAX_STDERR_BYTES;
    let bytes = if cut {
        &bytes[longest.min(bytes.len())..]
    } else {
        bytes
    };
    let mut text = redacted(&String::from_utf8_lossy(bytes), secrets);
    text.retain(|c| c == '\n' || c == '\t' || !c.is_control());
    text.trim().to_owned()
}

fn redacted(text: &str, secrets: &[String]) -> String {
    let secrets = secrets.iter().filter(|one| one.len() >= MIN_SECRET_BYTES);
    secrets.fold(text.to_owned(), |text, secret| {
        text.replace(secret.as_str(), "[redacted]")
    })
}
