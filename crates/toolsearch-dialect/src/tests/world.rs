//! Requests, answers and streams to test with.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{Dialect, SseEvent};

/// Any JSON, a few levels deep, numbers of any length included.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let number = prop_oneof![
        Just("123456789012345678901234567890"),
        Just("1.0"),
        Just("1e400"),
        Just("-7")
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number.prop_map(|text| serde_json::from_str(text).unwrap()),
        "[ -~é\\u{202e}\n]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,6}", inner), 0..4)
                .prop_map(|pairs| Value::Object(Map::from_iter(pairs))),
        ]
    })
}

/// A function as a dialect declares it, with a field that nobody knows.
pub(crate) fn function(dialect: Dialect, name: &str, unknown: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    match dialect {
        Dialect::OpenAiChat => json!({
            "type": "function", "x_unknown": unknown,
            "function": {"name": name, "x_inner": unknown, "parameters": schema, "strict": true},
        }),
        Dialect::OpenAiResponses => json!({
            "type": "function", "name": name, "x_unknown": unknown, "parameters": schema,
        }),
        Dialect::AnthropicMessages => json!({
            "name": name, "x_unknown": unknown, "input_schema": schema,
        }),
    }
}

/// A request with tools and one message of the user.
pub(crate) fn request(dialect: Dialect, tools: Vec<Value>, unknown: &Value) -> Value {
    let mut body = json!({"model": "m", "x_first": unknown, "tools": tools, "x_last": unknown});
    let message = json!({"role": "user", "content": "hello", "x_inside": unknown});
    body[dialect.history_field()] = json!([message]);
    body
}

/// One call of an answer: id, name, arguments as text.
pub(crate) type Wanted = (String, String, String);

