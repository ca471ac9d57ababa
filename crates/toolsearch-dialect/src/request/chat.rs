//! Requests of Chat Completions.

use serde_json::{Map, Value, json};
use toolsearch_mode::Rendered;

use super::names::Names;
use super::{Edit, Past, PastResult, Places, grow};
use crate::call::{Call, CallForm};
use crate::dialect::Dialect;
use crate::offer::{Declaration, Offer, Offered, Stay};
use crate::parts::{outcome, text, text_field};
use crate::refusal::Refusal;

/// The schema of a tool that takes free text.
pub(crate) fn free_text_schema() -> Value {
    json!({
        "type": "object",
        "properties": {"input": {"type": "string"}},
        "required": ["input"],
    })
}

/// Every further choice would be a conversation of its own behind the surface.
pub(crate) fn only_one_choice(fields: &Map<String, Value>) -> Result<(), Refusal> {
    match fields.get("n") {
        Some(n) if !n.is_null() && fields.get("tools").is_some_and(|t| !t.is_null()) => {
            let message = "`n` must be 1 where tools are searched for; leave the tools out, or \
                           switch tool search off for this request";
            Err(Refusal::invalid(message).at("n"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn offer(body: &Value) -> Result<Offer, Refusal> {
    let mut offer = Offer::default();
    let mut names = Names::new(Dialect::OpenAiChat, body);
    let tools = body.get("tools").and_then(Value::as_array);
    for (index, tool) in tools.into_iter().flatten().enumerate() {
        let at = format!("tools[{index}]");
        if !tool.is_object() {
            let message = format!("`{at}` must be an object");
            return Err(Refusal::invalid(message).at(at));
        }
        let kind = text_field(tool, "type").unwrap_or("function");
        match (kind, tool.get(kind)) {
            ("function", Some(inner)) => {
                let at = format!("{at}.function");
                let name = names.take(inner.get("name"), None, &at)?;
                let mut offered = function(name, inner, "parameters");
                offered.stay = stay(&names, &offered.name, tool, inner);
                offered.declaration = Declaration::Own(tool.clone());
                offer.tools.push(offered);
            }
            ("function", None) => {
                let message = format!("`{at}.function` is missing");
                return Err(Refusal::invalid(message).at(at));
            }
            ("custom", Some(inner)) => {
                let name = names.take(inner.get("name"), None, &format!("{at}.custom"))?;
                let mut offered = Offered::function(name, free_text_schema());
                offered.description = description(inner);
                offered.form = CallForm::Custom;
                offered.stay = Some(Stay::FreeText);
                offered.declaration = Declaration::Own(tool.clone());
                offer.tools.push(offered);
            }
            _ => offer.kept.push(tool.clone()),
        }
    }
    Ok(offer)
}

/// A function of an entry whose schema stands under some key.
pub(crate) fn function(name: String, entry: &Value, schema: &str) -> Offered {
    let schema = match entry.get(schema) {
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => schema.clone(),
        _ => json!({"type": "object", "properties": {}}),
    };
    let mut offered = Offered::function(name, schema);
    offered.description = description(entry);
    offered.output_schema = entry
        .get("output_schema")
        .filter(|schema| schema.is_object())
        .cloned();
    offered
}

pub(crate) fn description(entry: &Value) -> String {
    text_field(entry, "description")
        .unwrap_or_default()
        .to_owned()
}

/// Whether the client wants a tool visible, by choosing or by marking it.
pub(crate) fn stay(names: &Names<'_>, name: &str, tool: &Value, inner: &Value) -> Option<Stay> {
    let marked = |entry: &Value| entry.get("defer_loading") == Some(&Value::Bool(false));
    if names.chosen(name) {
        return Some(Stay::Chosen);
    }
    (marked(tool) || marked(inner)).then_some(Stay::Marked)
}

pub(crate) fn add_prompt(body: &mut Value, prompt: &str) {
    let Some(Value::Array(messages)) = body.get_mut("messages") else {
        return;
    };
    match messages.first_mut() {
        Some(first) if matches!(text_field(first, "role"), Some("system" | "developer")) => {
            grow(first, "content", prompt);
        }
        _ => messages.insert(0, json!({"role": "system", "content": prompt})),
    }
}

pub(crate) fn past(messages: &[Value]) -> Past {
    let mut past = Past::default();
    for message in messages {
        for call in calls(message) {
            past.calls.extend(text_field(call, "id").map(str::to_owned));
        }
        if let Some(id) = result_id(message) {
            past.results.push(PastResult {
                id: id.to_owned(),
                outcome: outcome(message.get("content"), false),
                raw: message.clone(),
            });
        }
    }
    past
}

fn calls(message: &Value) -> impl Iterator<Item = &Value> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    calls.into_iter().flatten()
}

fn result_id(message: &Value) -> Option<&str> {
    let id = text_field(message, "tool_call_id")?;
    (text_field(message, "role") == Some("tool")).then_some(id)
}

pub(crate) fn splice(before: Vec<Value>, edits: &[Edit]) -> Vec<Value> {
    let mut places = Places::new(edits);
    let mut after = Vec::with_capacity(before.len());
    for message in before {
        let id = result_id(&message).or_else(|| calls(&message).find_map(|c| text_field(c, "id")));
        match id.and_then(|id| places.of(id)) {
            Some((edit, true)) => after.extend(edit.instead.iter().cloned()),
            Some((_, false)) => {}
            None => after.push(message),
        }
    }
    after
}

pub(crate) fn results(results: &[(Call, Rendered)]) -> Vec<Value> {
    let result = |(call, rendered): &(Call, Rendered)| json!({"role": "tool", "tool_call_id": call.id, "content": text(rendered)});
    results.iter().map(result).collect()
}
