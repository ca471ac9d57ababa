//! HTTP over real sockets: what goes out, and every way in which it can go wrong.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use std::sync::Mutex;

use crate::{BadAddress, Dialect, Message, Model, ModelError, ModelRequest, Provider, Words};

const KEY: &str = "sk-very-secret-4711";

/// Serves one connection: reads a request, writes `answer`, closes. Gives the request as it came.
async fn serve(answer: Vec<u8>) -> (String, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}/v1/", listener.local_addr().expect("an address"));
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a client");
        let request = read_request(&mut stream).await;
        // The client may hang up in the middle of an answer that is too long.
        let _ = stream.write_all(&answer).await;
        let _ = stream.shutdown().await;
        request
    });
    (address, served)
}

async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .find_map(|line| {
                    line.to_lowercase()
                        .strip_prefix("content-length:")?
                        .trim()
                        .parse()
                        .ok()
                })
                .unwrap_or(0);
            if body.len() >= length {
                return text;
            }
        }
        assert!(
            stream.read_buf(&mut bytes).await.expect("a request") > 0,
            "it ended early"
        );
    }
}

fn response(status: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn request() -> ModelRequest {
    let mut request = ModelRequest::default();
    request.messages = vec![Message::User("hi".to_owned())];
    request
}

async fn ask(answer: Vec<u8>) -> Result<crate::ModelTurn, ModelError> {
    let (address, served) = serve(answer).await;
    let model = Provider::new(Dialect::OpenAiChat, &address, Some(KEY), "m").expect("an address");
    let turn = model.complete(&request(), None).await;
    served.await.expect("the server is done");
    turn
}

#[tokio::test]
async fn a_turn_goes_out_and_comes_back() {
    let completion = json!({"choices": [{"message": {"content": "hello"}}]}).to_string();
    let (address, served) = serve(response("200 OK", &completion)).await;
    let model = Provider::new(Dialect::OpenAiChat, &address, Some(KEY), "m").expect("an address");
    let turn = model.complete(&request(), None).await.expect("a turn");
    assert_eq!(turn.text, "hello");
    let sent = served.await.expect("the server is done");
    let (head, body) = sent.split_once("\r\n\r\n").expect("a head");
    assert!(
        head.starts_with("POST /v1/chat/completions HTTP/1.1"),
        "{head}"
    );
    assert!(head.contains(&format!("Bearer {KEY}")), "{head}");
    assert_eq!(turn.sent.payload_bytes, body.len());
    let body: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(body["model"], "m");
}

#[tokio::test]
async fn refusals_are_told_apart_and_quoted() {
    let openai = json!({"error": {"message": "no such\u{7} model", "type": "x"}}).to_string();
    let error = ask(response("404 Not Found", &openai))
        .await
        .expect_err("refused");
    let message = "no such  model".to_owned();
    assert_eq!(
        error,
        ModelError::Refused {
            status: 404,
            message
        }
    );
    let error = ask(response("401 Unauthorized", r#"{"error": "bad key"}"#)).await;
    let message = "bad key".to_owned();
    assert_eq!(
        error,
        Err(ModelError::Unauthorised {
            status: 401,
            message
        })
    );
    let error = ask(response("503 Busy", "<h1>later</h1>")).await;
    let message = "<h1>later</h1>".to_owned();
    assert_eq!(
        error,
        Err(ModelError::Busy {
            status: 503,
            message,
            retry_after: None
        })
    );
}

#[tokio::test]
async fn the_wish_of_a_busy_provider_is_read() {
    let answer =
        b"HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let error = ask(answer.to_vec()).await.expect_err("busy");
    let wish = Some(std::time::Duration::from_secs(7));
    assert!(
        matches!(error, ModelError::Busy { retry_after, .. } if retry_after == wish),
        "{error:?}"
    );
}

#[tokio::test]
async fn every_dialect_has_its_address_and_its_key() {
    for (dialect, path, key) in [
        (
            Dialect::OpenAiChat,
            "/v1/chat/completions",
            format!("authorization: Bearer {KEY}"),
        ),
        (
            Dialect::OpenAiResponses,
            "/v1/responses",
            format!("authorization: Bearer {KEY}"),
        ),
        (
            Dialect::AnthropicMessages,
            "/v1/messages",
            format!("x-api-key: {KEY}"),
        ),
    ] {
        let answer = answer(dialect).to_string();
        let (address, served) = serve(response("200 OK", &answer)).await;
        let model = Provider::new(dialect, &address, Some(KEY), "m").expect("an address");
        let turn = model.complete(&request(), None).await.expect("a turn");
        assert_eq!(turn.text, "hello", "{dialect}");
        assert_eq!(turn.used, crate::Used::new(7, 2), "{dialect}");
        let sent = served.await.expect("the server is done");
        assert!(sent.starts_with(&format!("POST {path} HTTP/1.1")), "{sent}");
        assert!(sent.to_lowercase().contains(&key.to_lowercase()), "{sent}");
    }
}

fn answer(dialect: Dialect) -> Value {
    match dialect {
        Dialect::OpenAiChat => json!({
            "choices": [{"message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
        }),
        Dialect::OpenAiResponses => json!({
            "id": "r", "object": "response", "status": "completed",
            "output": [{"type": "message", "role": "assistant", "status": "completed",
                        "content": [{"type": "output_text", "text": "hello", "annotations": []}]}],
            "usage": {"input_tokens": 7, "output_tokens": 2},
        }),
        Dialect::AnthropicMessages => json!({
            "id": "m", "type": "message", "role": "assistant", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "hello"}],
            "usage": {"input_tokens": 4, "cache_read_input_tokens": 3, "output_tokens": 2},
        }),
    }
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Words for Heard {
    fn words(&self, piece: &str) {
        self.0.lock().expect("whole").push(piece.to_owned());
    }
}

fn stream(dialect: Dialect) -> String {
    let events = match dialect {
        Dialect::OpenAiChat => vec![
            json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "hel"}}]}),
            json!({"choices": [{"index": 0, "delta": {"content": "lo"}}]}),
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "type": "function", "function": {"name": "note", "arguments": "{\"a\""}}]}}]}),
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        ],
        Dialect::AnthropicMessages => vec![
            json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 7, "output_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hel"}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}}),
            json!({"type": "content_block_stop", "index": 0}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "c", "name": "note", "input": {}}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"a\":1}"}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
            json!({"type": "message_stop"}),
        ],
        Dialect::OpenAiResponses => {
            let message = json!({"type": "message", "id": "i", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "hello", "annotations": []}]});
            let call = json!({"type": "function_call", "id": "f", "call_id": "c", "name": "note", "arguments": "{\"a\":1}", "status": "completed"});
            let whole = json!({"id": "r", "object": "response", "status": "completed", "output": [message, call]});
            vec![
                json!({"type": "response.created", "response": {"id": "r", "object": "response", "status": "in_progress", "output": []}}),
                json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "i", "role": "assistant", "content": []}}),
                json!({"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "hel"}),
                json!({"type": "response.output_text.delta", "item_id": "i", "output_index": 0, "content_index": 0, "delta": "lo"}),
                json!({"type": "response.output_item.done", "output_index": 0, "item": message}),
                json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "id": "f", "call_id": "c", "name": "note", "arguments": ""}}),
                json!({"type": "response.output_item.done", "output_index": 1, "item": call}),
                json!({"type": "response.completed", "response": whole}),
            ]
        }
    };
    let mut text = String::new();
    for event in events {
        if let Some(name) = event["type"].as_str() {
            text.push_str(&format!("event: {name}\n"));
        }
        text.push_str(&format!("data: {event}\n\n"));
    }
    if dialect == Dialect::OpenAiChat {
        text.push_str("data: [DONE]\n\n");
    }
    text
}

