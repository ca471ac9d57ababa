//! The way back from the browser: a listener on the loopback address that takes one answer.

use std::io;

use reqwest::Url;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Duration, timeout};

/// Longest request of a browser.
const MAX_REQUEST_BYTES: usize = 16 * 1024;
/// How long a browser may take to send it.
const PATIENCE: Duration = Duration::from_secs(5);
const PATH: &str = "/callback";

/// What the browser brought.
#[derive(Debug)]
pub(super) enum Answer {
    Code {
        code: String,
        issuer: Option<String>,
    },
    Refused(String),
}

#[derive(Debug)]
pub(super) struct Redirect {
    listener: TcpListener,
    url: String,
}

impl Redirect {
    pub(super) async fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}{PATH}", listener.local_addr()?);
        Ok(Self { listener, url })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Waits for the answer that belongs to `state`; anything else is turned away.
    pub(super) async fn answer(&self, state: &str) -> io::Result<Answer> {
        loop {
            let (mut stream, _) = self.listener.accept().await?;
            let Ok(Some(target)) = timeout(PATIENCE, target(&mut stream)).await else {
                continue;
            };
            let read = read(&self.url, &target, state);
            let (status, text) = match &read {
                Some(Answer::Code { .. }) => ("200 OK", "Done. You can close this window."),
                Some(Answer::Refused(_)) => ("200 OK", "The login was refused."),
                None => ("404 Not Found", "Nothing here."),
            };
            // The browser may be gone; the answer is here all the same.
            let _ = timeout(PATIENCE, say(&mut stream, status, text)).await;
            if let Some(answer) = read {
                return Ok(answer);
            }
        }
    }
}

/// The target of a GET request.
async fn target(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    let mut chunk = [0; 2048];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream
            .read(&mut chunk)
            .await
            .ok()
            .filter(|read| *read > 0)?;
        request.extend_from_slice(&chunk[..read]);
        if request.len() > MAX_REQUEST_BYTES {
            return None;
        }
    }
    let text = String::from_utf8_lossy(&request);
    let mut words = text.lines().next()?.split(' ');
    (words.next()? == "GET").then_some(())?;
    words.next().map(str::to_owned)
}

fn read(own: &str, target: &str, state: &str) -> Option<Answer> {
    let url = Url::parse(own).ok()?.join(target).ok()?;
    if url.path() != PATH {
        return None;
    }
    let value = |key: &str| {
        let mut pairs = url.query_pairs();
        Some(pairs.find(|(name, _)| name == key)?.1.into_owned())
    };
    if !equal(value("state")?.as_bytes(), state.as_bytes()) {
        return None;
    }
    if let Some(error) = value("error") {
        let more = value("error_description").map(|more| format!(": {more}"));
        return Some(Answer::Refused(format!(
            "{error}{}",
            more.unwrap_or_default()
        )));
    }
    let issuer = value("iss");
    value("code").map(|code| Answer::Code { code, issuer })
}

/// Without a hint at where two texts differ.
fn equal(a: &[u8], b: &[u8]) -> bool {
    let differences = a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b));
    a.len() == b.len() && differences == 0
}

async fn say(stream: &mut TcpStream, status: &str, text: &str) -> io::Result<()> {
    let page = format!("<!doctype html><meta charset=utf-8><title>toolsearch</title><p>{text}");
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nConnection: close\r\n\r\n",
        page.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(page.as_bytes()).await?;
    stream.shutdown().await
}
