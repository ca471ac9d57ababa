//! From the text of one line to the messages in it.
//!
//! Text is read into a [`Value`] first and from there into types. Straight from text, the untagged
//! enums of rmcp would see the numbers of `arbitrary_precision` as maps.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// Said about a message that nests deeper than serde_json reads.
const TOO_DEEP: &str = "the answer is nested too deeply to be read";

/// The messages of one line: one, or several in a batch. `None` when the line is something else.
pub(crate) fn parse(line: &[u8]) -> Option<Vec<Value>> {
    let line = line
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(line)
        .trim_ascii();
    if !matches!(line.first(), Some(b'{' | b'[')) {
        return None;
    }
    let value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(_) => reread(line)?,
    };
    match value {
        Value::Object(message) if is_message(&message) => Some(vec![Value::Object(message)]),
        Value::Array(batch) if !batch.is_empty() && batch.iter().all(is_message_value) => {
            Some(batch)
        }
        _ => None,
    }
}

/// Bytes that are no UTF-8 cost only the characters that they stand for. Nesting costs only the
/// tool or the answer that has too much of it.
fn reread(line: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(line);
    serde_json::from_str(&text).ok().or_else(|| shallow(&text))
}

#[derive(Deserialize)]
struct DeepAnswer<'a> {
    id: Value,
    #[serde(borrow)]
    result: Option<DeepList<'a>>,
}

#[derive(Deserialize)]
struct DeepList<'a> {
    #[serde(borrow)]
    tools: Option<Vec<&'a RawValue>>,
    #[serde(rename = "nextCursor")]
    next_cursor: Option<Value>,
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
}

/// An answer that is too deep as a whole: a list of tools keeps those that can be read, any other
/// becomes an error for whoever waits for it.
fn shallow(text: &str) -> Option<Value> {
    let answer: DeepAnswer<'_> = serde_json::from_str(text).ok()?;
    let list = answer
        .result
        .and_then(|list| Some((list.tools?, list.next_cursor)));
    let Some((tools, next_cursor)) = list else {
        let error = json!({ "code": -32700, "message": TOO_DEEP });
        return Some(json!({ "jsonrpc": "2.0", "id": answer.id, "error": error }));
    };
    let tools: Vec<Value> = tools
        .into_iter()
        .map(|tool| shallow_tool(tool.get()))
        .collect();
    let result = json!({ "tools": tools, "nextCursor": next_cursor });
    Some(json!({ "jsonrpc": "2.0", "id": answer.id, "result": result }))
}

/// A tool, or what stands for it: its name and a schema that nobody accepts.
fn shallow_tool(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| {
        let name = serde_json::from_str::<Named>(text)
            .ok()
            .and_then(|tool| tool.name);
        json!({ "name": name, "inputSchema": TOO_DEEP })
    })
}

/// The number of the request that is answered by a message of which only the beginning is there, if
/// that is said before the result.
pub(crate) fn cut_answer(beginning: &[u8]) -> Option<i64> {
    let mut rest = beginning.trim_ascii_start().strip_prefix(b"{")?;
    for _ in 0..2 {
        rest = rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix(br#""id""#) {
            let digits = after
                .trim_ascii_start()
                .strip_prefix(b":")?
                .trim_ascii_start();
            let end = digits.iter().position(|byte| !byte.is_ascii_digit())?;
            return std::str::from_utf8(&digits[..end]).ok()?.parse().ok();
        }
        let after = rest.strip_prefix(br#""jsonrpc""#)?.trim_ascii_start();
        let after = after.strip_prefix(b":")?.trim_ascii_start();
        let after = after.strip_prefix(br#""2.0""#)?.trim_ascii_start();
        rest = after.strip_prefix(b",")?;
    }
    None
}

fn is_message_value(value: &Value) -> bool {
    value.as_object().is_some_and(is_message)
}

/// Requests and notifications must say that they are JSON-RPC, as log lines have methods too.
fn is_message(object: &Map<String, Value>) -> bool {
    let says_so = object.get("jsonrpc").and_then(Value::as_str) == Some("2.0");
    if object.contains_key("method") {
        return says_so && object["method"].is_string();
    }
    let answers = object.contains_key("result") || object.contains_key("error");
    answers && (says_so || object.contains_key("id"))
}
