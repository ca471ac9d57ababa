//! HTTP over real sockets: what goes out, and every way in which it can go wrong.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use toolsearch_search::{EmbedError, Embedder, MAX_TEXT_BYTES, TextRole};
use toolsearch_testing::embedder::{HashedWords, conforms};

use crate::{BadAddress, Options, RemoteModel};

const KEY: &str = "sk-very-secret-4711";

/// What a server makes of a request's body.
type Answer = dyn Fn(&Value) -> Vec<u8> + Send + Sync;

/// A server on this machine. Every request that it reads comes out of the channel, head and body.
async fn serve(
    answer: impl Fn(&Value) -> Vec<u8> + Send + Sync + 'static,
) -> (String, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let (seen, requests) = mpsc::unbounded_channel();
    let answer: Arc<Answer> = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(one(stream, Arc::clone(&answer), seen.clone()));
        }
    });
    (address, requests)
}

/// One connection, one request. The client may hang up at any time.
async fn one(mut stream: TcpStream, answer: Arc<Answer>, seen: mpsc::UnboundedSender<String>) {
    let Some(request) = read_request(&mut stream).await else {
        return;
    };
    let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let bytes = answer(&serde_json::from_str(body).expect("JSON goes out"));
    // A test that is over does not look at requests any more.
    let _ = seen.send(request);
    let _ = stream.write_all(&bytes).await;
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n");
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text.lines().find_map(|line| {
                line.strip_prefix("content-length:")?
                    .trim()
                    .parse::<usize>()
                    .ok()
            });
            if bytes.len() >= head + 4 + length.unwrap_or(0) {
                return String::from_utf8(bytes).ok();
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

fn response(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
        .into_bytes()
}

/// What an honest server says to texts, the last vector first.
fn honest(body: &Value) -> Vec<u8> {
    let texts = body["input"].as_array().expect("texts").iter();
    let texts: Vec<String> = texts
        .map(|text| text.as_str().expect("a text").to_owned())
        .collect();
    assert!(texts.iter().all(|text| !text.is_empty()), "no empty texts");
    let embedder = HashedWords::default();
    let vectors = futures_block(embedder.embed(TextRole::Query, &texts)).expect("vectors");
    let data = vectors.iter().enumerate().rev();
    let data: Value = data
        .map(
            |(index, vector)| json!({ "index": index, "embedding": vector, "object": "embedding" }),
        )
        .collect();
    response("200 OK", &json!({ "data": data, "model": "m" }).to_string())
}

/// [`HashedWords`] never waits.
fn futures_block<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => panic!("it waits"),
    }
}

fn model(address: &str) -> RemoteModel {
    RemoteModel::new(address, Some(KEY), "small-3", Options::default()).expect("an address")
}

async fn ask(answer: Vec<u8>) -> Result<Vec<Vec<f32>>, EmbedError> {
    let (address, _requests) = serve(move |_| answer.clone()).await;
    model(&address)
        .embed(TextRole::Query, &["hi".to_owned()])
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn it_conforms() {
    let (address, _requests) = serve(honest).await;
    conforms(move || Arc::new(model(&address))).await;
}

#[tokio::test]
async fn a_request_holds_the_key_the_model_and_bounded_texts() {
    let (address, mut requests) = serve(honest).await;
    let mut options = Options::default();
    options.dimensions = Some(64);
    options.query_prefix = "query: ".to_owned();
    let model = RemoteModel::new(&format!("{address}/"), Some(KEY), "m", options).expect("one");
    let texts = ["界".repeat(MAX_TEXT_BYTES), String::new()];
    let vectors = model.embed(TextRole::Query, &texts).await.expect("vectors");
    assert_eq!(vectors.len(), 2);
    let sent = requests.recv().await.expect("a request");
    let (head, body) = sent.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("POST /v1/embeddings HTTP/1.1"), "{head}");
    assert!(head.contains(&format!("Bearer {KEY}")), "{head}");
    let body: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(
        (&body["model"], &body["dimensions"]),
        (&json!("m"), &json!(64))
    );
    let first = body["input"][0].as_str().expect("a text");
    assert!(first.starts_with("query: 界") && first.len() <= MAX_TEXT_BYTES + 7);
    assert_eq!(body["input"][1], "query: -");
}

