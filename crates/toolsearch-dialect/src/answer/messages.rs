//! Answers of Messages.

use serde_json::{Value, json};

use super::{Ids, MAX_CALLS, name, unreadable};
use crate::call::{Arguments, Call};
use crate::parts::{set, text_field, words};
use crate::turn::{End, Turn, Unreadable};

pub(crate) fn read(answer: &mut Value) -> Result<Turn, Unreadable> {
    let end = match text_field(answer, "stop_reason") {
        Some("max_tokens" | "model_context_window_exceeded") => End::Cut,
        Some("refusal") => End::Filtered,
        _ => End::Done,
    };
    let Some(Value::Array(blocks)) = answer.get_mut("content") else {
        return Err(unreadable("its `content` is no list"));
    };
    let mut ids = Ids::default();
    let mut calls = Vec::new();
    blocks.retain_mut(|block| {
        if !is_call(block) {
            return true;
        }
        if calls.len() == MAX_CALLS {
            return false;
        }
        let id = ids.take(text_field(block, "id"), "toolu");
        set(block, "id", Value::from(id.as_str()));
        let arguments = Arguments::read(block.get("input"));
        let call = Call::new(id, name(block.get("name")), arguments);
        if !block.get("input").is_some_and(Value::is_object) {
            set(block, "input", call.arguments_object());
        }
        calls.push(call);
        true
    });
    Ok(Turn {
        text: words(answer.get("content")),
        calls,
        foreign: Vec::new(),
        end,
    })
}

fn is_call(block: &Value) -> bool {
    text_field(block, "type") == Some("tool_use")
}

pub(crate) fn entries(answer: &Value) -> Vec<Value> {
    let content = answer.get("content").cloned().unwrap_or_default();
    vec![json!({"role": "assistant", "content": content})]
}

pub(crate) fn compose(answer: &mut Value, turns: &[Value], calls: &[Call]) {
    let mut content: Vec<Value> = Vec::new();
    for turn in turns {
        let blocks = turn.get("content").and_then(Value::as_array);
        content.extend(
            blocks
                .into_iter()
                .flatten()
                .filter(|b| !is_call(b))
                .cloned(),
        );
    }
    content.extend(calls.iter().map(call_entry));
    set(answer, "content", Value::Array(content));
    if !calls.is_empty() {
        set(answer, "stop_reason", Value::from("tool_use"));
    } else if text_field(answer, "stop_reason") == Some("tool_use") {
        set(answer, "stop_reason", Value::from("end_turn"));
    }
}

/// A call as a client is handed it.
pub(crate) fn call_entry(call: &Call) -> Value {
    json!({
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "input": call.arguments_object(),
    })
}
