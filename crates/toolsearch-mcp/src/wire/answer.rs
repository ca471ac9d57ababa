//! Reading answers. Only the two handshakes become rmcp's types, from the few fields that matter,
//! so that an odd capability or a missing name keeps nobody out. Everything else stays raw.

use rmcp::model::{
    CustomResult, DiscoverResult, ErrorCode, ErrorData, InitializeResult, ServerResult,
};
use serde_json::{Map, Value, json};

use crate::trouble::Trouble;

/// The code of an error that no server sent: the request got lost on the way. A server that uses it
/// is read as if it had used another.
const LOST: ErrorCode = ErrorCode(i32::MIN);

/// Key of the server's name and version in the `_meta` of a discover answer.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

pub(super) fn raw(result: Value) -> ServerResult {
    ServerResult::CustomResult(CustomResult(result))
}

/// The answer to `initialize`; raw when it names no version.
pub(super) fn initialize(result: Value) -> ServerResult {
    let essence = json!({
        "protocolVersion": result.get("protocolVersion"),
        "capabilities": capabilities(&result),
        "serverInfo": software(result.get("serverInfo")),
        "instructions": text(&result, "instructions"),
    });
    match serde_json::from_value::<InitializeResult>(essence) {
        Ok(typed) => ServerResult::InitializeResult(typed),
        Err(_) => raw(result),
    }
}

/// The answer to `server/discover`; raw when it names no versions.
pub(super) fn discover(result: Value) -> ServerResult {
    let info = result.get("_meta").and_then(|meta| meta.get(SERVER_INFO));
    let versions = result.get("supportedVersions").and_then(Value::as_array);
    let versions = versions.map(|all| all.iter().filter(|version| version.is_string()).collect());
    let versions: Vec<&Value> = versions.unwrap_or_default();
    if versions.is_empty() {
        return raw(result);
    }
    let essence = json!({
        "resultType": "complete",
        "supportedVersions": versions,
        "capabilities": capabilities(&result),
        "instructions": text(&result, "instructions"),
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": { SERVER_INFO: software(info.or_else(|| result.get("serverInfo"))) },
    });
    match serde_json::from_value::<DiscoverResult>(essence) {
        Ok(typed) => ServerResult::DiscoverResult(typed),
        Err(_) => raw(result),
    }
}

/// The error of an answer, whatever form it has.
pub(super) fn error(error: Value) -> ErrorData {
    let code = error
        .get("code")
        .and_then(Value::as_i64)
        .and_then(|code| i32::try_from(code).ok())
        .filter(|code| *code != LOST.0);
    let code = ErrorCode(code.unwrap_or(ErrorCode::INTERNAL_ERROR.0));
    let message = match error.get("message").and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None => error.to_string(),
    };
    ErrorData::new(
        code,
        message,
        error.get("data").filter(|data| !data.is_null()).cloned(),
    )
}

/// What happened to a request that got lost, as an answer that rmcp hands on.
pub(super) fn lost_on_the_way(trouble: &Trouble) -> ErrorData {
    let data = serde_json::to_value(trouble).ok();
    ErrorData::new(LOST, trouble.to_string(), data)
}

/// What happened, if this error is no answer of the server.
pub(crate) fn lost(error: &ErrorData) -> Option<Trouble> {
    if error.code != LOST {
        return None;
    }
    let trouble = error
        .data
        .clone()
        .and_then(|data| serde_json::from_value(data).ok());
    Some(trouble.unwrap_or_else(|| Trouble::Rejected(error.message.to_string())))
}

/// The capabilities that matter here, each in a form that rmcp reads.
fn capabilities(result: &Value) -> Value {
    let mut read = Map::new();
    let all = result.get("capabilities");
    for (key, flags) in [
        ("tools", &["listChanged"][..]),
        ("prompts", &["listChanged"]),
        ("resources", &["listChanged", "subscribe"]),
        ("logging", &[]),
        ("completions", &[]),
    ] {
        let Some(capability) = all
            .and_then(|all| all.get(key))
            .filter(|one| !one.is_null())
        else {
            continue;
        };
        let flag = |flag: &&str| {
            let set = capability.get(flag).and_then(Value::as_bool);
            ((*flag).to_owned(), Value::from(set.unwrap_or(false)))
        };
        read.insert(
            key.to_owned(),
            Value::Object(flags.iter().map(flag).collect()),
        );
    }
    Value::Object(read)
}

fn software(info: Option<&Value>) -> Value {
    let mut software = Map::new();
    let empty = Value::Null;
    let info = info.unwrap_or(&empty);
    for (key, fallback) in [("name", "unnamed"), ("version", "")] {
        let value = info.get(key).and_then(Value::as_str).unwrap_or(fallback);
        software.insert(key.to_owned(), Value::from(value));
    }
    for key in ["title", "description"] {
        if let Some(value) = info.get(key).and_then(Value::as_str) {
            software.insert(key.to_owned(), Value::from(value));
        }
    }
    Value::Object(software)
}

fn text<'a>(result: &'a Value, key: &str) -> Option<&'a str> {
    result.get(key).and_then(Value::as_str)
}
