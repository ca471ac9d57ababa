//! Streams of Messages.

use serde_json::{Map, Value, json};

use super::{Budget, StreamFault, failed, parse};
use crate::answer::MAX_CALLS;
use crate::call::Call;
use crate::parts::{set, take, text_field};
use crate::sse::SseEvent;

/// Most content blocks of one turn.
const MAX_BLOCKS: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Stream {
    begun: bool,
    /// The number of the next block of the client's stream.
    next: u64,
    turn: Turn,
}

#[derive(Debug, Default)]
struct Turn {
    message: Map<String, Value>,
    blocks: Vec<Block>,
    done: bool,
    budget: Budget,
}

#[derive(Debug)]
struct Block {
    index: u64,
    value: Value,
    /// Arguments so far, as text.
    json: String,
    /// Its number in the client's stream; none while it is held back.
    shown: Option<u64>,
}

impl Stream {
    pub(crate) fn ended(&self) -> bool {
        self.turn.done
    }

    pub(crate) fn begin(&mut self, blank: &Value) -> Vec<SseEvent> {
        self.begun = true;
        let mut message = blank.clone();
        set(&mut message, "stop_reason", Value::Null);
        let event = json!({"type": "message_start", "message": message});
        vec![SseEvent::named("message_start", event.to_string())]
    }

    pub(crate) fn event(&mut self, event: &SseEvent) -> Result<Vec<SseEvent>, StreamFault> {
        self.turn.budget.take(event)?;
        let mut value = parse(event)?;
        let kind = text_field(&value, "type").unwrap_or_default().to_owned();
        let shown = match kind.as_str() {
            "error" => return Err(failed(&value, event)),
            "message_start" => {
                self.turn.start(&value);
                if std::mem::replace(&mut self.begun, true) {
                    return Ok(Vec::new());
                }
                return Ok(vec![event.clone()]);
            }
            "message_delta" => {
                self.turn.end(&value);
                return Ok(Vec::new());
            }
            "message_stop" => {
                self.turn.done = true;
                return Ok(Vec::new());
            }
            "content_block_start" => self.block(&value)?,
            "content_block_delta" | "content_block_stop" => self.turn.grow(&kind, &value),
            _ => return Ok(vec![event.clone()]),
        };
        let Some(number) = shown else {
            return Ok(Vec::new());
        };
        if value.get("index").and_then(Value::as_u64) == Some(number) {
            return Ok(vec![event.clone()]);
        }
        set(&mut value, "index", Value::from(number));
        Ok(vec![SseEvent::named(kind, value.to_string())])
    }

    fn block(&mut self, event: &Value) -> Result<Option<u64>, StreamFault> {
        if self.turn.blocks.len() >= MAX_BLOCKS {
            return Err(StreamFault::TooLarge);
        }
        let value = event.get("content_block").cloned().unwrap_or_default();
        let held = text_field(&value, "type") == Some("tool_use");
        let shown = (!held).then_some(self.next);
        self.next += u64::from(!held);
        self.turn.blocks.push(Block {
            index: event.get("index").and_then(Value::as_u64).unwrap_or(0),
            value,
            json: String::new(),
            shown,
        });
        Ok(shown)
    }

    pub(crate) fn turn(&mut self) -> Result<Value, StreamFault> {
        if !self.turn.done && !self.turn.message.contains_key("stop_reason") {
            return Err(StreamFault::Incomplete);
        }
        Ok(std::mem::take(&mut self.turn).answer())
    }

    pub(crate) fn finish(&mut self, composed: &Value, calls: &[Call]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        let mut send = |kind: &str, mut value: Value| {
            set(&mut value, "type", Value::from(kind));
            events.push(SseEvent::named(kind, value.to_string()));
        };
        for call in calls.iter().take(MAX_CALLS) {
            let index = self.next;
            self.next += 1;
            let block = json!({
                "type": "tool_use", "id": call.id, "name": call.name, "input": {},
            });
            let delta = json!({"type": "input_json_delta", "partial_json": call.arguments_text()});
            send(
                "content_block_start",
                json!({"type": "", "index": index, "content_block": block}),
            );
            send(
                "content_block_delta",
                json!({"type": "", "index": index, "delta": delta}),
            );
            send("content_block_stop", json!({"type": "", "index": index}));
        }
        let mut delta = Map::new();
        for name in ["stop_reason", "stop_sequence", "stop_details", "container"] {
            if let Some(value) = composed.get(name) {
                delta.insert(name.to_owned(), value.clone());
            }
        }
        let usage = composed.get("usage").cloned();
        send(
            "message_delta",
            json!({"type": "", "delta": delta, "usage": usage.unwrap_or_else(|| json!({}))}),
        );
        send("message_stop", json!({"type": ""}));
        events
    }
}

impl Turn {
    fn start(&mut self, event: &Value) {
        if let Some(Value::Object(message)) = event.get("message") {
            self.message.clone_from(message);
            // It is there from the beginning and says nothing.
            take(&mut self.message, "stop_reason");
        }
    }

    fn end(&mut self, event: &Value) {
        if let Some(Value::Object(delta)) = event.get("delta") {
            let said = delta
                .iter()
                .map(|(name, value)| (name.clone(), value.clone()));
            self.message.extend(said);
        }
        // Counts are of the whole turn, so the last ones hold.
        if let Some(Value::Object(more)) = event.get("usage") {
            let usage = self.message.entry("usage").or_insert_with(|| json!({}));
            for (name, value) in more.iter().filter(|(_, value)| !value.is_null()) {
                set(usage, name, value.clone());
            }
        }
    }

    fn grow(&mut self, kind: &str, event: &Value) -> Option<u64> {
        let index = event.get("index").and_then(Value::as_u64).unwrap_or(0);
        let block = self.blocks.iter_mut().rfind(|block| block.index == index)?;
        if kind == "content_block_delta"
            && let Some(delta) = event.get("delta")
        {
            block.grow(delta);
        }
        block.shown
    }

    fn answer(self) -> Value {
        let mut message = self.message;
        let blocks = self.blocks.into_iter().map(Block::finished).collect();
        message.insert("content".to_owned(), Value::Array(blocks));
        message.entry("stop_reason").or_insert(Value::Null);
        Value::Object(message)
    }
}

impl Block {
    /// A delta names the field that it grows by what it carries.
    fn grow(&mut self, delta: &Value) {
        let Value::Object(fields) = delta else { return };
        for (name, more) in fields {
            match (name.as_str(), more) {
                ("type", _) => {}
                ("partial_json", Value::String(text)) => self.json.push_str(text),
                ("citation", citation) => {
                    let mut all = match self.value.get_mut("citations").map(Value::take) {
                        Some(Value::Array(all)) => all,
                        _ => Vec::new(),
                    };
                    all.push(citation.clone());
                    set(&mut self.value, "citations", Value::Array(all));
                }
                (_, Value::String(text)) => {
                    let have = text_field(&self.value, name).unwrap_or_default();
                    let grown = have.to_owned() + text;
                    set(&mut self.value, name, Value::from(grown));
                }
                _ => set(&mut self.value, name, more.clone()),
            }
        }
    }

    fn finished(mut self) -> Value {
        if !self.json.trim().is_empty() {
            // What is no JSON stays text, so that whoever reads the call sees it.
            let input = serde_json::from_str(&self.json).unwrap_or(Value::String(self.json));
            set(&mut self.value, "input", input);
        }
        self.value
    }
}
