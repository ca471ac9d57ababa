//! The wire form of Chat Completions.

use serde_json::{Map, Value, json};

use super::fixtures::call;
use crate::chat::{body, turn};
use crate::{Arguments, Message, ModelRequest, ModelTurn, ToolCall, ToolSpec};

fn object(value: Value) -> Arguments {
    match value {
        Value::Object(object) => Arguments::Object(object),
        other => panic!("{other} is no object"),
    }
}

#[test]
fn a_request_is_written_as_the_protocol_says() {
    let unreadable = Arguments::Unreadable {
        excerpt: "{\"a".to_owned(),
        problem: "EOF".to_owned(),
    };
    let calls = vec![
        call("1", "note", json!({"text": "ü"})),
        ToolCall::new("2", "note", unreadable),
    ];
    let mut request = ModelRequest::default();
    request.system = "Be brief.".to_owned();
    request.messages = vec![
        Message::User("hi".to_owned()),
        Message::Assistant(ModelTurn::calling(calls)),
        Message::Tool {
            call: "1".to_owned(),
            text: "done".to_owned(),
        },
        Message::Tool {
            call: "2".to_owned(),
            text: "Error".to_owned(),
        },
        Message::Assistant(ModelTurn::answer("there")),
    ];
    request.tools = vec![ToolSpec::new("note", "Writes.", json!({"type": "object"}))];
    let (bytes, tool_bytes) = body("gpt-x", &request);
    let sent: Value = serde_json::from_slice(&bytes).expect("JSON");
    let tools = json!([{
        "type": "function",
        "function": {"name": "note", "description": "Writes.", "parameters": {"type": "object"}},
    }]);
    assert_eq!(tool_bytes, tools.to_string().len());
    let function = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    assert_eq!(
        sent,
        json!({
            "model": "gpt-x",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "1", "type": "function", "function": function("note", "{\"text\":\"ü\"}")},
                    {"id": "2", "type": "function", "function": function("note", "{}")},
                ]},
                {"role": "tool", "tool_call_id": "1", "content": "done"},
                {"role": "tool", "tool_call_id": "2", "content": "Error"},
                {"role": "assistant", "content": "there"},
            ],
            "tools": tools,
        })
    );
}

#[test]
fn nothing_stands_for_no_prompt_and_no_tools() {
    let (bytes, tool_bytes) = body("m", &ModelRequest::default());
    assert_eq!(bytes, br#"{"model":"m","messages":[]}"#);
    assert_eq!(tool_bytes, 0);
}

fn completion(message: Value, reason: &str) -> Value {
    json!({"choices": [{"message": message, "finish_reason": reason}]})
}

#[test]
fn words_are_read_in_every_shape() {
    let cases = [
        (json!({"content": "hi"}), "hi"),
        (json!({"content": null}), ""),
        (json!({}), ""),
        (
            json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
            "ab",
        ),
        (
            json!({"content": null, "refusal": "I will not."}),
            "I will not.",
        ),
        (json!({"content": "hi", "tool_calls": null}), "hi"),
    ];
    for (message, expected) in cases {
        let read = turn(&completion(message.clone(), "stop")).expect("a turn");
        assert_eq!(
            (read.text.as_str(), read.calls.len()),
            (expected, 0),
            "{message}"
        );
        assert!(!read.cut);
    }
    assert!(
        turn(&completion(json!({"content": "and th"}), "length"))
            .expect("a turn")
            .cut
    );
}

#[test]
fn arguments_are_an_object_or_unreadable() {
    let empty = || Arguments::Object(Map::new());
    let cases = [
        (json!("{\"a\": 1}"), Some(object(json!({"a": 1})))),
        (json!({"a": 1}), Some(object(json!({"a": 1})))),
        (json!(""), Some(empty())),
        (json!("  "), Some(empty())),
        (json!("null"), Some(empty())),
        (Value::Null, Some(empty())),
        (json!("{\"a\": "), None),
        (json!("[1]"), None),
        (json!("\"text\""), None),
        (json!(17), None),
        (
            json!(format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000))),
            None,
        ),
    ];
    for (arguments, expected) in cases {
        let message =
            json!({"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": arguments}}]});
        let read = turn(&completion(message, "tool_calls")).expect("a turn");
        match (&read.calls[0].arguments, expected) {
            (read, Some(expected)) => assert_eq!(*read, expected),
            (Arguments::Unreadable { excerpt, problem }, None) => {
                assert!(excerpt.chars().count() <= 200 && !problem.is_empty());
            }
            (read, None) => panic!("{read:?} was read from {arguments}"),
        }
    }
}

#[test]
fn every_call_gets_an_id_of_its_own() {
    let one = |id: Value| json!({"id": id, "function": {"name": "f", "arguments": "{}"}});
    let message = json!({"tool_calls": [one(json!("x")), one(json!("x")), one(json!("")), one(json!(null)), 5]});
    let read = turn(&completion(message, "tool_calls")).expect("a turn");
    let mut ids: Vec<&str> = read.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids[0], "x");
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 5);
    assert!(ids.iter().all(|id| !id.is_empty()));
}

#[test]
fn what_is_no_completion_says_what_is_missing() {
    for (answer, missing) in [
        (json!({}), "`choices`"),
        (json!({"choices": []}), "`choices`"),
        (json!({"choices": [{}]}), "`message`"),
        (json!({"choices": [{"message": "hi"}]}), "`message`"),
        (
            completion(json!({"tool_calls": "all"}), "stop"),
            "`tool_calls`",
        ),
    ] {
        let error = turn(&answer).expect_err(missing).to_string();
        assert!(error.contains(missing), "{error}");
    }
}
