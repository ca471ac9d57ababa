//! The three wire forms as a provider writes them.

use serde_json::{Map, Value, json};

use super::{Asked, Said};

/// Characters of one piece of a stream.
const PIECE_CHARS: usize = 7;

/// A wire form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Chat Completions.
    Chat,
    /// Responses.
    Responses,
    /// Messages.
    Messages,
}

impl Wire {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Responses, Self::Messages];

    pub(super) fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next()?;
        Self::ALL
            .into_iter()
            .find(|wire| path.ends_with(wire.path()))
    }

    /// The path below the version.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/chat/completions",
            Self::Responses => "/responses",
            Self::Messages => "/messages",
        }
    }
}

pub(super) fn declared(body: &Value) -> Vec<String> {
    let tools = body["tools"].as_array();
    let name = |tool: &Value| {
        let inner = ["/function/name", "/custom/name", "/name", "/type"];
        let found = inner.iter().find_map(|place| tool.pointer(place)?.as_str());
        found.unwrap_or_default().to_owned()
    };
    tools.into_iter().flatten().map(name).collect()
}

/// The results of calls in a history, as text, in order.
#[must_use]
pub fn results(wire: Wire, body: &Value) -> Vec<String> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let list = |name: &str| body[name].as_array().cloned().unwrap_or_default();
    match wire {
        Wire::Chat => list("messages")
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| text(&message["content"]))
            .collect(),
        Wire::Responses => list("input")
            .iter()
            .filter(|item| {
                item["type"]
                    .as_str()
                    .is_some_and(|k| k.ends_with("_call_output"))
            })
            .map(|item| text(&item["output"]))
            .collect(),
        Wire::Messages => list("messages")
            .iter()
            .flat_map(|message| message["content"].as_array().cloned().unwrap_or_default())
            .filter(|block| block["type"] == "tool_result")
            .map(|block| text(&block["content"]))
            .collect(),
    }
}

pub(super) fn answer(wire: Wire, asked: &Asked, said: &Said) -> Value {
    let model = asked.body["model"].clone();
    match wire {
        Wire::Chat => {
            let mut message = json!({"role": "assistant", "content": said.text});
            if !said.calls.is_empty() {
                message["tool_calls"] = said
                    .calls
                    .iter()
                    .map(|(id, name, args)| {
                        json!({"id": id, "type": "function",
                               "function": {"name": name, "arguments": args}})
                    })
                    .collect();
            }
            let reason = if said.calls.is_empty() {
                "stop"
            } else {
                "tool_calls"
            };
            json!({
                "id": format!("chatcmpl-{}", asked.number), "object": "chat.completion",
                "created": 1_700_000_000, "model": model,
                "choices": [{"index": 0, "message": message, "finish_reason": reason,
                             "logprobs": null}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
            })
        }
        Wire::Responses => {
            let mut output = Vec::new();
            if !said.text.is_empty() {
                output.push(json!({
                    "type": "message", "id": format!("msg_{}", asked.number), "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": said.text, "annotations": []}],
                }));
            }
            output.extend(said.calls.iter().map(|(id, name, args)| {
                json!({"type": "function_call", "id": format!("fc_{}_{id}", asked.number),
                       "call_id": id, "name": name, "arguments": args, "status": "completed"})
            }));
            json!({
                "id": format!("resp_{}", asked.number), "object": "response",
                "created_at": 1_700_000_000, "status": "completed", "model": model,
                "error": null, "incomplete_details": null, "instructions": asked.body["instructions"],
                "metadata": {}, "parallel_tool_calls": true, "temperature": 1.0, "top_p": 1.0,
                "tool_choice": "auto", "tools": asked.body["tools"], "output": output,
                "usage": {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 0},
                          "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 0},
                          "total_tokens": 15},
            })
        }
        Wire::Messages => {
            let mut content = Vec::new();
            if !said.text.is_empty() {
                content.push(json!({"type": "text", "text": said.text}));
            }
            content.extend(said.calls.iter().map(|(id, name, args)| {
                let input: Value = serde_json::from_str(args).unwrap_or_default();
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }));
            let reason = if said.calls.is_empty() {
                "end_turn"
            } else {
                "tool_use"
            };
            json!({
                "id": format!("msg_{}", asked.number), "type": "message", "role": "assistant",
                "model": model, "content": content, "stop_reason": reason, "stop_sequence": null,
                "usage": {"input_tokens": 10, "output_tokens": 5},
            })
        }
    }
}

/// The events of the answer, each as it stands on the wire.
pub(super) fn stream(wire: Wire, asked: &Asked, said: &Said) -> Vec<String> {
    let whole = answer(wire, asked, said);
    match wire {
        Wire::Chat => chat(
            &whole,
            asked.body["stream_options"]["include_usage"] == true,
        ),
        Wire::Responses => responses(&whole),
        Wire::Messages => messages(&whole),
    }
}

fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let piece = |piece: &[char]| piece.iter().collect();
    characters.chunks(PIECE_CHARS).map(piece).collect()
}

