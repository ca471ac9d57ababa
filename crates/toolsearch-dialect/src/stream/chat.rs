//! Streams of Chat Completions.

use serde_json::{Map, Value, json};

use super::fragments::Fragments;
use super::{Budget, StreamFault, failed, parse};
use crate::answer::chat::call_entry;
use crate::call::Call;
use crate::parts::{set, take};
use crate::sse::SseEvent;

const DONE: &str = "[DONE]";
/// Fields of a delta that are said once and not grown.
const WHOLE: [&str; 4] = ["role", "id", "type", "name"];

#[derive(Debug, Default)]
pub(crate) struct Stream {
    /// Fields of the first chunk that all others of a client's stream repeat.
    base: Map<String, Value>,
    turns: usize,
    turn: Turn,
}

#[derive(Debug, Default)]
struct Turn {
    top: Map<String, Value>,
    choice: Map<String, Value>,
    message: Map<String, Value>,
    calls: Fragments,
    done: bool,
    budget: Budget,
}

impl Stream {
    pub(crate) fn ended(&self) -> bool {
        self.turn.done
    }

    pub(crate) fn begin(&mut self, blank: &Value) -> Vec<SseEvent> {
        self.base = base(blank);
        let kind = json!("chat.completion.chunk");
        self.base.insert("object".to_owned(), kind);
        let mut chunk = self.base.clone();
        let delta = json!({"role": "assistant", "content": ""});
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        chunk.insert("choices".to_owned(), json!([choice]));
        vec![SseEvent::data(Value::Object(chunk).to_string())]
    }

    pub(crate) fn event(&mut self, event: &SseEvent) -> Result<Vec<SseEvent>, StreamFault> {
        if event.data.trim() == DONE {
            self.turn.done = true;
            return Ok(Vec::new());
        }
        self.turn.budget.take(event)?;
        let mut chunk = parse(event)?;
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            return Err(failed(&chunk, event));
        }
        if self.base.is_empty() {
            self.base = base(&chunk);
        }
        self.turn.take(&chunk);
        let first = self.turns == 0;
        match strip(&mut chunk, first) {
            Shown::Nothing => Ok(Vec::new()),
            Shown::AsItCame if first => Ok(vec![event.clone()]),
            _ => {
                for name in ["id", "created", "model"] {
                    if let Some(value) = self.base.get(name) {
                        set(&mut chunk, name, value.clone());
                    }
                }
                Ok(vec![SseEvent::data(chunk.to_string())])
            }
        }
    }

    pub(crate) fn turn(&mut self) -> Result<Value, StreamFault> {
        if !self.turn.done && !self.turn.choice.contains_key("finish_reason") {
            return Err(StreamFault::Incomplete);
        }
        self.turns += 1;
        Ok(std::mem::take(&mut self.turn).answer())
    }

    pub(crate) fn finish(&mut self, composed: &Value, calls: &[Call]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        let mut send = |delta: Value, reason: Value| {
            let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
            let mut chunk = self.base.clone();
            chunk.insert("choices".to_owned(), json!([choice]));
            events.push(SseEvent::data(Value::Object(chunk).to_string()));
        };
        if !calls.is_empty() {
            let entries: Vec<Value> = calls
                .iter()
                .enumerate()
                .map(|(index, call)| {
                    let mut entry = json!({ "index": index });
                    if let (Value::Object(to), Value::Object(from)) = (&mut entry, call_entry(call))
                    {
                        to.extend(from);
                    }
                    entry
                })
                .collect();
            send(json!({ "tool_calls": entries }), Value::Null);
        }
        let reason = composed.pointer("/choices/0/finish_reason");
        send(json!({}), reason.cloned().unwrap_or_else(|| json!("stop")));
        if let Some(usage) = composed.get("usage").filter(|usage| !usage.is_null()) {
            let mut chunk = self.base.clone();
            chunk.insert("choices".to_owned(), json!([]));
            chunk.insert("usage".to_owned(), usage.clone());
            events.push(SseEvent::data(Value::Object(chunk).to_string()));
        }
        events.push(SseEvent::data(DONE));
        events
    }
}

