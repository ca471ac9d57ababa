//! Answers of Chat Completions.

use serde_json::{Value, json};

use super::{Ids, MAX_CALLS, name, unreadable};
use crate::call::{Arguments, Call, CallForm};
use crate::parts::{set, take, text_field, words};
use crate::turn::{End, Turn, Unreadable};

pub(crate) fn read(answer: &mut Value) -> Result<Turn, Unreadable> {
    let choice = answer
        .get_mut("choices")
        .and_then(|choices| choices.get_mut(0))
        .ok_or_else(|| unreadable("it has no `choices`"))?;
    let end = match text_field(choice, "finish_reason") {
        Some("length") => End::Cut,
        Some("content_filter") => End::Filtered,
        _ => End::Done,
    };
    let message = choice
        .get_mut("message")
        .filter(|message| message.is_object())
        .ok_or_else(|| unreadable("its first choice has no `message`"))?;
    let calls = match message.get_mut("tool_calls") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(calls)) => {
            calls.truncate(MAX_CALLS);
            let mut ids = Ids::default();
            calls
                .iter_mut()
                .map(|call| read_call(call, &mut ids))
                .collect()
        }
        Some(_) => return Err(unreadable("`tool_calls` is no list")),
    };
    let text = match (words(message.get("content")), message.get("refusal")) {
        (text, Some(Value::String(refusal))) if text.is_empty() => refusal.clone(),
        (text, _) => text,
    };
    Ok(Turn {
        text,
        calls,
        foreign: Vec::new(),
        end,
    })
}

fn read_call(entry: &mut Value, ids: &mut Ids) -> Call {
    let id = ids.take(text_field(entry, "id"), "call");
    if !entry.is_object() {
        *entry = json!({});
    }
    set(entry, "id", Value::from(id.as_str()));
    let custom = text_field(entry, "type") == Some("custom");
    if custom {
        let inner = entry.get("custom").cloned().unwrap_or_default();
        let arguments = Arguments::free_text(inner.get("input"));
        let mut call = Call::new(id, name(inner.get("name")), arguments);
        call.form = CallForm::Custom;
        return call;
    }
    if entry.get("type").is_none() {
        set(entry, "type", Value::from("function"));
    }
    let inner = entry.get("function").cloned().unwrap_or_default();
    let call = Call::new(
        id,
        name(inner.get("name")),
        Arguments::read(inner.get("arguments")),
    );
    // Some providers refuse a history with arguments that are no JSON text.
    let readable = matches!(inner.get("arguments"), Some(Value::String(text)) if !text.is_empty());
    if !readable || matches!(call.arguments, Arguments::Unreadable { .. }) {
        let mut inner = inner;
        if !inner.is_object() {
            inner = json!({});
        }
        set(&mut inner, "name", Value::from(call.name.as_str()));
        set(&mut inner, "arguments", Value::from(call.arguments_text()));
        set(entry, "function", inner);
    }
    call
}

pub(crate) fn entries(answer: &Value) -> Vec<Value> {
    answer
        .pointer("/choices/0/message")
        .cloned()
        .into_iter()
        .collect()
}

pub(crate) fn compose(answer: &mut Value, turns: &[Value], calls: &[Call]) {
    let message = |turn: &Value| turn.pointer("/choices/0/message").cloned();
    let earlier: String = turns[..turns.len() - 1]
        .iter()
        .filter_map(|turn| message(turn).map(|message| words(message.get("content"))))
        .collect();
    let Some(choice) = answer.get_mut("choices").and_then(|list| list.get_mut(0)) else {
        return;
    };
    let cut = matches!(
        text_field(choice, "finish_reason"),
        Some("length" | "content_filter")
    );
    if !calls.is_empty() {
        set(choice, "finish_reason", Value::from("tool_calls"));
    } else if !cut {
        set(choice, "finish_reason", Value::from("stop"));
    }
    let Some(message) = choice.get_mut("message") else {
        return;
    };
    if !earlier.is_empty() {
        let text = earlier + &words(message.get("content"));
        set(message, "content", Value::from(text));
    } else if calls.is_empty() && message.get("content").is_none_or(Value::is_null) {
        // Without calls a client expects words, even none.
        let refused = message.get("refusal").is_some_and(Value::is_string);
        if !refused {
            set(message, "content", Value::from(""));
        }
    }
    if calls.is_empty() {
        if let Value::Object(fields) = message {
            take(fields, "tool_calls");
        }
    } else {
        set(
            message,
            "tool_calls",
            calls.iter().map(call_entry).collect(),
        );
    }
}

/// A call as a client is handed it.
pub(crate) fn call_entry(call: &Call) -> Value {
    match call.form {
        CallForm::Custom => json!({
            "id": call.id,
            "type": "custom",
            "custom": {"name": call.name, "input": call.arguments_text()},
        }),
        _ => json!({
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments_text()},
        }),
    }
}