fn chat(whole: &Value, usage: bool) -> Vec<String> {
    let event = |choices: Value, usage: Value| {
        let mut chunk = json!({
            "id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"],
            "model": whole["model"], "choices": choices,
        });
        if !usage.is_null() {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, reason: Value| {
        event(
            json!([{"index": 0, "delta": delta, "finish_reason": reason}]),
            Value::Null,
        )
    };
    let message = &whole["choices"][0]["message"];
    let mut events = vec![delta(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    for piece in pieces(message["content"].as_str().unwrap_or_default()) {
        events.push(delta(json!({"content": piece}), Value::Null));
    }
    let calls = message["tool_calls"].as_array();
    for (index, call) in calls.into_iter().flatten().enumerate() {
        let begun = json!({"index": index, "id": call["id"], "type": "function",
                           "function": {"name": call["function"]["name"], "arguments": ""}});
        events.push(delta(json!({"tool_calls": [begun]}), Value::Null));
        for piece in pieces(call["function"]["arguments"].as_str().unwrap_or_default()) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            events.push(delta(json!({"tool_calls": [more]}), Value::Null));
        }
    }
    events.push(delta(
        json!({}),
        whole["choices"][0]["finish_reason"].clone(),
    ));
    if usage {
        events.push(event(json!([]), whole["usage"].clone()));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn named(kind: &str, fields: Value, number: Option<usize>) -> String {
    let mut event = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    if let Value::Object(fields) = fields {
        event.extend(fields);
    }
    if let Some(number) = number {
        event.insert("sequence_number".to_owned(), Value::from(number));
    }
    format!("event: {kind}\ndata: {}\n\n", Value::Object(event))
}

fn responses(whole: &Value) -> Vec<String> {
    let mut events: Vec<String> = Vec::new();
    let mut begun = whole.clone();
    begun["output"] = json!([]);
    begun["status"] = json!("in_progress");
    begun["usage"] = Value::Null;
    let mut send = |kind: &str, fields: Value| {
        let number = events.len();
        events.push(named(kind, fields, Some(number)));
    };
    send("response.created", json!({"response": begun}));
    send("response.in_progress", json!({"response": begun}));
    let items = whole["output"].as_array();
    for (index, item) in items.into_iter().flatten().enumerate() {
        let mut empty = item.clone();
        empty["status"] = json!("in_progress");
        let id = item["id"].clone();
        if item["type"] == "message" {
            empty["content"] = json!([]);
            send(
                "response.output_item.added",
                json!({"output_index": index, "item": empty}),
            );
            let at = json!({"item_id": id, "output_index": index, "content_index": 0});
            let with = |name: &str, value: Value| {
                let mut fields = at.clone();
                fields[name] = value;
                fields
            };
            let part = json!({"type": "output_text", "text": "", "annotations": []});
            send("response.content_part.added", with("part", part));
            let text = item["content"][0]["text"].as_str().unwrap_or_default();
            for piece in pieces(text) {
                let mut fields = with("delta", json!(piece));
                fields["logprobs"] = json!([]);
                send("response.output_text.delta", fields);
            }
            let mut fields = with("text", json!(text));
            fields["logprobs"] = json!([]);
            send("response.output_text.done", fields);
            send(
                "response.content_part.done",
                with("part", item["content"][0].clone()),
            );
        } else {
            empty["arguments"] = json!("");
            send(
                "response.output_item.added",
                json!({"output_index": index, "item": empty}),
            );
            let text = item["arguments"].as_str().unwrap_or_default();
            for piece in pieces(text) {
                let fields = json!({"item_id": id, "output_index": index, "delta": piece});
                send("response.function_call_arguments.delta", fields);
            }
            let fields = json!({"item_id": id, "output_index": index, "name": item["name"],
                                "arguments": text});
            send("response.function_call_arguments.done", fields);
        }
        send(
            "response.output_item.done",
            json!({"output_index": index, "item": item}),
        );
    }
    send("response.completed", json!({"response": whole}));
    events
}

fn messages(whole: &Value) -> Vec<String> {
    let mut begun = whole.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    begun["usage"]["output_tokens"] = json!(1);
    let mut events = vec![
        named("message_start", json!({"message": begun}), None),
        named("ping", json!({}), None),
    ];
    let blocks = whole["content"].as_array();
    for (index, block) in blocks.into_iter().flatten().enumerate() {
        let mut start = block.clone();
        let (kind, field, text) = if block["type"] == "text" {
            start["text"] = json!("");
            (
                "text_delta",
                "text",
                block["text"].as_str().unwrap_or_default().to_owned(),
            )
        } else {
            start["input"] = json!({});
            (
                "input_json_delta",
                "partial_json",
                block["input"].to_string(),
            )
        };
        let fields = json!({"index": index, "content_block": start});
        events.push(named("content_block_start", fields, None));
        for piece in pieces(&text) {
            let mut delta = json!({"type": kind});
            delta[field] = json!(piece);
            let fields = json!({"index": index, "delta": delta});
            events.push(named("content_block_delta", fields, None));
        }
        events.push(named("content_block_stop", json!({"index": index}), None));
    }
    let delta = json!({"stop_reason": whole["stop_reason"], "stop_sequence": null});
    let usage = json!({"output_tokens": whole["usage"]["output_tokens"]});
    events.push(named(
        "message_delta",
        json!({"delta": delta, "usage": usage}),
        None,
    ));
    events.push(named("message_stop", json!({}), None));
    events
}
