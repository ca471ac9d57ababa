//! HTTP over real sockets: what goes out, and every way in which it can go wrong.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::{BadAddress, Message, Model, ModelError, ModelRequest, OpenAiChat};

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
    let model = OpenAiChat::new(&address, Some(KEY), "m").expect("an address");
    let turn = model.complete(&request()).await;
    served.await.expect("the server is done");
    turn
}

#[tokio::test]
async fn a_turn_goes_out_and_comes_back() {
    let completion = json!({"choices": [{"message": {"content": "hello"}}]}).to_string();
    let (address, served) = serve(response("200 OK", &completion)).await;
    let model = OpenAiChat::new(&address, Some(KEY), "m").expect("an address");
    let turn = model.complete(&request()).await.expect("a turn");
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
            message
        })
    );
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
    let model = OpenAiChat::new(&address, Some(KEY), "m").expect("an address");
    let error = model.complete(&request()).await.expect_err("nobody");
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
        let error = OpenAiChat::new(bad, None, "m").expect_err(bad);
        assert!(matches!(error, BadAddress::Address(_)), "{bad}: {error:?}");
    }
    let error =
        OpenAiChat::new("https://user:word@example.com", None, "m").expect_err("a password");
    assert_eq!(error, BadAddress::Credentials);
    let error =
        OpenAiChat::new("https://example.com", Some("a\nb"), "m").expect_err("a line break");
    assert_eq!(error, BadAddress::Key);
    assert!(OpenAiChat::new("https://api.example.com/v1", Some(KEY), "m").is_ok());
}
