//! A server of the embeddings API on a port of its own: honest, or with one fault.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use toolsearch_testing::block_on;
use toolsearch_testing::embedder::HashedWords;

use toolsearch_search::{Embedder, TextRole};

/// What the server does with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Vectors that know which words mean the same.
    Honest,
    /// Nothing, ever; the connection stays open.
    Silent,
    /// A refusal with this status, which quotes the key.
    Refuses(u16),
    /// Text that is no JSON.
    Garbage,
    /// The same vector for every text.
    Constant,
    /// One vector too few.
    TooFew,
    /// Vectors that have no direction.
    Zero,
    /// Honest to tools, silent to queries.
    DocumentsAlone,
}

/// Words of no language, and what they mean.
const MEANT: [(&str, &str); 6] = [
    ("qwopsi", "pin"),
    ("zubrik", "message"),
    ("vrelk", "channel"),
    ("메시지", "message"),
    ("고정", "pin"),
    ("채널", "channel"),
];

/// A running server. It ends with the test's process.
pub(crate) struct Embeddings {
    /// The address before `/embeddings`.
    pub(crate) base: String,
    seen: Arc<Mutex<Vec<Value>>>,
}

impl Embeddings {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let requests = Arc::clone(&seen);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let requests = Arc::clone(&requests);
                thread::spawn(move || one(stream, manner, &requests));
            }
        });
        Self { base, seen }
    }

    /// An address at which nobody listens.
    pub(crate) fn nowhere() -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/v1", listener.local_addr().unwrap())
    }

    /// Texts that reached the server.
    pub(crate) fn texts(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        let texts = seen
            .iter()
            .flat_map(|body| body["input"].as_array().unwrap());
        texts
            .map(|text| text.as_str().unwrap().to_owned())
            .collect()
    }
}

/// One connection, one request.
fn one(stream: TcpStream, manner: Manner, seen: &Mutex<Vec<Value>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut length, mut key) = (0, String::new());
    loop {
        let mut line = String::new();
        // The program may hang up at any time.
        if reader.read_line(&mut line).is_err() || line.is_empty() {
            return;
        }
        let Some((name, value)) = line.split_once(':') else {
            if line.trim().is_empty() {
                break;
            }
            continue;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap(),
            "authorization" => key = value.trim().to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let body: Value = serde_json::from_slice(&body).unwrap();
    seen.lock().unwrap().push(body.clone());
    let (status, text) = match answer(manner, &body, &key) {
        Some(answer) => answer,
        // Held open until the program has had enough.
        None => return drop(reader.read(&mut [0])),
    };
    let size = text.len();
    let head =
        format!("HTTP/1.1 {status} X\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n");
    let mut stream = stream;
    let _ = stream.write_all(format!("{head}{text}").as_bytes());
}

fn answer(manner: Manner, body: &Value, key: &str) -> Option<(u16, String)> {
    let texts = body["input"].as_array().unwrap().iter();
    let texts: Vec<String> = texts
        .map(|text| text.as_str().unwrap().to_owned())
        .collect();
    let is_query = texts.iter().all(|text| text.starts_with("query: "));
    let vectors = match manner {
        Manner::Silent => return None,
        Manner::DocumentsAlone if is_query => return None,
        Manner::Refuses(status) => {
            let said = json!({ "error": { "message": format!("not with {key}") } });
            return Some((status, said.to_string()));
        }
        Manner::Garbage => return Some((200, "<html>hello</html>".to_owned())),
        Manner::Constant => vec![vec![1.0, 2.0, 3.0]; texts.len()],
        Manner::TooFew => vec![vec![1.0, 2.0, 3.0]; texts.len() - 1],
        Manner::Zero => vec![vec![0.0; 3]; texts.len()],
        Manner::Honest | Manner::DocumentsAlone => {
            let bare: Vec<String> = texts
                .iter()
                .map(|text| text.replace("query: ", ""))
                .collect();
            let words = HashedWords::with(MEANT);
            block_on(async move { words.embed(TextRole::Query, &bare).await }).unwrap()
        }
    };
    let data = vectors.iter().enumerate();
    let data: Value = data
        .map(|(index, vector)| json!({ "index": index, "embedding": vector }))
        .collect();
    Some((200, json!({ "data": data }).to_string()))
}