fn base(chunk: &Value) -> Map<String, Value> {
    let mut base = chunk.as_object().cloned().unwrap_or_default();
    for name in ["choices", "usage"] {
        take(&mut base, name);
    }
    base
}

enum Shown {
    AsItCame,
    Changed,
    Nothing,
}

/// Takes out what is held back. Only the first choice is anyone's.
fn strip(chunk: &mut Value, first: bool) -> Shown {
    let mut changed = false;
    let mut shows = false;
    if let Value::Object(fields) = chunk
        && let Some(usage) = fields.get_mut("usage")
        && !usage.is_null()
    {
        *usage = Value::Null;
        changed = true;
    }
    let choice = chunk.get_mut("choices").and_then(|list| list.get_mut(0));
    if let Some(Value::Object(choice)) = choice {
        if let Some(reason) = choice.get_mut("finish_reason")
            && !reason.is_null()
        {
            *reason = Value::Null;
            changed = true;
        }
        if let Some(Value::Object(delta)) = choice.get_mut("delta") {
            changed |= take(delta, "tool_calls").is_some();
            let role_again = !first && take(delta, "role").is_some();
            changed |= role_again;
            let says = |value: &Value| !value.is_null() && value.as_str() != Some("");
            shows = delta
                .iter()
                .any(|(name, value)| says(value) && (first || name != "role"));
        }
    }
    match (shows, changed) {
        (false, _) => Shown::Nothing,
        (true, false) => Shown::AsItCame,
        (true, true) => Shown::Changed,
    }
}

impl Turn {
    fn take(&mut self, chunk: &Value) {
        let Value::Object(fields) = chunk else { return };
        for (name, value) in fields {
            match name.as_str() {
                "choices" => {}
                "usage" if value.is_null() => {}
                _ => {
                    self.top.insert(name.clone(), value.clone());
                }
            }
        }
        let choice = fields.get("choices").and_then(|list| list.get(0));
        let Some(Value::Object(choice)) = choice else {
            return;
        };
        for (name, value) in choice {
            match name.as_str() {
                "delta" => self.delta(value),
                _ if value.is_null() && self.choice.contains_key(name) => {}
                "finish_reason" if value.is_null() => {}
                _ => merge(&mut self.choice, name, value),
            }
        }
    }

    fn delta(&mut self, delta: &Value) {
        let Value::Object(fields) = delta else { return };
        for (name, value) in fields {
            match (name.as_str(), value) {
                ("tool_calls", Value::Array(pieces)) => {
                    pieces.iter().for_each(|piece| self.calls.take(piece));
                }
                ("tool_calls", _) => {}
                _ => merge(&mut self.message, name, value),
            }
        }
    }

    fn answer(mut self) -> Value {
        let mut message = Map::new();
        let role = take(&mut self.message, "role").filter(|role| !role.is_null());
        message.insert(
            "role".to_owned(),
            role.unwrap_or_else(|| json!("assistant")),
        );
        let content = take(&mut self.message, "content").unwrap_or_default();
        message.insert("content".to_owned(), content);
        message.extend(self.message);
        if !self.calls.is_empty() {
            message.insert("tool_calls".to_owned(), self.calls.into_calls().into());
        }
        let mut choice = Map::new();
        choice.insert("index".to_owned(), json!(0));
        choice.insert("message".to_owned(), Value::Object(message));
        choice.extend(self.choice);
        let mut answer = self.top;
        answer.insert("object".to_owned(), json!("chat.completion"));
        answer.insert("choices".to_owned(), json!([choice]));
        Value::Object(answer)
    }
}

/// Texts grow, lists are joined, the rest is taken as it comes last.
fn merge(into: &mut Map<String, Value>, name: &str, value: &Value) {
    match (into.get_mut(name), value) {
        (Some(Value::String(have)), Value::String(more)) if !WHOLE.contains(&name) => {
            have.push_str(more);
        }
        (Some(Value::Array(have)), Value::Array(more)) => have.extend(more.iter().cloned()),
        (Some(Value::Object(have)), Value::Object(more)) => {
            for (name, value) in more {
                merge(have, name, value);
            }
        }
        (Some(have), Value::Null) if !have.is_null() => {}
        _ => {
            into.insert(name.to_owned(), value.clone());
        }
    }
}
