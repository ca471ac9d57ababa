//! Answers: what all three dialects have in common. Each module beside this one knows one of them.

pub(crate) mod chat;
pub(crate) mod messages;
pub(crate) mod responses;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::call::Call;
use crate::dialect::Dialect;
use crate::turn::Unreadable;
use crate::usage::add_usage;

/// Most calls of one turn that are read; what is beyond is taken out.
pub(crate) const MAX_CALLS: usize = 128;
const MAX_ID_CHARS: usize = 200;
const MAX_NAME_CHARS: usize = 400;

/// Gives every call of a turn an id of its own.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    taken: BTreeSet<String>,
}

impl Ids {
    pub(crate) fn take(&mut self, own: Option<&str>, prefix: &str) -> String {
        let mut id: String = own.unwrap_or_default().chars().take(MAX_ID_CHARS).collect();
        while id.is_empty() || self.taken.contains(&id) {
            id = format!("{prefix}_{}_{}", self.taken.len(), id.len());
        }
        self.taken.insert(id.clone());
        id
    }
}

pub(crate) fn name(value: Option<&Value>) -> String {
    let name = value.and_then(Value::as_str).unwrap_or_default();
    name.chars().take(MAX_NAME_CHARS).collect()
}

pub(crate) fn unreadable(what: &str) -> Unreadable {
    Unreadable(what.to_owned())
}

pub(crate) fn compose(
    dialect: Dialect,
    turns: &[Value],
    calls: &[Call],
) -> Result<Value, Unreadable> {
    let Some(last) = turns.last() else {
        return Err(unreadable("there was no turn"));
    };
    let mut usage = Value::Null;
    for turn in turns {
        add_usage(&mut usage, &dialect.usage(turn));
    }
    let mut answer = last.clone();
    match dialect {
        Dialect::OpenAiChat => chat::compose(&mut answer, turns, calls),
        Dialect::OpenAiResponses => responses::compose(&mut answer, turns, calls),
        Dialect::AnthropicMessages => messages::compose(&mut answer, turns, calls),
    }
    if !usage.is_null()
        && let Value::Object(fields) = &mut answer
    {
        fields.insert("usage".to_owned(), usage);
    }
    Ok(answer)
}

pub(crate) fn blank(dialect: Dialect, id: &str, model: &str, created: u64) -> Value {
    match dialect {
        Dialect::OpenAiChat => json!({
            "id": id,
            "object": "chat.completion",
            "created": created,
            "model": model,
            "choices": [{
                "index": 0,
                "message": {"role": "assistant", "content": null},
                "finish_reason": "stop",
            }],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }),
        Dialect::OpenAiResponses => json!({
            "id": id,
            "object": "response",
            "created_at": created,
            "status": "completed",
            "error": null,
            "incomplete_details": null,
            "instructions": null,
            "metadata": {},
            "model": model,
            "output": [],
            "parallel_tool_calls": true,
            "temperature": null,
            "tool_choice": "auto",
            "tools": [],
            "top_p": null,
            "usage": {
                "input_tokens": 0,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": 0,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 0,
            },
        }),
        Dialect::AnthropicMessages => json!({
            "id": id,
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": [],
            "stop_reason": "end_turn",
            "stop_sequence": null,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }),
    }
}
