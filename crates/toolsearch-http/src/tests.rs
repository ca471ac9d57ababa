//! Addresses in every shape, and clients over real sockets.

use std::time::Duration;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::{
    BadAddress, ClientOptions, Redirects, address, below, client, is_loopback, printable, read,
    said, unsent,
};

#[test]
fn addresses_are_taken_or_named() {
    for bad in [
        "",
        "api.example.com",
        "ftp://x/v1",
        "http://",
        "https:///v1",
        "nonsense:",
    ] {
        let error = address(bad).expect_err(bad);
        assert_eq!(error, BadAddress::NoAddress(bad.to_owned()), "{bad}");
    }
    let error = address("https://user:word@example.com").expect_err("a password");
    assert_eq!(error, BadAddress::Credentials);
    let error = address("web:user:s3cret@example.com/x?key=1").expect_err("no web");
    assert!(!error.to_string().contains("s3cret") && !error.to_string().contains("key"));
    assert!(address(" https://api.example.com/v1 ").is_ok());
}

#[test]
fn paths_are_added_and_a_query_stays() {
    let below =
        |base: &str| below(&address(base).expect(base), &["chat", "completions"]).to_string();
    let expected = "https://x/v1/chat/completions";
    assert_eq!(below("https://x/v1"), expected);
    assert_eq!(below("https://x/v1/"), expected);
    assert_eq!(below("https://x/v1?a=b"), format!("{expected}?a=b"));
}

#[test]
fn this_machine_has_many_names() {
    let is_loopback = |text: &str| is_loopback(&Url::parse(text).expect(text));
    for own in [
        "http://localhost:1",
        "http://127.0.0.9",
        "http://[::1]:80/x",
    ] {
        assert!(is_loopback(own), "{own}");
    }
    assert!(!is_loopback("http://localhost.example.com") && !is_loopback("http://10.0.0.1"));
}

#[test]
fn failures_are_quoted_in_clean_words() {
    assert_eq!(said(br#"{"error": {"message": "no model"}}"#), "no model");
    assert_eq!(said(br#"{"error": "bad key"}"#), "bad key");
    assert_eq!(said(b"<h1>later</h1>"), "<h1>later</h1>");
    assert_eq!(printable("\u{7} öäü\n".as_bytes(), 4), "öä");
    assert_eq!(printable(&[0xff; 9], 2).chars().count(), 2);
}

/// Answers every connection with this text; gives the address.
async fn serve(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    format!("http://{address}/v1")
}

async fn get(url: &str, options: &ClientOptions) -> Result<reqwest::Response, reqwest::Error> {
    let url = address(url).expect("an address");
    let client = client(&url, options).expect("a client");
    client.get(url).send().await
}

const BACK: &str =
    "HTTP/1.1 307 There\r\nLocation: /v1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

#[tokio::test]
async fn redirects_end_where_they_begin() {
    let address = serve(BACK).await;
    let stayed = get(&address, &ClientOptions::default())
        .await
        .expect("an answer");
    assert_eq!(stayed.status(), 307);
    let mut follows = ClientOptions::default();
    follows.redirects = Redirects::WithinOrigin;
    // Round in a circle: the number of steps ends it, and the last answer stands.
    assert_eq!(
        get(&address, &follows).await.expect("an answer").status(),
        307
    );
    let away = serve(
        "HTTP/1.1 307 There\r\nLocation: http://127.0.0.2:9/x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    )
    .await;
    assert_eq!(get(&away, &follows).await.expect("an answer").status(), 307);
}

#[tokio::test]
async fn bodies_are_read_up_to_a_bound() {
    let address =
        serve("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello").await;
    let options = ClientOptions::default();
    let answer = get(&address, &options).await.expect("an answer");
    assert_eq!(
        read(answer, 5).await.expect("whole").as_deref(),
        Some(&b"hello"[..])
    );
    let answer = get(&address, &options).await.expect("an answer");
    assert_eq!(read(answer, 4).await.expect("too long"), None);
}

#[tokio::test]
async fn what_went_wrong_is_told_without_the_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let url = format!("http://127.0.0.1:{port}/v1?key=secret");
    let mut options = ClientOptions::default();
    options.answer_timeout = Some(Duration::from_millis(50));
    // Connected, and then nothing.
    let silent = unsent(get(&url, &options).await.expect_err("nobody answers"));
    assert!(
        silent.timed_out && !silent.text.contains("secret"),
        "{silent:?}"
    );
    drop(listener);
    let refused = unsent(get(&url, &options).await.expect_err("nobody there"));
    assert!(!refused.timed_out && !refused.tls, "{refused:?}");
    assert!(
        refused.text.to_lowercase().contains("refused"),
        "{refused:?}"
    );
    let plain = serve("I speak no TLS, whatever you say to me.\r\n\r\n").await;
    let secure = plain.replace("http://", "https://");
    let failed = unsent(
        get(&secure, &ClientOptions::default())
            .await
            .expect_err("no TLS"),
    );
    assert!(failed.tls && !failed.text.is_empty(), "{failed:?}");
}
