//! Requests of Messages.

use serde_json::{Value, json};
use toolsearch_mode::Rendered;

use super::chat::{description, function, stay};
use super::names::Names;
use super::{Edit, Past, PastResult, Places};
use crate::call::Call;
use crate::dialect::Dialect;
use crate::offer::{Declaration, Native, Note, Offer, Offered, Stay};
use crate::parts::{Form, content, outcome, set, take, text_field};
use crate::refusal::Refusal;

/// Beginnings of the types of tools whose schema the provider knows and which the client runs.
const CLIENT_RUN: [&str; 5] = ["bash_", "text_editor_", "computer_", "memory_", "browser_"];
/// Beginning of the types of the provider's own search for deferred tools.
const SEARCH: &str = "tool_search_tool_";

pub(crate) fn offer(body: &Value, native: Native) -> Result<Offer, Refusal> {
    let mut offer = Offer::default();
    let mut names = Names::new(Dialect::AnthropicMessages, body);
    let tools = body.get("tools").and_then(Value::as_array);
    for (index, tool) in tools.into_iter().flatten().enumerate() {
        let at = format!("tools[{index}]");
        if !tool.is_object() {
            let message = format!("`{at}` must be an object");
            return Err(Refusal::invalid(message).at(at));
        }
        let kind = text_field(tool, "type").unwrap_or("custom");
        if kind == "custom" {
            let name = names.take(tool.get("name"), None, &at)?;
            let offered = own(name, tool, &names, native, &mut offer);
            offer.tools.push(offered);
        } else if kind.starts_with(SEARCH) && native == Native::Replaced {
            let what = "the provider's search is left out; tools are searched for here";
            offer.notes.push(Note::new(at, what));
        } else {
            let run_by_client = CLIENT_RUN.iter().any(|begin| kind.starts_with(begin));
            if run_by_client && tool.get("name").is_some() {
                let name = names.take(tool.get("name"), None, &at)?;
                let mut offered = Offered::function(name, json!({"type": "object"}));
                offered.description = description(tool);
                offered.stay = Some(Stay::BuiltIn);
                offered.declaration = Declaration::Elsewhere;
                offer.tools.push(offered);
            }
            offer.kept.push(tool.clone());
        }
    }
    Ok(offer)
}

/// A tool of the client's own.
fn own(
    name: String,
    tool: &Value,
    names: &Names<'_>,
    native: Native,
    offer: &mut Offer,
) -> Offered {
    let mut offered = function(name, tool, "input_schema");
    offered.stay = stay(names, &offered.name, tool, tool);
    let mut entry = tool.clone();
    if let Some(mark) = tool.get("cache_control").filter(|mark| !mark.is_null()) {
        offer.cache_control = Some(mark.clone());
    }
    if tool.get("defer_loading") == Some(&Value::Bool(true)) {
        if native == Native::Passed {
            offered.stay = Some(Stay::Deferred);
            offered.declaration = Declaration::Elsewhere;
            offer.kept.push(entry);
            return offered;
        }
        if let Value::Object(fields) = &mut entry {
            take(fields, "defer_loading");
        }
    }
    offered.declaration = Declaration::Own(entry);
    offered
}

/// What a provider without deferred loading does not know, in words.
pub(crate) fn settle_history(body: &mut Value, native: Native) {
    let Some(Value::Array(messages)) = body.get_mut("messages") else {
        return;
    };
    if native == Native::Passed {
        return;
    }
    for message in messages {
        let Some(Value::Array(blocks)) = message.get_mut("content") else {
            continue;
        };
        let before = blocks.len();
        blocks.retain(|block| !is_search(block));
        if blocks.is_empty() && before > 0 {
            blocks.push(json!({"type": "text", "text": "(searched for tools)"}));
        }
        for block in blocks {
            let Some(Value::Array(parts)) = block.get_mut("content") else {
                continue;
            };
            for part in parts {
                if text_field(part, "type") == Some("tool_reference") {
                    let name = text_field(part, "tool_name").unwrap_or_default();
                    let text = format!("Found the tool `{name}`.");
                    *part = json!({"type": "text", "text": text});
                }
            }
        }
    }
}

