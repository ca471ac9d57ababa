//! Answers of Responses.

use serde_json::{Value, json};

use super::{Ids, MAX_CALLS, name, unreadable};
use crate::call::{Arguments, Call, CallForm};
use crate::parts::{set, text_field, words};
use crate::turn::{End, Turn, Unreadable};

/// Calls that the client has to run and that are neither functions nor free text.
const FOREIGN: [&str; 6] = [
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "tool_search_call",
    "mcp_approval_request",
];

pub(crate) fn read(answer: &mut Value) -> Result<Turn, Unreadable> {
    let status = text_field(answer, "status").unwrap_or_default();
    let reason = answer.pointer("/incomplete_details/reason");
    let end = match (status, reason.and_then(Value::as_str)) {
        ("incomplete", Some("content_filter")) => End::Filtered,
        ("incomplete", _) => End::Cut,
        _ => End::Done,
    };
    let Some(Value::Array(items)) = answer.get_mut("output") else {
        return Err(unreadable("its `output` is no list"));
    };
    let mut turn = Turn {
        end,
        ..Turn::default()
    };
    let mut ids = Ids::default();
    items.retain_mut(|item| {
        if is_call(item) {
            let room = turn.calls.len() < MAX_CALLS;
            if room {
                turn.calls.push(read_call(item, &mut ids));
            }
            return room;
        }
        if is_foreign(item) {
            let id = text_field(item, "call_id").or_else(|| text_field(item, "id"));
            turn.foreign.push(id.unwrap_or_default().to_owned());
        } else if text_field(item, "type") == Some("message") {
            turn.text.push_str(&words(item.get("content")));
        }
        true
    });
    Ok(turn)
}

fn is_call(item: &Value) -> bool {
    matches!(
        text_field(item, "type"),
        Some("function_call" | "custom_tool_call")
    )
}

/// Whether only the client can go on with an item.
fn is_foreign(item: &Value) -> bool {
    let kind = text_field(item, "type").unwrap_or_default();
    let by_provider = text_field(item, "execution") == Some("server");
    FOREIGN.contains(&kind) && !by_provider
}

fn read_call(item: &mut Value, ids: &mut Ids) -> Call {
    let id = ids.take(text_field(item, "call_id"), "call");
    set(item, "call_id", Value::from(id.as_str()));
    let custom = text_field(item, "type") == Some("custom_tool_call");
    let arguments = if custom {
        Arguments::free_text(item.get("input"))
    } else {
        Arguments::read(item.get("arguments"))
    };
    let mut call = Call::new(id, name(item.get("name")), arguments);
    call.namespace = text_field(item, "namespace").map(str::to_owned);
    if custom {
        call.form = CallForm::Custom;
        return call;
    }
    let readable = matches!(item.get("arguments"), Some(Value::String(text)) if !text.is_empty());
    if !readable || matches!(call.arguments, Arguments::Unreadable { .. }) {
        set(item, "arguments", Value::from(call.arguments_text()));
    }
    call
}

pub(crate) fn entries(answer: &Value) -> Vec<Value> {
    let items = answer.get("output").and_then(Value::as_array);
    items.cloned().unwrap_or_default()
}

pub(crate) fn compose(answer: &mut Value, turns: &[Value], calls: &[Call]) {
    let mut output: Vec<Value> = Vec::new();
    for turn in turns {
        output.extend(entries(turn).into_iter().filter(|item| !is_call(item)));
    }
    output.extend(calls.iter().map(call_entry));
    set(answer, "output", Value::Array(output));
}

/// A call as a client is handed it.
pub(crate) fn call_entry(call: &Call) -> Value {
    let id = |prefix: &str| format!("{prefix}_{}", call.id);
    let mut entry = match call.form {
        CallForm::Function => json!({
            "type": "function_call",
            "id": id("fc"),
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments_text(),
            "status": "completed",
        }),
        CallForm::Custom => json!({
            "type": "custom_tool_call",
            "id": id("ctc"),
            "call_id": call.id,
            "name": call.name,
            "input": call.arguments_text(),
            "status": "completed",
        }),
        CallForm::ToolSearch => json!({
            "type": "tool_search_call",
            "id": id("ts"),
            "call_id": call.id,
            "execution": "client",
            "arguments": call.arguments_object(),
            "status": "completed",
        }),
    };
    if let Some(namespace) = &call.namespace {
        set(&mut entry, "namespace", Value::from(namespace.as_str()));
    }
    entry
}
