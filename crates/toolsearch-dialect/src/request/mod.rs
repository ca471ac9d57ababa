//! Requests: what all three dialects have in common. Each module beside this one knows one of them.

pub(crate) mod chat;
pub(crate) mod messages;
mod names;
pub(crate) mod responses;

use serde_json::{Value, json};
use toolsearch_catalog::Outcome;

use crate::dialect::Dialect;
use crate::parts::{set, take, text_field, words};
use crate::refusal::Refusal;

/// Most tools of one request.
const MAX_TOOLS: usize = 10_000;

/// The result of a call, as it stands in a history.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PastResult {
    /// The call's id.
    pub id: String,
    /// What came back.
    pub outcome: Outcome,
    /// The entry, or the part of one, as the client wrote it.
    pub raw: Value,
}

/// The calls and results of a history, in their order.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Past {
    /// Ids of calls.
    pub calls: Vec<String>,
    /// Results.
    pub results: Vec<PastResult>,
}

/// What stands in the place of some calls and their results.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Edit {
    /// The calls that go, together with their results and what was said beside them.
    pub ids: Vec<String>,
    /// The entries that the client was handed with the calls (Responses: told by content).
    pub visible: Vec<Value>,
    /// What comes instead, at the place of the first of them.
    pub instead: Vec<Value>,
}

impl Edit {
    /// An edit.
    #[must_use]
    pub const fn new(ids: Vec<String>, visible: Vec<Value>, instead: Vec<Value>) -> Self {
        Self {
            ids,
            visible,
            instead,
        }
    }
}

pub(crate) fn check(dialect: Dialect, body: &Value) -> Result<(), Refusal> {
    let Some(fields) = body.as_object() else {
        return Err(Refusal::invalid("the body must be a JSON object"));
    };
    let field = dialect.history_field();
    let history = fields.get(field);
    let fine = match (dialect, history) {
        (Dialect::OpenAiResponses, None | Some(Value::Null | Value::String(_))) => true,
        (_, Some(Value::Array(entries))) => {
            if let Some(at) = entries.iter().position(|entry| !entry.is_object()) {
                let message = format!("`{field}[{at}]` must be an object");
                return Err(Refusal::invalid(message).at(format!("{field}[{at}]")));
            }
            true
        }
        _ => false,
    };
    if !fine {
        let message = format!("`{field}` must be a list");
        return Err(Refusal::invalid(message).at(field));
    }
    match fields.get("tools") {
        None | Some(Value::Null) => {}
        Some(Value::Array(tools)) if tools.len() <= MAX_TOOLS => {}
        Some(Value::Array(tools)) => {
            let message = format!("{} tools; at most {MAX_TOOLS} are taken", tools.len());
            return Err(Refusal::invalid(message).at("tools"));
        }
        Some(_) => return Err(Refusal::invalid("`tools` must be a list").at("tools")),
    }
    if dialect == Dialect::OpenAiChat && fields.get("n").is_some_and(|n| n.as_u64() != Some(1)) {
        return chat::only_one_choice(fields);
    }
    Ok(())
}

/// The entries of the history; none where it is a text or missing.
pub(crate) fn entries(dialect: Dialect, body: &Value) -> &[Value] {
    let entries = body.get(dialect.history_field()).and_then(Value::as_array);
    entries.map_or(&[], Vec::as_slice)
}

pub(crate) fn first_user_text(dialect: Dialect, body: &Value) -> Option<String> {
    if let Some(text) = body.get(dialect.history_field()).and_then(Value::as_str) {
        return Some(text.to_owned());
    }
    let of_user = |entry: &&Value| text_field(entry, "role") == Some("user");
    entries(dialect, body)
        .iter()
        .filter(of_user)
        .map(|entry| words(entry.get("content")))
        .find(|text| !text.trim().is_empty())
}

pub(crate) fn declare(body: &mut Value, tools: Vec<Value>) {
    let Value::Object(fields) = body else { return };
    if tools.is_empty() {
        take(fields, "tools");
        take(fields, "tool_choice");
    } else {
        fields.insert("tools".to_owned(), Value::Array(tools));
    }
}

pub(crate) fn relax_choice(dialect: Dialect, body: &mut Value) {
    let Some(choice) = body.get_mut("tool_choice") else {
        return;
    };
    match dialect {
        Dialect::AnthropicMessages if text_field(choice, "type") == Some("any") => {
            set(choice, "type", Value::from("auto"));
        }
        Dialect::OpenAiChat | Dialect::OpenAiResponses if choice.as_str() == Some("required") => {
            *choice = Value::from("auto");
        }
        _ => {}
    }
}

pub(crate) fn add_prompt(dialect: Dialect, body: &mut Value, text: &str) {
    if text.is_empty() {
        return;
    }
    match dialect {
        Dialect::OpenAiChat => chat::add_prompt(body, text),
        Dialect::OpenAiResponses => grow(body, "instructions", text),
        Dialect::AnthropicMessages => grow(body, "system", text),
    }
}

/// Adds text behind the text, or the text parts, of a field.
pub(crate) fn grow(value: &mut Value, field: &str, text: &str) {
    let grown = match value.get_mut(field) {
        Some(Value::Array(parts)) => {
            parts.push(json!({"type": "text", "text": text}));
            return;
        }
        Some(Value::String(old)) if !old.is_empty() => format!("{old}\n\n{text}"),
        _ => text.to_owned(),
    };
    set(value, field, Value::from(grown));
}

pub(crate) fn append(dialect: Dialect, body: &mut Value, more: Vec<Value>) {
    let field = dialect.history_field();
    let mut history = match body.get_mut(field).map(Value::take) {
        Some(Value::Array(entries)) => entries,
        Some(Value::String(text)) => vec![json!({"role": "user", "content": text})],
        _ => Vec::new(),
    };
    history.extend(more);
    set(body, field, Value::Array(history));
}

pub(crate) fn past(dialect: Dialect, body: &Value) -> Past {
    let entries = entries(dialect, body);
    match dialect {
        Dialect::OpenAiChat => chat::past(entries),
        Dialect::OpenAiResponses => responses::past(entries),
        Dialect::AnthropicMessages => messages::past(entries),
    }
}

pub(crate) fn splice(dialect: Dialect, body: &mut Value, edits: &[Edit]) {
    if edits.is_empty() {
        return;
    }
    let Some(Value::Array(entries)) = body.get_mut(dialect.history_field()) else {
        return;
    };
    let before = std::mem::take(entries);
    *entries = match dialect {
        Dialect::OpenAiChat => chat::splice(before, edits),
        Dialect::OpenAiResponses => responses::splice(before, edits),
        Dialect::AnthropicMessages => messages::splice(before, edits),
    };
}

/// Which edits were put into a new history already.
pub(crate) struct Places<'a> {
    edits: &'a [Edit],
    placed: Vec<bool>,
}

impl<'a> Places<'a> {
    pub(crate) fn new(edits: &'a [Edit]) -> Self {
        Self {
            edits,
            placed: vec![false; edits.len()],
        }
    }

    /// The edit that a call belongs to, and whether this is the first that is seen of it.
    pub(crate) fn of(&mut self, id: &str) -> Option<(&'a Edit, bool)> {
        let at = self
            .edits
            .iter()
            .position(|edit| edit.ids.iter().any(|own| own == id))?;
        let first = !std::mem::replace(&mut self.placed[at], true);
        Some((&self.edits[at], first))
    }
}
