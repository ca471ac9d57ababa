//! Streams of Responses.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{Budget, StreamFault, failed, parse};
use crate::answer::responses::call_entry;
use crate::call::{Call, CallForm};
use crate::parts::{set, text_field};
use crate::refusal::Refusal;
use crate::sse::SseEvent;

/// Most output items of one turn.
const MAX_ITEMS: usize = 1_000;

#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) echo: Map<String, Value>,
    /// Whether a turn has ended: the client knows that its response began.
    later: bool,
    /// Number of the next event of the client's stream.
    sequence: u64,
    /// Place of the next item of the client's output.
    next: u64,
    turn: Turn,
}

#[derive(Debug, Default)]
struct Turn {
    /// Where an item of the provider's output stands in the client's; none while it is held back.
    places: BTreeMap<u64, Option<u64>>,
    items: BTreeMap<u64, Value>,
    response: Option<Value>,
    budget: Budget,
}

impl Stream {
    pub(crate) const fn ended(&self) -> bool {
        self.turn.response.is_some()
    }

    pub(crate) fn begin(&mut self, blank: &Value) -> Vec<SseEvent> {
        self.later = true;
        let mut response = blank.clone();
        set(&mut response, "status", Value::from("in_progress"));
        set(&mut response, "usage", Value::Null);
        let mut events = Vec::new();
        for kind in ["response.created", "response.in_progress"] {
            let mut event = json!({"type": kind, "response": response});
            self.overlay(&mut event);
            self.number(&mut event);
            events.push(SseEvent::named(kind, event.to_string()));
        }
        events
    }

    pub(crate) fn event(&mut self, event: &SseEvent) -> Result<Vec<SseEvent>, StreamFault> {
        if event.data.trim() == "[DONE]" {
            return Ok(Vec::new());
        }
        self.turn.budget.take(event)?;
        let mut value = parse(event)?;
        let kind = text_field(&value, "type").unwrap_or_default().to_owned();
        match kind.as_str() {
            "error" | "response.failed" => {
                self.number(&mut value);
                let shown = SseEvent::named(kind, value.to_string());
                return Err(failed(&value, &shown));
            }
            "response.completed" | "response.incomplete" | "response.cancelled" => {
                self.turn.response = value.get("response").cloned();
                self.turn
                    .response
                    .get_or_insert_with(|| json!({"status": "completed", "output": []}));
                return Ok(Vec::new());
            }
            "response.created" | "response.in_progress" | "response.queued" => {
                if self.later {
                    return Ok(Vec::new());
                }
                self.overlay(&mut value);
            }
            _ => {
                if !self.place(&kind, &mut value)? {
                    return Ok(Vec::new());
                }
            }
        }
        self.number(&mut value);
        Ok(vec![SseEvent::named(kind, value.to_string())])
    }

    fn number(&mut self, value: &mut Value) {
        set(value, "sequence_number", Value::from(self.sequence));
        self.sequence += 1;
    }

    fn overlay(&self, event: &mut Value) {
        if let Some(response) = event.get_mut("response") {
            for (name, field) in &self.echo {
                set(response, name, field.clone());
            }
        }
    }

    /// Puts an event to its place in the client's output; false when it is held back.
    fn place(&mut self, kind: &str, value: &mut Value) -> Result<bool, StreamFault> {
        let Some(index) = value.get("output_index").and_then(Value::as_u64) else {
            return Ok(true);
        };
        if kind == "response.output_item.added" {
            if self.turn.places.len() >= MAX_ITEMS {
                return Err(StreamFault::TooLarge);
            }
            let held = value.get("item").is_some_and(is_call);
            let place = (!held).then_some(self.next);
            self.next += u64::from(!held);
            self.turn.places.insert(index, place);
        }
        if kind == "response.output_item.done"
            && let Some(item) = value.get("item")
        {
            self.turn.items.insert(index, item.clone());
        }
        let Some(Some(place)) = self.turn.places.get(&index) else {
            return Ok(false);
        };
        set(value, "output_index", Value::from(*place));
        Ok(true)
    }

    pub(crate) fn turn(&mut self) -> Result<Value, StreamFault> {
        let turn = std::mem::take(&mut self.turn);
        self.later = true;
        let mut response = turn.response.ok_or(StreamFault::Incomplete)?;
        let output = response.get("output").and_then(Value::as_array);
        if output.is_none_or(Vec::is_empty) && !turn.items.is_empty() {
            let items = turn.items.into_values().collect();
            set(&mut response, "output", Value::Array(items));
        }
        Ok(response)
    }

    pub(crate) fn finish(&mut self, composed: &Value, calls: &[Call]) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for call in calls {
            let place = self.next;
            self.next += 1;
            for (kind, mut value) in call_events(call, place) {
                set(&mut value, "type", Value::from(kind));
                self.number(&mut value);
                events.push(SseEvent::named(kind, value.to_string()));
            }
        }
        let kind = match text_field(composed, "status") {
            Some("incomplete") => "response.incomplete",
            _ => "response.completed",
        };
        let mut last = json!({"type": kind, "response": composed});
        self.overlay(&mut last);
        self.number(&mut last);
        events.push(SseEvent::named(kind, last.to_string()));
        events
    }

    pub(crate) fn refuse(&self, refusal: &Refusal) -> Vec<SseEvent> {
        let event = json!({
            "type": "error",
            "code": refusal.code,
            "message": refusal.message,
            "param": refusal.param,
            "sequence_number": self.sequence,
        });
        vec![SseEvent::named("error", event.to_string())]
    }
}

fn is_call(item: &Value) -> bool {
    matches!(
        text_field(item, "type"),
        Some("function_call" | "custom_tool_call")
    )
}

/// The events that hand out one call.
fn call_events(call: &Call, place: u64) -> Vec<(&'static str, Value)> {
    let done = call_entry(call);
    let id = done.get("id").cloned().unwrap_or_default();
    let mut begun = done.clone();
    set(&mut begun, "status", Value::from("in_progress"));
    let (field, delta, ready) = match call.form {
        CallForm::Function => (
            "arguments",
            "response.function_call_arguments.delta",
            "response.function_call_arguments.done",
        ),
        CallForm::Custom => (
            "input",
            "response.custom_tool_call_input.delta",
            "response.custom_tool_call_input.done",
        ),
        CallForm::ToolSearch => ("", "", ""),
    };
    let mut events = Vec::new();
    if !field.is_empty() {
        set(&mut begun, field, Value::from(""));
    }
    events.push((
        "response.output_item.added",
        json!({"type": "", "output_index": place, "item": begun}),
    ));
    if !field.is_empty() {
        let text = call.arguments_text();
        events.push((
            delta,
            json!({"type": "", "item_id": id, "output_index": place, "delta": text}),
        ));
        let mut whole = json!({"type": "", "item_id": id, "output_index": place});
        if call.form == CallForm::Function {
            set(&mut whole, "name", Value::from(call.name.as_str()));
        }
        set(&mut whole, field, Value::from(text));
        events.push((ready, whole));
    }
    events.push((
        "response.output_item.done",
        json!({"type": "", "output_index": place, "item": done}),
    ));
    events
}