fn streamed(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{body}")
        .into_bytes()
}

#[tokio::test]
async fn words_are_told_while_they_come_and_the_turn_is_whole() {
    for dialect in Dialect::ALL {
        let (address, served) = serve(streamed(&stream(dialect))).await;
        let model = Provider::new(dialect, &address, None, "m").expect("an address");
        let heard = Heard::default();
        let turn = model
            .complete(&request(), Some(&heard))
            .await
            .expect("a turn");
        assert_eq!(*heard.0.lock().expect("whole"), ["hel", "lo"], "{dialect}");
        assert_eq!(turn.text, "hello", "{dialect}");
        assert_eq!(
            (turn.calls[0].id.as_str(), turn.calls[0].name.as_str()),
            ("c", "note")
        );
        assert_eq!(turn.calls[0].arguments_object(), json!({"a": 1}));
        assert!(served.await.expect("done").contains("\"stream\":true"));
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_no_turn() {
    for dialect in Dialect::ALL {
        let whole = stream(dialect);
        let (address, _served) = serve(streamed(&whole[..whole.len() / 2])).await;
        let model = Provider::new(dialect, &address, None, "m").expect("an address");
        let error = model.complete(&request(), Some(&Heard::default())).await;
        assert!(
            matches!(error, Err(ModelError::Unreachable(_))),
            "{dialect}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let answer = b"HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:9/x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let error = ask(answer.to_vec()).await.expect_err("refused");
    assert!(
        matches!(error, ModelError::Refused { status: 307, .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn answers_that_are_no_json_or_too_long_are_unreadable() {
    let error = ask(response("200 OK", "oops"))
        .await
        .expect_err("no JSON")
        .to_string();
    assert!(
        error.contains("no JSON") && error.ends_with("oops"),
        "{error}"
    );
    let long = format!("\"{}\"", "x".repeat(17 << 20));
    let error = ask(response("200 OK", &long))
        .await
        .expect_err("too long")
        .to_string();
    assert!(error.contains("longer than"), "{error}");
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\nConnection: close\r\n\r\n{\"choices\"";
    let error = ask(cut.to_vec()).await.expect_err("cut off");
    assert!(matches!(error, ModelError::Unreachable(_)), "{error:?}");
}

#[tokio::test]
async fn nobody_there_is_unreachable_and_says_why() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let address = format!("http://127.0.0.1:{port}/v1?key=secret");
    drop(listener);
    let model = Provider::new(Dialect::OpenAiChat, &address, Some(KEY), "m").expect("an address");
    let error = model.complete(&request(), None).await.expect_err("nobody");
    let ModelError::Unreachable(why) = &error else {
        panic!("{error:?}");
    };
    assert!(why.to_lowercase().contains("refused"), "{why}");
    assert!(!format!("{error:?} {model:?}").contains("secret"));
}

#[test]
fn addresses_are_checked_at_once() {
    for bad in [
        "",
        "api.example.com",
        "ftp://x/v1",
        "http://",
        "https:///v1",
        "nonsense:",
    ] {
        let error = Provider::new(Dialect::OpenAiChat, bad, None, "m").expect_err(bad);
        assert!(matches!(error, BadAddress::Address(_)), "{bad}: {error:?}");
    }
    let error = Provider::new(
        Dialect::OpenAiChat,
        "https://user:word@example.com",
        None,
        "m",
    )
    .expect_err("a password");
    assert_eq!(error, BadAddress::Credentials);
    let error = Provider::new(
        Dialect::OpenAiChat,
        "https://example.com",
        Some("a\nb"),
        "m",
    )
    .expect_err("a line break");
    assert_eq!(error, BadAddress::Key);
    assert!(
        Provider::new(
            Dialect::OpenAiChat,
            "https://api.example.com/v1",
            Some(KEY),
            "m"
        )
        .is_ok()
    );
}
