//! A scripted provider on loopback that speaks Chat Completions over real HTTP and keeps every
//! payload as it came.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::script::{Move, Script};

/// The key that requests must carry.
pub(crate) const KEY: &str = "sk-mock-4711";
const MAX_HEAD_BYTES: usize = 64 * 1024;
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;
const SOCKET_TIMEOUT: Duration = Duration::from_secs(30);

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Payload {
    pub(crate) bytes: usize,
    pub(crate) body: Value,
}

impl Payload {
    /// The names of the declared tools.
    pub(crate) fn declared(&self) -> Vec<&str> {
        self.body["tools"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool.pointer("/function/name")?.as_str())
            .collect()
    }
}

#[derive(Debug, Default)]
struct State {
    script: Option<Script>,
    payloads: Vec<Payload>,
    faults: Vec<String>,
}

/// The server. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct MockProvider {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl MockProvider {
    pub(crate) fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("no port on loopback is free")?;
        let address = listener.local_addr()?;
        let state = Arc::new(Mutex::new(State::default()));
        let ending = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (state, ending) = (Arc::clone(&state), Arc::clone(&ending));
            move || {
                for stream in listener.incoming() {
                    if ending.load(Ordering::Relaxed) {
                        return;
                    }
                    if let Err(error) = stream.map_err(Into::into).and_then(|s| serve(s, &state)) {
                        lock(&state).faults.push(format!("{error:#}"));
                    }
                }
            }
        });
        Ok(Self {
            address,
            state,
            ending,
            thread: Some(thread),
        })
    }

    /// The base address of the API.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Plays a script from now on and forgets what came before.
    pub(crate) fn play(&self, script: Script) {
        *lock(&self.state) = State {
            script: Some(script),
            ..State::default()
        };
    }

    /// The payloads since the script began.
    ///
    /// # Errors
    /// When a request came that the provider could not read, or the script could not go on.
    pub(crate) fn payloads(&self) -> Result<Vec<Payload>> {
        let state = lock(&self.state);
        if !state.faults.is_empty() {
            bail!("the mock provider: {}", state.faults.join("; "));
        }
        Ok(state.payloads.clone())
    }
}

impl Drop for MockProvider {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        // Wakes the thread up; where nobody listens any more it has ended by itself.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, state: &Mutex<State>) -> Result<()> {
    stream.set_read_timeout(Some(SOCKET_TIMEOUT))?;
    stream.set_write_timeout(Some(SOCKET_TIMEOUT))?;
    let (head, body) = read_request(&mut stream)?;
    let (status, answer) = answer(&head, &body, &mut lock(state));
    let answer = answer.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n",
        answer.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(answer.as_bytes())?;
    Ok(())
}

fn read_request(stream: &mut TcpStream) -> Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if bytes.len() > MAX_HEAD_BYTES {
            bail!("the head of a request is too long");
        }
        read_more(stream, &mut chunk, &mut bytes)?;
    };
    let head = String::from_utf8(bytes[..end].to_vec()).context("a head that is no text")?;
    let length = header(&head, "content-length")
        .and_then(|length| length.parse::<usize>().ok())
        .context("a request without Content-Length")?;
    if length > MAX_BODY_BYTES {
        bail!("a body of {length} bytes");
    }
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        read_more(stream, &mut chunk, &mut body)?;
    }
    body.truncate(length);
    Ok((head, body))
}

fn read_more(stream: &mut TcpStream, chunk: &mut [u8], into: &mut Vec<u8>) -> Result<()> {
    let read = stream.read(chunk)?;
    if read == 0 {
        bail!("a request ended early");
    }
    into.extend_from_slice(&chunk[..read]);
    Ok(())
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

fn answer(head: &str, body: &[u8], state: &mut State) -> (&'static str, Value) {
    let refused = |status, message: &str| (status, json!({"error": {"message": message}}));
    if !head.starts_with("POST /v1/chat/completions ") {
        return refused("404 Not Found", "only chat completions are served");
    }
    if header(head, "authorization") != Some(format!("Bearer {KEY}").as_str()) {
        return refused("401 Unauthorized", "the key is wrong");
    }
    let Ok(request) = serde_json::from_slice::<Value>(body) else {
        return refused("400 Bad Request", "the body is no JSON");
    };
    state.payloads.push(Payload {
        bytes: body.len(),
        body: request.clone(),
    });
    let next = match &state.script {
        Some(script) => script.next(&request),
        None => Err("no script is played".to_owned()),
    };
    match next {
        Ok(next) => ("200 OK", completion(&next)),
        Err(fault) => {
            state.faults.push(fault.clone());
            refused("400 Bad Request", &fault)
        }
    }
}

fn completion(next: &Move) -> Value {
    let (message, reason) = match next {
        Move::Say(text) => (json!({"role": "assistant", "content": text}), "stop"),
        Move::Call(name, args) => {
            let function = json!({"name": name, "arguments": args.to_string()});
            let call = json!({"id": "call_1", "type": "function", "function": function});
            let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
            (message, "tool_calls")
        }
    };
    json!({
        "id": "mock-1",
        "object": "chat.completion",
        "model": "mock",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
    })
}
