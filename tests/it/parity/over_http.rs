//! The gateway over HTTP, by a client that writes bare requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::support::{Home, json_text};

use super::door::{Answer, Call, Door, Kind, Pace};
use super::outside::{found, recorded};
use super::scene::Scene;

/// `toolsearch serve --http`, with one session of one client.
pub(super) struct OverHttp {
    child: Child,
    address: String,
    session: String,
    requests: AtomicU64,
    home: Home,
}

pub(super) fn gateway(scene: &Scene) -> OverHttp {
    let home = scene.home.twin();
    let mut command = home.command(&["serve", "--http", "127.0.0.1:0"]);
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = lines
        .by_ref()
        .map_while(Result::ok)
        .find_map(|line| Some(line.split_once("http://")?.1.to_owned()))
        .expect("it tells where it serves");
    // Whatever it says later must not fill the pipe.
    thread::spawn(move || lines.for_each(drop));
    let address = address.split('/').next().unwrap().to_owned();
    let mut over = OverHttp {
        child,
        address,
        session: String::new(),
        requests: AtomicU64::new(0),
        home,
    };
    let hello = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "bare", "version": "1" },
    });
    let (head, _) = over.post(&request(0, "initialize", &hello));
    let session = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("mcp-session-id")
            .then(|| value.trim().to_owned())
    });
    over.session = session.expect("a session begins with `initialize`");
    over.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    over
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

impl OverHttp {
    /// Head and body of the answer to a message.
    fn post(&self, message: &Value) -> (String, String) {
        let body = message.to_string();
        let session = match self.session.as_str() {
            "" => String::new(),
            session => format!("Mcp-Session-Id: {session}\r\n"),
        };
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{session}\
             MCP-Protocol-Version: 2025-11-25\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 20"), "{answer}");
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        let body = match chunked {
            true => whole(body),
            false => body.to_owned(),
        };
        (head.to_owned(), body)
    }

    /// The result of a request: in a body of its own, or in an event.
    fn ask(&self, method: &str, params: &Value) -> Value {
        let id = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let (_, body) = self.post(&request(id, method, params));
        let lines = body.lines();
        let messages = lines.map(|line| line.strip_prefix("data:").unwrap_or(line));
        let answer = messages
            .filter_map(|text| serde_json::from_str::<Value>(text).ok())
            .find(|message| message["id"] == id);
        let answer = answer.unwrap_or_else(|| panic!("no answer in {body}"));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    fn call(&self, call: &Call) -> Answer {
        let params = json!({ "name": "tool_call", "arguments": call.to_json() });
        Answer::of_result(&self.ask("tools/call", &params))
    }
}

/// A body out of its chunks.
fn whole(mut chunks: &str) -> String {
    let mut body = String::new();
    while let Some((length, rest)) = chunks.split_once("\r\n") {
        let length = usize::from_str_radix(length.trim(), 16).unwrap();
        if length == 0 {
            break;
        }
        body.push_str(&rest[..length]);
        chunks = rest[length..].trim_start_matches("\r\n");
    }
    body
}

impl Door for OverHttp {
    fn kind(&self) -> Kind {
        Kind {
            nested: false,
            lasting: true,
            whole: false,
            asks: false,
        }
    }

    fn calls(&mut self, calls: &[Call], pace: Pace) -> Vec<Answer> {
        let over = &*self;
        match pace {
            Pace::InTurn => calls.iter().map(|call| over.call(call)).collect(),
            Pace::AtOnce => thread::scope(|scope| {
                let ask = |call| scope.spawn(move || over.call(call));
                let threads: Vec<_> = calls.iter().map(ask).collect();
                let answers = threads.into_iter();
                answers.map(|thread| thread.join().unwrap()).collect()
            }),
        }
    }

    fn search(&mut self, query: &str) -> Vec<String> {
        let arguments = json!({ "query": query, "limit": 20 });
        let params = json!({ "name": "tool_search", "arguments": arguments });
        found(&json_text(&self.ask("tools/call", &params)))
    }

    fn records(&self) -> Vec<Value> {
        recorded(&self.state())
    }

    fn questions(&self) -> Vec<String> {
        Vec::new()
    }
}

impl OverHttp {
    fn state(&self) -> PathBuf {
        self.home.path("state/toolsearch/sessions")
    }
}

impl Drop for OverHttp {
    fn drop(&mut self) {
        // Asked, not killed, so that its servers end with it.
        let pid = self.child.id().to_string();
        let asked = Command::new("kill").args(["-INT", &pid]).status();
        if !asked.is_ok_and(|status| status.success()) {
            let _ = self.child.kill();
        }
        let _ = self.child.wait();
    }
}
