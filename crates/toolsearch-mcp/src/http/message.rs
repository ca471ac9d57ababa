//! What the headers of a request say about the message in it. Reads only the few fields of the
//! message that matter and leaves its arguments unread.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use toolsearch_schema::headers::{MarkedArgument, marked_arguments};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
const PARAMETER: &str = "mcp-param-";
const PLAIN_START: &str = "=?base64?";
const PLAIN_END: &str = "?=";

/// The first version whose requests stand for themselves and say so in headers.
const STATELESS: &str = "2026-07-28";
/// Longest value of a header that is sent.
const MAX_VALUE_BYTES: usize = 4 * 1024;
/// Tools with marked properties that are remembered.
const MAX_MARKED_TOOLS: usize = 1000;

/// A message on its way out.
#[derive(Debug, Default, Clone)]
pub(super) struct Head {
    pub(super) id: Option<Value>,
    pub(super) method: Option<String>,
    /// The protocol version that the message itself names.
    version: Option<String>,
    name: Option<String>,
    /// The request that is taken back.
    pub(super) cancels: Option<i64>,
}

#[derive(Deserialize)]
struct Message<'a> {
    id: Option<Value>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct Params<'a> {
    #[serde(rename = "_meta")]
    meta: Option<Meta>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
    #[serde(rename = "requestId")]
    request_id: Option<Value>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

impl Head {
    pub(super) fn read(text: &[u8]) -> Self {
        let Ok(message) = serde_json::from_slice::<Message<'_>>(text) else {
            return Self::default();
        };
        let params = params(&message);
        let method = message.method.map(Cow::into_owned);
        let name = match method.as_deref() {
            Some("tools/call" | "prompts/get") => params.name,
            Some("resources/read" | "resources/subscribe" | "resources/unsubscribe") => params.uri,
            _ => None,
        };
        let cancels = method
            .as_deref()
            .filter(|method| *method == "notifications/cancelled")
            .and_then(|_| params.request_id?.as_i64());
        Self {
            id: message.id,
            version: params.meta.and_then(|meta| meta.version),
            name: name.map(Cow::into_owned),
            method,
            cancels,
        }
    }

    /// The number of a request; rmcp numbers them.
    pub(super) fn request(&self) -> Option<i64> {
        self.method.as_ref()?;
        self.id.as_ref()?.as_i64()
    }

    pub(super) fn is(&self, method: &str) -> bool {
        self.method.as_deref() == Some(method)
    }

    /// Whether the server may ask something before it answers.
    pub(super) fn may_ask(&self) -> bool {
        ["tools/call", "prompts/get", "resources/read"]
            .iter()
            .any(|method| self.is(method))
    }

    /// Whether the message is of the protocol that knows no sessions.
    pub(super) fn is_stateless(&self) -> bool {
        self.version
            .as_deref()
            .is_some_and(|version| version >= STATELESS)
    }

    /// The headers that belong to the message. `agreed` is the version of the connection.
    pub(super) fn headers(
        &self,
        text: &[u8],
        agreed: Option<&str>,
        marks: &Marks,
        headers: &mut HeaderMap,
    ) {
        let version = self.version.as_deref().or(agreed);
        if let Some(version) = version.filter(|_| !self.is("initialize")) {
            put(headers, VERSION, version);
        }
        if !self.is_stateless() {
            return;
        }
        if let Some(method) = &self.method {
            put(headers, METHOD, method);
        }
        if let Some(name) = &self.name {
            put(headers, NAME, &plain(name));
            if self.is("tools/call") {
                marks.put(name, text, headers);
            }
        }
    }
}

fn params<'a>(message: &Message<'a>) -> Params<'a> {
    let read = message
        .params
        .map(|params| serde_json::from_str(params.get()));
    read.and_then(Result::ok).unwrap_or_default()
}

fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if value.len() <= MAX_VALUE_BYTES
        && let Ok(value) = HeaderValue::from_str(value)
    {
        headers.insert(name, value);
    }
}

/// A text as it can stand in a header.
fn plain(text: &str) -> Cow<'_, str> {
    let printable = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    let coded = text.starts_with(PLAIN_START) && text.ends_with(PLAIN_END);
    if printable && !coded && text.trim() == text {
        return Cow::Borrowed(text);
    }
    let coded = BASE64_STANDARD.encode(text);
    Cow::Owned(format!("{PLAIN_START}{coded}{PLAIN_END}"))
}

/// The arguments of tools that have to be repeated in headers.
#[derive(Debug, Default)]
pub(super) struct Marks(Mutex<BTreeMap<String, Vec<MarkedArgument>>>);

impl Marks {
    /// Looks for marks in what may be an answer to `tools/list`.
    pub(super) fn learn(&self, message: &Value) {
        let tools = message.pointer("/result/tools").and_then(Value::as_array);
        for tool in tools.into_iter().flatten() {
            let Some(name) = tool.get("name").and_then(Value::as_str) else {
                continue;
            };
            // A tool with marks that break a rule is set aside.
            let marks = tool.get("inputSchema").map(marked_arguments);
            let marks = marks.and_then(Result::ok).unwrap_or_default();
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if marks.is_empty() {
                known.remove(name);
            } else if known.len() < MAX_MARKED_TOOLS || known.contains_key(name) {
                known.insert(name.to_owned(), marks);
            }
        }
    }

    fn put(&self, tool: &str, text: &[u8], headers: &mut HeaderMap) {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(marks) = known.get(tool).cloned() else {
            return;
        };
        drop(known);
        let Ok(message) = serde_json::from_slice::<Message<'_>>(text) else {
            return;
        };
        let arguments = params(&message).arguments.map(RawValue::get);
        let arguments: Value = arguments
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        for mark in marks {
            let value = match mark.value(&arguments) {
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
                None => continue,
            };
            let name = format!("{PARAMETER}{}", mark.header);
            if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
                put(headers, name, &plain(&value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn headers(message: &Value, agreed: Option<&str>, marks: &Marks) -> Vec<String> {
        let text = message.to_string().into_bytes();
        let mut headers = HeaderMap::new();
        Head::read(&text).headers(&text, agreed, marks, &mut headers);
        let mut lines: Vec<String> = headers
            .iter()
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect();
        lines.sort();
        lines
    }

    #[test]
    fn requests_without_a_session_say_what_they_are() {
        let marks = Marks::default();
        marks.learn(
            &json!({ "result": { "tools": [{ "name": "weather", "inputSchema": {
            "properties": { "city": { "type": "string", "x-mcp-header": "City" },
                            "at": { "properties": { "hour": { "type": "integer", "x-mcp-header": "Hour" } } } },
        } }] } }),
        );
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        let arguments = json!({ "city": "Köln", "at": { "hour": 7 } });
        let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "_meta": meta, "name": "weather", "arguments": arguments } });
        assert_eq!(
            headers(&call, None, &marks),
            [
                "mcp-method: tools/call",
                "mcp-name: weather",
                "mcp-param-city: =?base64?S8O2bG4=?=",
                "mcp-param-hour: 7",
                "mcp-protocol-version: 2026-07-28",
            ]
        );
    }

    #[test]
    fn requests_of_a_session_name_its_version_once_it_is_agreed() {
        let marks = Marks::default();
        let hello = json!({ "id": 1, "method": "initialize", "params": {} });
        assert!(headers(&hello, Some("2025-11-25"), &marks).is_empty());
        let list = json!({ "id": 2, "method": "tools/list" });
        let expected = ["mcp-protocol-version: 2025-11-25"];
        assert_eq!(headers(&list, Some("2025-11-25"), &marks), expected);
    }
}
