//! Requests in every dialect.

use serde_json::{Value, json};
use toolsearch::mode::Rendered;
use toolsearch_dialect::Call;

use super::fixtures::{call, office};
use crate::{Arguments, Dialect, Message, ModelRequest, ModelTurn, Provider};

fn provider(dialect: Dialect) -> Provider {
    Provider::new(dialect, "http://127.0.0.1:1/v1", None, "m").expect("an address")
}

fn sent(dialect: Dialect, request: &ModelRequest) -> (Value, usize) {
    let (bytes, tool_bytes) = provider(dialect).body(request, false);
    (serde_json::from_slice(&bytes).expect("JSON"), tool_bytes)
}

async fn request() -> ModelRequest {
    let unreadable = Arguments::Unreadable {
        excerpt: "{\"a".to_owned(),
        problem: "EOF".to_owned(),
    };
    let calls = vec![
        call("1", "note", json!({"text": "ü"})),
        Call::new("2", "note", unreadable),
    ];
    let answers = [Rendered::text("done"), Rendered::error("no")];
    let mut request = ModelRequest::default();
    request.system = "Be brief.".to_owned();
    request.tools = office("tools").await.session.surface().tools.clone();
    request.messages = vec![
        Message::User("hi".to_owned()),
        Message::Assistant(ModelTurn::calling(calls.clone())),
        Message::Results(calls.into_iter().zip(answers).collect()),
        Message::Assistant(ModelTurn::answer("there")),
    ];
    request
}

#[tokio::test]
async fn chat_is_written_as_its_protocol_says() {
    let request = request().await;
    let (body, tool_bytes) = sent(Dialect::OpenAiChat, &request);
    let function = |arguments: &str| json!({"name": "note", "arguments": arguments});
    assert_eq!(
        body["messages"],
        json!([
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "1", "type": "function", "function": function("{\"text\":\"ü\"}")},
                {"id": "2", "type": "function", "function": function("{}")},
            ]},
            {"role": "tool", "tool_call_id": "1", "content": "done"},
            {"role": "tool", "tool_call_id": "2", "content": "Error: no"},
            {"role": "assistant", "content": "there"},
        ])
    );
    assert_eq!(body["model"], "m");
    assert_eq!(
        body["tools"].as_array().map(Vec::len),
        Some(request.tools.len())
    );
    assert_eq!(tool_bytes, body["tools"].to_string().len());
    assert!(body.get("stream").is_none());
}

#[tokio::test]
async fn responses_is_written_as_its_protocol_says() {
    let (body, _) = sent(Dialect::OpenAiResponses, &request().await);
    assert_eq!(body["instructions"], "Be brief.");
    assert_eq!(body["store"], false);
    let items = body["input"].as_array().expect("items");
    let kinds: Vec<&str> = items
        .iter()
        .map(|item| {
            item["type"]
                .as_str()
                .or(item["role"].as_str())
                .expect("a kind")
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "user",
            "function_call",
            "function_call",
            "function_call_output",
            "function_call_output",
            "assistant",
        ]
    );
    assert_eq!(items[1]["call_id"], items[3]["call_id"]);
    assert_eq!(items[3]["output"], "done");
}

#[tokio::test]
async fn messages_is_written_as_its_protocol_says() {
    let (body, _) = sent(Dialect::AnthropicMessages, &request().await);
    assert_eq!(body["system"], "Be brief.");
    assert_eq!(body["max_tokens"], 8192);
    let messages = body["messages"].as_array().expect("messages");
    let roles: Vec<&str> = messages
        .iter()
        .filter_map(|one| one["role"].as_str())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    assert_eq!(messages[1]["content"][0]["input"], json!({"text": "ü"}));
    assert_eq!(messages[1]["content"][1]["input"], json!({}));
    assert_eq!(messages[2]["content"][1]["is_error"], true);
    let limited = provider(Dialect::AnthropicMessages).with_max_output_tokens(10);
    let (bytes, _) = limited.body(&ModelRequest::default(), false);
    assert_eq!(bytes, br#"{"model":"m","messages":[],"max_tokens":10}"#);
}

#[test]
fn nothing_stands_for_no_prompt_and_no_tools() {
    let (body, tool_bytes) = sent(Dialect::OpenAiChat, &ModelRequest::default());
    assert_eq!(body, json!({"model": "m", "messages": []}));
    assert_eq!(tool_bytes, 0);
}