fn is_search(block: &Value) -> bool {
    match text_field(block, "type") {
        Some("server_tool_use") => {
            text_field(block, "name").is_some_and(|name| name.starts_with(SEARCH))
        }
        Some("tool_search_tool_result") => true,
        _ => false,
    }
}

pub(crate) fn past(messages: &[Value]) -> Past {
    let mut past = Past::default();
    for block in messages.iter().flat_map(blocks) {
        if let Some(id) = call_id(block) {
            past.calls.push(id.to_owned());
        } else if let Some(id) = result_id(block) {
            let is_error = block.get("is_error") == Some(&Value::Bool(true));
            past.results.push(PastResult {
                id: id.to_owned(),
                outcome: outcome(block.get("content"), is_error),
                raw: block.clone(),
            });
        }
    }
    past
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    let blocks = message.get("content").and_then(Value::as_array);
    blocks.into_iter().flatten()
}

fn call_id(block: &Value) -> Option<&str> {
    let id = text_field(block, "id")?;
    (text_field(block, "type") == Some("tool_use")).then_some(id)
}

fn result_id(block: &Value) -> Option<&str> {
    let id = text_field(block, "tool_use_id")?;
    (text_field(block, "type") == Some("tool_result")).then_some(id)
}

pub(crate) fn splice(before: Vec<Value>, edits: &[Edit]) -> Vec<Value> {
    let mut places = Places::new(edits);
    let mut after: Vec<Value> = Vec::with_capacity(before.len());
    for mut message in before {
        if let Some(id) = blocks(&message).find_map(call_id)
            && let Some((edit, first)) = places.of(id)
        {
            if first {
                after.extend(edit.instead.iter().cloned());
            }
            continue;
        }
        let Some(Value::Array(parts)) = message.get_mut("content") else {
            after.push(message);
            continue;
        };
        let (mut kept, mut mark, count) = (Vec::new(), None, parts.len());
        for part in std::mem::take(parts) {
            match result_id(&part).and_then(|id| places.of(id)) {
                None => kept.push(part),
                Some((edit, first)) => {
                    if first {
                        after.extend(edit.instead.iter().cloned());
                    }
                    mark = part.get("cache_control").cloned().or(mark);
                }
            }
        }
        if kept.len() == count {
            *parts = kept;
            after.push(message);
            continue;
        }
        if let Some(mark) = mark {
            mark_last(&mut after, mark);
        }
        join_user(&mut after, message, kept);
    }
    after
}

/// What is left of a message whose results went goes behind the results that came instead.
fn join_user(after: &mut Vec<Value>, mut message: Value, kept: Vec<Value>) {
    if kept.is_empty() {
        return;
    }
    if let Some(last) = after.last_mut()
        && text_field(last, "role") == Some("user")
        && let Some(Value::Array(parts)) = last.get_mut("content")
    {
        parts.extend(kept);
        return;
    }
    set(&mut message, "content", Value::Array(kept));
    after.push(message);
}

/// A cache mark of a result that went stays at its place.
fn mark_last(after: &mut [Value], mark: Value) {
    if let Some(last) = after.last_mut()
        && text_field(last, "role") == Some("user")
        && let Some(Value::Array(parts)) = last.get_mut("content")
        && let Some(part) = parts.last_mut()
    {
        set(part, "cache_control", mark);
    }
}

pub(crate) fn results(results: &[(Call, Rendered)]) -> Vec<Value> {
    let result = |(call, rendered): &(Call, Rendered)| {
        let mut block = json!({
            "type": "tool_result",
            "tool_use_id": call.id,
            "content": content(rendered, Form::Messages),
        });
        if rendered.is_error {
            set(&mut block, "is_error", Value::Bool(true));
        }
        block
    };
    if results.is_empty() {
        return Vec::new();
    }
    let blocks: Vec<Value> = results.iter().map(result).collect();
    vec![json!({"role": "user", "content": blocks})]
}