/// A whole answer with words and calls.
pub(crate) fn answer(dialect: Dialect, text: &str, calls: &[Wanted]) -> Value {
    match dialect {
        Dialect::OpenAiChat => {
            let mut message = json!({"role": "assistant", "content": text});
            if !calls.is_empty() {
                message["tool_calls"] = calls
                    .iter()
                    .map(|(id, name, arguments)| {
                        json!({"id": id, "type": "function",
                               "function": {"name": name, "arguments": arguments}})
                    })
                    .collect();
            }
            let reason = if calls.is_empty() {
                "stop"
            } else {
                "tool_calls"
            };
            json!({
                "id": "chat-1", "created": 1, "model": "m", "object": "chat.completion",
                "choices": [{"index": 0, "message": message, "finish_reason": reason}],
                "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
            })
        }
        Dialect::OpenAiResponses => {
            let mut output = vec![json!({
                "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            })];
            output.extend(calls.iter().map(|(id, name, arguments)| {
                json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id,
                       "name": name, "arguments": arguments, "status": "completed"})
            }));
            json!({
                "id": "resp_1", "object": "response", "status": "completed", "output": output,
                "usage": {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7},
            })
        }
        Dialect::AnthropicMessages => {
            let mut content = vec![json!({"type": "text", "text": text})];
            content.extend(calls.iter().map(|(id, name, arguments)| {
                let input: Value = serde_json::from_str(arguments).unwrap();
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            }));
            let reason = if calls.is_empty() {
                "end_turn"
            } else {
                "tool_use"
            };
            json!({
                "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                "usage": {"input_tokens": 3, "output_tokens": 4},
                "stop_reason": reason, "content": content,
            })
        }
    }
}

/// The answer as the provider would stream it, its texts in pieces of so many characters.
pub(crate) fn stream(dialect: Dialect, answer: &Value, size: usize) -> Vec<SseEvent> {
    match dialect {
        Dialect::OpenAiChat => chat_stream(answer, size),
        Dialect::OpenAiResponses => responses_stream(answer, size),
        Dialect::AnthropicMessages => messages_stream(answer, size),
    }
}

fn pieces(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters
        .chunks(size.max(1))
        .map(|piece| piece.iter().collect())
        .collect()
}

fn chat_stream(answer: &Value, size: usize) -> Vec<SseEvent> {
    let chunk = |delta: Value, reason: Value| {
        SseEvent::data(
            json!({
                "id": answer["id"], "created": answer["created"], "model": answer["model"],
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
            })
            .to_string(),
        )
    };
    let message = &answer["choices"][0]["message"];
    let mut events = vec![chunk(
        json!({"role": "assistant", "content": ""}),
        Value::Null,
    )];
    for piece in pieces(message["content"].as_str().unwrap(), size) {
        events.push(chunk(json!({"content": piece}), Value::Null));
    }
    let calls = message["tool_calls"].as_array();
    for (index, call) in calls.into_iter().flatten().enumerate() {
        let begun = json!({"index": index, "id": call["id"], "type": "function",
                           "function": {"name": call["function"]["name"], "arguments": ""}});
        events.push(chunk(json!({"tool_calls": [begun]}), Value::Null));
        for piece in pieces(call["function"]["arguments"].as_str().unwrap(), size) {
            let more = json!({"index": index, "function": {"arguments": piece}});
            events.push(chunk(json!({"tool_calls": [more]}), Value::Null));
        }
    }
    let reason = answer["choices"][0]["finish_reason"].clone();
    events.push(chunk(json!({}), reason));
    let usage = json!({
        "id": answer["id"], "created": answer["created"], "model": answer["model"],
        "object": "chat.completion.chunk", "choices": [], "usage": answer["usage"],
    });
    events.push(SseEvent::data(usage.to_string()));
    events.push(SseEvent::data("[DONE]"));
    events
}

fn named(kind: &str, mut value: Value) -> SseEvent {
    let mut fields = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    fields.extend(value.as_object_mut().map(std::mem::take).unwrap());
    SseEvent::named(kind, Value::Object(fields).to_string())
}

fn responses_stream(answer: &Value, size: usize) -> Vec<SseEvent> {
    let mut begun = answer.clone();
    begun["output"] = json!([]);
    begun["status"] = json!("in_progress");
    let mut events = vec![
        named("response.created", json!({"response": begun})),
        named("response.in_progress", json!({"response": begun})),
    ];
    for (index, item) in answer["output"].as_array().unwrap().iter().enumerate() {
        let at = |value: Value| {
            let mut value = value;
            value["output_index"] = json!(index);
            value
        };
        events.push(named(
            "response.output_item.added",
            at(json!({"item": item})),
        ));
        let (kind, text) = match item["type"].as_str() {
            Some("message") => ("response.output_text.delta", &item["content"][0]["text"]),
            _ => ("response.function_call_arguments.delta", &item["arguments"]),
        };
        for piece in pieces(text.as_str().unwrap(), size) {
            events.push(named(kind, at(json!({"delta": piece}))));
        }
        events.push(named(
            "response.output_item.done",
            at(json!({"item": item})),
        ));
    }
    events.push(named("response.completed", json!({"response": answer})));
    events
}

fn messages_stream(answer: &Value, size: usize) -> Vec<SseEvent> {
    let mut begun = answer.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    begun["usage"]["output_tokens"] = json!(1);
    let mut events = vec![named("message_start", json!({"message": begun}))];
    for (index, block) in answer["content"].as_array().unwrap().iter().enumerate() {
        let mut start = block.clone();
        let (deltas, field, text) = if block["type"] == "text" {
            start["text"] = json!("");
            (
                "text_delta",
                "text",
                block["text"].as_str().unwrap().to_owned(),
            )
        } else {
            start["input"] = json!({});
            (
                "input_json_delta",
                "partial_json",
                block["input"].to_string(),
            )
        };
        events.push(named(
            "content_block_start",
            json!({"index": index, "content_block": start}),
        ));
        for piece in pieces(&text, size) {
            let mut delta = json!({"type": deltas});
            delta[field] = json!(piece);
            events.push(named(
                "content_block_delta",
                json!({"index": index, "delta": delta}),
            ));
        }
        events.push(named("content_block_stop", json!({"index": index})));
    }
    let usage = json!({"output_tokens": answer["usage"]["output_tokens"]});
    events.push(named(
        "message_delta",
        json!({"delta": {"stop_reason": answer["stop_reason"]}, "usage": usage}),
    ));
    events.push(named("message_stop", json!({})));
    events
}