#[tokio::test]
async fn what_may_pass_is_told_from_what_a_person_must_change() {
    for (status, is_passing) in [
        ("429 Too Many Requests", true),
        ("500 Internal Server Error", true),
        ("503 Service Unavailable", true),
        ("408 Request Timeout", true),
        ("400 Bad Request", false),
        ("401 Unauthorized", false),
        ("404 Not Found", false),
    ] {
        let said = json!({ "error": { "message": format!("not with {KEY},\u{7} please") } });
        let error = ask(response(status, &said.to_string()))
            .await
            .expect_err(status);
        assert_eq!(
            matches!(error, EmbedError::Unavailable(_)),
            is_passing,
            "{error:?}"
        );
        let text = format!("{error} {error:?}");
        assert!(text.contains("not with [key],  please"), "{text}");
        assert!(text.contains(&status[..3]) && !text.contains(KEY), "{text}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let answer = b"HTTP/1.1 307 There\r\nLocation: http://127.0.0.1:9/x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let error = ask(answer.to_vec()).await.expect_err("refused");
    assert!(matches!(error, EmbedError::Misconfigured(_)), "{error:?}");
}

#[tokio::test]
async fn garbage_is_refused_and_a_huge_answer_is_not_read_to_its_end() {
    for garbage in [
        "oops",
        "{\"data\": 1}",
        "[[[[",
        "{\"data\": [{\"embedding\": [1e999]}]}",
    ] {
        let error = ask(response("200 OK", garbage)).await.expect_err(garbage);
        assert!(matches!(error, EmbedError::Unavailable(_)), "{error:?}");
    }
    let deep = "[".repeat(100_000);
    let error = ask(response("200 OK", &deep)).await.expect_err("too deep");
    assert!(error.to_string().contains("embeddings API"), "{error}");
    let long = format!("\"{}\"", "x".repeat(17 << 20));
    let error = ask(response("200 OK", &long)).await.expect_err("too long");
    assert!(error.to_string().contains("longer than"), "{error}");
    let error = ask(response("500 No", &long)).await.expect_err("too long");
    assert_eq!(error.to_string(), "the server answered 500");
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\nConnection: close\r\n\r\n{\"data\"";
    let error = ask(cut.to_vec()).await.expect_err("cut off");
    assert!(matches!(error, EmbedError::Unavailable(_)), "{error:?}");
}

#[tokio::test]
async fn a_silent_server_holds_nobody_longer_than_they_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let texts = ["hi".to_owned()];
    let model = model(&address);
    let waited = Duration::from_millis(50);
    let answer = tokio::time::timeout(waited, model.embed(TextRole::Query, &texts)).await;
    assert!(answer.is_err(), "nobody answers");
}

#[tokio::test]
async fn nobody_there_is_told_without_key_or_query() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let model = model(&format!("http://127.0.0.1:{port}/v1?key=hidden"));
    let error = model
        .embed(TextRole::Query, &["x".to_owned()])
        .await
        .expect_err("nobody");
    assert!(
        error.to_string().to_lowercase().contains("refused"),
        "{error}"
    );
    let shown = format!("{error:?} {model:?} {} {}", model.name(), model.space());
    assert!(!shown.contains("hidden") && !shown.contains(KEY), "{shown}");
}

#[test]
fn what_cannot_work_is_refused_at_once() {
    let new = |base: &str, key: Option<&str>, model: &str| {
        RemoteModel::new(base, key, model, Options::default()).map(drop)
    };
    for bad in [
        "",
        "api.example.com",
        "ftp://x/v1",
        "http://",
        "https:///v1",
        "x:?key=hidden",
    ] {
        let error = new(bad, None, "m").expect_err(bad);
        assert!(matches!(error, BadAddress::Address(_)), "{bad}: {error:?}");
        assert!(!error.to_string().contains("hidden"), "{error}");
    }
    let with_password = new("https://user:word@example.com", None, "m");
    assert_eq!(with_password, Err(BadAddress::Credentials));
    assert_eq!(
        new("https://example.com", Some("a\nb"), "m"),
        Err(BadAddress::Key)
    );
    assert_eq!(new("https://example.com", None, ""), Err(BadAddress::Model));
    assert_eq!(new("https://api.example.com/v1", Some(KEY), "m"), Ok(()));
    let mut options = Options::default();
    options.dimensions = Some(0);
    let none = RemoteModel::new("https://example.com", None, "m", options);
    assert_eq!(none.map(drop), Err(BadAddress::Dimensions));
}

#[test]
fn a_space_tells_models_apart_and_not_keys() {
    let space = |base: &str, key: &str, model: &str, prefix: &str| {
        let mut options = Options::default();
        options.query_prefix = prefix.to_owned();
        let model = RemoteModel::new(base, Some(key), model, options).expect("an address");
        model.space().to_owned()
    };
    let one = space("http://localhost:1/v1", "a", "m", "");
    assert_eq!(one, space("http://localhost:1/v1", "b", "m", ""));
    for other in [
        space("http://localhost:2/v1", "a", "m", ""),
        space("http://localhost:1/v1", "a", "n", ""),
        space("http://localhost:1/v1", "a", "m", "query: "),
    ] {
        assert_ne!(one, other);
    }
}
