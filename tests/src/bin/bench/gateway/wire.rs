//! Clients that cost next to nothing: lines over pipes, and HTTP written by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio as Pipe};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// How long a server may take to listen.
const START: Duration = Duration::from_secs(60);

fn greeting() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": { "name": "bench", "version": "1" },
    })
}

fn message(id: u64, method: &str, params: &Value) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// Whether an answer is a result that is no error.
fn sound(answer: &Value) -> anyhow::Result<()> {
    let result = answer.get("result");
    let sound = result.is_some_and(|result| result["isError"] != true);
    ensure!(sound, "not a good answer: {answer}");
    Ok(())
}

/// A client on the pipes of a server.
pub(super) struct Stdio {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    next: u64,
}

impl Stdio {
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Self> {
        command.stdin(Pipe::piped()).stdout(Pipe::piped());
        let mut child = command.stderr(Pipe::null()).spawn()?;
        let input = child.stdin.take().context("a pipe")?;
        let output = BufReader::new(child.stdout.take().context("a pipe")?);
        let mut client = Self {
            child,
            input,
            output,
            line: String::new(),
            next: 0,
        };
        client.ask("initialize", &greeting())?;
        writeln!(
            client.input,
            r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#
        )?;
        Ok(client)
    }

    /// Sends a request and gives its number.
    pub(super) fn send(&mut self, method: &str, params: &Value) -> anyhow::Result<u64> {
        self.next += 1;
        let mut text = message(self.next, method, params);
        text.push('\n');
        self.input.write_all(text.as_bytes())?;
        Ok(self.next)
    }

    /// The number of the next request that is answered.
    pub(super) fn answered(&mut self) -> anyhow::Result<(u64, Value)> {
        loop {
            self.line.clear();
            ensure!(
                self.output.read_line(&mut self.line)? > 0,
                "the server ended"
            );
            let answer: Value = serde_json::from_str(&self.line)?;
            if let Some(id) = answer["id"]
                .as_u64()
                .filter(|_| answer.get("method").is_none())
            {
                sound(&answer)?;
                return Ok((id, answer));
            }
        }
    }

    pub(super) fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let sent = self.send(method, params)?;
        let (id, answer) = self.answered()?;
        ensure!(id == sent, "another request was answered");
        Ok(answer)
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that listens on a port of this machine.
pub(super) struct HttpServer {
    child: Child,
    pub(super) port: u16,
}

impl HttpServer {
    /// Starts the product, which says on standard error where it listens.
    pub(super) fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command.stdout(Pipe::null()).stderr(Pipe::piped()).spawn()?;
        let mut stderr = BufReader::new(child.stderr.take().context("a pipe")?);
        let mut line = String::new();
        let port = loop {
            line.clear();
            ensure!(
                stderr.read_line(&mut line)? > 0,
                "the gateway ended before it listened"
            );
            let address = line.split("http://127.0.0.1:").nth(1);
            if let Some(port) = address.and_then(|rest| rest.split('/').next()) {
                break port.trim().parse()?;
            }
        };
        std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Ok(Self { child, port })
    }

    /// Starts another server and waits until it listens.
    pub(super) fn at(command: &mut Command, port: u16) -> anyhow::Result<Self> {
        let child = command.stdin(Pipe::null()).stdout(Pipe::null()).spawn()?;
        let server = Self { child, port };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(begun.elapsed() < START, "it does not listen");
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// Resident memory in KiB.
    pub(super) fn resident_kib(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        Ok(number.context("VmRSS")?.parse()?)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// One connection of a client, and its session.
pub(super) struct Http {
    stream: Option<BufReader<TcpStream>>,
    session: Option<String>,
    next: u64,
}

impl Http {
    pub(super) fn connect(port: u16) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: Some(BufReader::new(stream)),
            session: None,
            next: 0,
        })
    }

    /// The connection number `nth` to the same session. Each numbers its requests in a range of its
    /// own: no two of a session may be under way with one number.
    pub(super) fn beside(&self, port: u16, nth: usize) -> anyhow::Result<Self> {
        let mut client = Self::connect(port)?;
        client.session.clone_from(&self.session);
        client.next = (nth as u64 + 1) << 32;
        Ok(client)
    }

    pub(super) fn hang_up(&mut self) {
        self.stream = None;
    }

    pub(super) fn greet(&mut self) -> anyhow::Result<()> {
        self.ask("initialize", &greeting())?;
        let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        self.exchange(ready).map(|_| ())
    }

    pub(super) fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.next += 1;
        let body = self.exchange(&message(self.next, method, params))?;
        // An event stream holds the answer in the last of its lines with data.
        let text = String::from_utf8(body)?;
        let mut events = text.lines().filter_map(|line| line.strip_prefix("data:"));
        let document = events.next_back().unwrap_or(&text);
        let answer: Value = serde_json::from_str(document.trim())
            .with_context(|| format!("no answer: {text:?}"))?;
        sound(&answer)?;
        Ok(answer)
    }

    fn exchange(&mut self, body: &str) -> anyhow::Result<Vec<u8>> {
        let stream = self.stream.as_mut().context("hung up")?;
        let session = self.session.as_deref();
        let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n"));
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{}\r\n{body}",
            body.len(),
            session.unwrap_or_default(),
        );
        stream.get_mut().write_all(request.as_bytes())?;
        let mut line = String::new();
        stream.read_line(&mut line)?;
        ensure!(
            line.contains(" 200 ") || line.contains(" 202 "),
            "refused: {line}"
        );
        let (mut length, mut chunked) = (0, false);
        loop {
            line.clear();
            ensure!(stream.read_line(&mut line)? > 0, "the server hung up");
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').context("a header")?;
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse()?,
                "transfer-encoding" => chunked = value.trim() == "chunked",
                "mcp-session-id" => self.session = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        if chunked {
            return chunks(stream);
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        Ok(body)
    }
}

fn chunks(stream: &mut BufReader<TcpStream>) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        let Ok(length) = usize::from_str_radix(line.trim(), 16) else {
            bail!("no chunk: {line:?}");
        };
        let start = body.len();
        body.resize(start + length + 2, 0);
        stream.read_exact(&mut body[start..])?;
        body.truncate(start + length);
        if length == 0 {
            return Ok(body);
        }
    }
}
