//! A small web server for tests: every request goes to a function, every answer may be held, cut
//! or streamed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    /// The method of the message in it.
    pub(crate) fn rpc(&self) -> String {
        self.json()["method"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// A line such as `POST initialize`.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.method, self.rpc())
            .trim_end()
            .to_owned()
    }

    /// Fields of a form.
    pub(crate) fn form(&self) -> BTreeMap<String, String> {
        query(&format!("?{}", self.body))
    }
}

/// The query of an address.
pub(crate) fn query(address: &str) -> BTreeMap<String, String> {
    let url = reqwest::Url::parse("http://localhost").unwrap();
    let url = url.join(address).unwrap();
    url.query_pairs().into_owned().collect()
}

/// What is sent back.
pub(crate) enum Reply {
    /// A whole answer.
    Whole {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// A stream of events that goes on while texts come.
    Stream(mpsc::UnboundedReceiver<String>),
    /// Nothing, for as long as the client waits.
    Never,
    /// The end of the connection without a word.
    Hang,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        Self::Whole {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub(crate) fn json(value: &Value) -> Self {
        Self::status(200)
            .with("Content-Type", "application/json")
            .body(&value.to_string())
    }

    pub(crate) fn events(text: &str) -> Self {
        Self::status(200)
            .with("Content-Type", "text/event-stream")
            .body(text)
    }

    pub(crate) fn body(mut self, text: &str) -> Self {
        if let Self::Whole { body, .. } = &mut self {
            text.clone_into(body);
        }
        self
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        if let Self::Whole { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

pub(crate) fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

type Handler = dyn Fn(&Request) -> Reply + Send + Sync;

/// Serves until it is dropped.
pub(crate) struct Web {
    pub(crate) origin: String,
    seen: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Web {
    pub(crate) async fn serve(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let handler: Arc<Handler> = Arc::new(handler);
        let task = tokio::spawn(accept(listener, handler, Arc::clone(&seen)));
        Self { origin, seen, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/mcp", self.origin)
    }

    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.seen().iter().map(Request::line).collect()
    }

    pub(crate) fn count(&self, line: &str) -> usize {
        self.lines().iter().filter(|one| *one == line).count()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, handler: Arc<Handler>, seen: Arc<Mutex<Vec<Request>>>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        while connections.try_join_next().is_some() {}
        let (handler, seen) = (Arc::clone(&handler), Arc::clone(&seen));
        connections.spawn(async move {
            let mut stream = BufReader::new(stream);
            while let Some(request) = read(&mut stream).await {
                seen.lock().unwrap().push(request.clone());
                if answer(stream.get_mut(), handler(&request)).await.is_none() {
                    return;
                }
            }
        });
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    stream
        .read_line(&mut line)
        .await
        .ok()
        .filter(|read| *read > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers
        .get("content-length")
        .and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request {
        method,
        path,
        headers,
        body: String::from_utf8_lossy(&body).into_owned(),
    })
}

/// `None` when the connection is over.
async fn answer(stream: &mut TcpStream, reply: Reply) -> Option<()> {
    match reply {
        Reply::Whole {
            status,
            headers,
            body,
        } => {
            let mut head = format!(
                "HTTP/1.1 {status} Status\r\nContent-Length: {}\r\n",
                body.len()
            );
            for (name, value) in headers {
                head += &format!("{name}: {value}\r\n");
            }
            stream
                .write_all(format!("{head}\r\n{body}").as_bytes())
                .await
                .ok()
        }
        Reply::Stream(mut texts) => {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                        Connection: close\r\n\r\n";
            stream.write_all(head.as_bytes()).await.ok()?;
            while let Some(text) = texts.recv().await {
                stream.write_all(text.as_bytes()).await.ok()?;
            }
            None
        }
        Reply::Never => {
            let mut rest = Vec::new();
            let _ = stream.read_to_end(&mut rest).await;
            None
        }
        Reply::Hang => None,
    }
}

/// What a well-behaved server answers: `echo` gives its arguments back as text.
pub(crate) fn result(request: &Request) -> Reply {
    let message = request.json();
    if message.get("id").is_none() {
        return Reply::status(202);
    }
    let result = match request.rpc().as_str() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": { "listChanged": true } },
            "serverInfo": { "name": "web", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [super::tool("echo")] }),
        "tools/call" => super::text(&message["params"]["arguments"].to_string()),
        _ => {
            let error = json!({ "code": -32601, "message": "no such method" });
            return Reply::json(&json!({ "jsonrpc": "2.0", "id": message["id"], "error": error }));
        }
    };
    Reply::json(&rpc(&message, &result))
}

/// The answer to a message.
pub(crate) fn rpc(message: &Value, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": message["id"], "result": result })
}

/// A GET as a browser sends it: the status and where it leads.
pub(crate) async fn browse(address: &str) -> (u16, Option<String>) {
    let url = reqwest::Url::parse(address).unwrap();
    let host = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let mut stream = BufReader::new(TcpStream::connect(&host).await.unwrap());
    let target = url
        .as_str()
        .strip_prefix(&url.origin().ascii_serialization())
        .unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut status, mut location) = (0, None);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let line = line.trim_end();
        if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
            status = rest[..3].parse().unwrap();
        } else if let Some(to) = line.strip_prefix("Location: ") {
            location = Some(to.to_owned());
        } else if line.is_empty() {
            return (status, location);
        }
    }
}
