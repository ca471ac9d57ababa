//! A scripted model on loopback that speaks the three wire forms over real HTTP, whole and as streams,
//! and keeps every request as it came.

mod wire;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

pub use wire::{Wire, results};

/// Longest silence on a connection.
const SILENCE: Duration = Duration::from_secs(120);
/// Largest body that is read.
const MAX_BODY_BYTES: u64 = 64 * 1024 * 1024;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The wire form, by the path.
    pub wire: Wire,
    /// Header lines, names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub raw: Vec<u8>,
    /// The body.
    pub body: Value,
    /// How many requests came before it.
    pub number: usize,
}

impl Asked {
    /// The names of the declared tools; what has no name stands by its type.
    #[must_use]
    pub fn declared(&self) -> Vec<String> {
        wire::declared(&self.body)
    }

    /// Whether a tool of this name is declared.
    #[must_use]
    pub fn declares(&self, name: &str) -> bool {
        self.declared().iter().any(|own| own == name)
    }

    /// The results of calls in the history, as text, in order.
    #[must_use]
    pub fn results(&self) -> Vec<String> {
        results(self.wire, &self.body)
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(own, _)| own == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// What the model does next.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// Its words.
    pub text: String,
    /// Calls: id, name, arguments as text.
    pub calls: Vec<(String, String, String)>,
    /// A refusal in place of an answer: status and body.
    pub refusal: Option<(u16, Value)>,
}

impl Said {
    /// Words alone.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// One call.
    #[must_use]
    pub fn call(name: &str, args: &Value) -> Self {
        Self::default().and(name, args)
    }

    /// One more call. Ids count from one in every turn, as weak servers do.
    #[must_use]
    pub fn and(mut self, name: &str, args: &Value) -> Self {
        let id = format!("c{}", self.calls.len() + 1);
        self.calls.push((id, name.to_owned(), args.to_string()));
        self
    }

    /// A refusal.
    #[must_use]
    pub fn refusal(status: u16, body: Value) -> Self {
        Self {
            refusal: Some((status, body)),
            ..Self::default()
        }
    }
}

type Script = dyn Fn(&Asked) -> Said + Send + Sync;

/// The server. It ends when it is dropped.
pub struct ScriptedModel {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    script: Box<Script>,
    asked: Mutex<Vec<Asked>>,
    ending: AtomicBool,
}

impl ScriptedModel {
    /// Plays a script on a port of its own.
    ///
    /// # Errors
    /// When no port on loopback is free.
    pub fn start(script: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Box::new(script),
            asked: Mutex::default(),
            ending: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.ending.load(Ordering::Relaxed) {
                    return;
                }
                if let Ok(stream) = stream {
                    let shared = Arc::clone(&serving);
                    std::thread::spawn(move || {
                        let _ = serve(&stream, &shared);
                    });
                }
            }
        });
        Ok(Self { address, shared })
    }

    /// The base address of the API.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        self.address.to_string()
    }

    /// Every request so far.
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// Every request so far, which are then forgotten.
    #[must_use]
    pub fn take(&self) -> Vec<Asked> {
        std::mem::take(&mut *lock(&self.shared.asked))
    }
}

impl std::fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScriptedModel")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Relaxed);
        // Wakes the thread up; where nobody listens any more it has ended by itself.
        let _ = TcpStream::connect(self.address);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Requests of one connection, one after the other.
fn serve(stream: &TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    while let Some((first, headers)) = head(&mut reader)? {
        let of = |name: &str| headers.iter().find(|(own, _)| own == name);
        let length: u64 = of("content-length").map_or(0, |(_, v)| v.parse().unwrap_or(0));
        let mut raw = Vec::new();
        reader
            .by_ref()
            .take(length.min(MAX_BODY_BYTES))
            .read_to_end(&mut raw)?;
        let path = first.split(' ').nth(1).unwrap_or_default();
        if path.ends_with("/models") {
            let models = serde_json::json!({"object": "list", "data": [{"id": "scripted"}]});
            plain(&mut writer, 200, &models)?;
            continue;
        }
        let Some(wire) = Wire::of_path(path) else {
            plain(
                &mut writer,
                404,
                &serde_json::json!({"error": {"message": path}}),
            )?;
            continue;
        };
        let body = serde_json::from_slice(&raw).unwrap_or_default();
        let mut all = lock(&shared.asked);
        let asked = Asked {
            wire,
            headers,
            raw,
            body,
            number: all.len(),
        };
        all.push(asked.clone());
        drop(all);
        let said = (shared.script)(&asked);
        if let Some((status, body)) = &said.refusal {
            plain(&mut writer, *status, body)?;
        } else if asked.body["stream"] == true {
            streamed(&mut writer, &wire::stream(wire, &asked, &said))?;
        } else {
            plain(&mut writer, 200, &wire::answer(wire, &asked, &said))?;
        }
    }
    Ok(())
}

type Head = (String, Vec<(String, String)>);

fn head(reader: &mut impl BufRead) -> io::Result<Option<Head>> {
    let mut first = String::new();
    if reader.read_line(&mut first)? == 0 {
        return Ok(None);
    }
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            return Ok(Some((first, headers)));
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
}

fn plain(writer: &mut impl Write, status: u16, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    let answer = format!(
        "HTTP/1.1 {status} x\r\nContent-Type: application/json\r\nX-Request-Id: scripted\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    writer.write_all(answer.as_bytes())
}

/// Every event leaves as a chunk of its own.
fn streamed(writer: &mut impl Write, events: &[String]) -> io::Result<()> {
    writer.write_all(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
    )?;
    for event in events {
        write!(writer, "{:x}\r\n{event}\r\n", event.len())?;
        writer.flush()?;
    }
    writer.write_all(b"0\r\n\r\n")
}
