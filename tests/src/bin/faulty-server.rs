//! An MCP server with one fault, which goes by a name, and otherwise right. Every message that it
//! receives is written down as a line of LOG.
//!
//! `faulty-server FAULT LOG` speaks on its standard streams. `faulty-server --http FAULT LOG` serves on
//! a port of the loopback address, prints the address of the endpoint, and ends when its input does.
//!
//! Its tools are `work`, which gives its arguments back, and `act`, which shows the fault where the
//! fault is one of calls.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that tests run"
)]

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// The longest line that is printed.
const LONG: usize = 50 * 1024 * 1024;
const LIST_CHANGED: &str = "notifications/tools/list_changed";

fn main() -> Result<()> {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let http = args.first().is_some_and(|arg| arg == "--http");
    if http {
        args.remove(0);
    }
    let [fault, log] = &args[..] else {
        bail!("usage: faulty-server [--http] FAULT LOG");
    };
    let server = Server {
        fault: fault.clone(),
        log: log.clone(),
        ..Server::default()
    };
    if http {
        return serve_http(server);
    }
    serve_lines(server)
}

#[derive(Default)]
struct Server {
    fault: String,
    log: String,
    calls: usize,
    lists: usize,
    changed: bool,
    session: usize,
    /// A call that is answered when it is taken back.
    late: Option<Value>,
}

impl Server {
    fn is(&self, fault: &str) -> bool {
        self.fault == fault
    }

    fn write_down(&self, line: &str) -> Result<()> {
        let mut log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)?;
        writeln!(log, "{line}")?;
        Ok(())
    }

    /// What is said about a message, line by line, where there is nothing wrong with saying it.
    fn answers(&mut self, message: &Value) -> Vec<String> {
        let method = message["method"].as_str().unwrap_or_default();
        if method == "notifications/cancelled" {
            let late = self.late.take().into_iter();
            return late.map(|call| reply(&call, &text("too late"))).collect();
        }
        if message.get("id").is_none() {
            return Vec::new();
        }
        match method {
            "initialize" => vec![reply(message, &hello())],
            "tools/list" => vec![reply(message, &self.page())],
            "tools/call" => self.call(message),
            _ => {
                let error = json!({ "code": -32601, "message": "no such method" });
                let id = &message["id"];
                vec![json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()]
            }
        }
    }

    fn page(&mut self) -> Value {
        self.lists += 1;
        if self.is("endless-pages") {
            let number = self.lists;
            let names = (0..3).map(|one| tool(&format!("page_{number}_{one}"), "Endless."));
            let tools: Vec<Value> = names.collect();
            return json!({ "tools": tools, "nextCursor": format!("page {number}") });
        }
        let acts = match self.changed {
            true => "Acts otherwise.",
            false => "Acts.",
        };
        let mut tools = vec![tool("work", "Works."), tool("act", acts)];
        if self.is("huge-schema") {
            let mut huge = tool("huge", "Is huge.");
            let property = json!({ "type": "string", "description": "x".repeat(2 * 1024 * 1024) });
            huge["inputSchema"]["properties"]["huge"] = property;
            tools.insert(0, huge);
        }
        json!({ "tools": tools })
    }

    fn call(&mut self, message: &Value) -> Vec<String> {
        self.calls += 1;
        if message["params"]["name"] != "act" {
            return vec![reply(message, &text("worked"))];
        }
        let right = reply(message, &text("acted"));
        let change = json!({ "jsonrpc": "2.0", "method": LIST_CHANGED }).to_string();
        match self.fault.as_str() {
            "junk-on-stdout" => vec![
                "Request: GET /act 200".to_owned(),
                "{\"level\":\"info\"}".to_owned(),
                right,
            ],
            "never-answers" => Vec::new(),
            "ignores-cancel" => {
                self.late = Some(message.clone());
                Vec::new()
            }
            "answers-twice" => vec![right, reply(message, &text("acted again"))],
            "wrong-id" => {
                let mut other = message.clone();
                other["id"] = json!(987_654_321);
                vec![reply(&other, &text("acted"))]
            }
            "long-line" => vec![reply(message, &text(&"x".repeat(LONG)))],
            "list-changed-storm" => {
                let mut lines = vec![change; 500];
                lines.push(right);
                lines
            }
            "changes-a-definition" => {
                self.changed = true;
                vec![change, right]
            }
            _ => vec![right],
        }
    }
}

fn hello() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": { "tools": { "listChanged": true } },
        "serverInfo": { "name": "faulty", "version": "1.0.0" },
    })
}

fn tool(name: &str, description: &str) -> Value {
    let schema = json!({ "type": "object", "properties": {} });
    json!({ "name": name, "description": description, "inputSchema": schema })
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn reply(message: &Value, result: &Value) -> String {
    // The id comes first, as most servers write it.
    let id = &message["id"];
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}")
}

/// One message a line.
fn serve_lines(mut server: Server) -> Result<()> {
    let mut output = io::stdout().lock();
    if server.is("junk-on-stdout") {
        writeln!(output, "Faulty server v1 \u{1f680}\n\n{{\"ready\":true}}")?;
        output.flush()?;
    }
    for line in io::stdin().lock().lines() {
        let line = line?;
        server.write_down(&line)?;
        let message: Value = serde_json::from_str(&line)?;
        if server.is("slow-start") && message["method"] == "initialize" {
            wait_for(&format!("{}.go", server.log));
        }
        let acts = message["params"]["name"] == "act";
        if acts && server.is("dies-mid-call") {
            eprintln!("out of paper");
            std::process::exit(3);
        }
        if acts && server.is("half-a-line") {
            write!(
                output,
                "{{\"jsonrpc\":\"2.0\",\"id\":{},\"resu",
                message["id"]
            )?;
            output.flush()?;
            continue;
        }
        for answer in server.answers(&message) {
            writeln!(output, "{answer}")?;
        }
        output.flush()?;
    }
    Ok(())
}

/// Until somebody makes this file.
fn wait_for(path: &str) {
    while !Path::new(path).exists() {
        thread::sleep(Duration::from_millis(20));
    }
}

/// One message a request, every connection on a thread of its own.
fn serve_http(server: Server) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let scheme = match server.is("tls-failure") {
        true => "https",
        false => "http",
    };
    println!("{scheme}://{}/mcp", listener.local_addr()?);
    let server = Arc::new(Mutex::new(server));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&server);
            thread::spawn(move || {
                if let Err(error) = connection(&server, stream) {
                    eprintln!("a connection ended: {error}");
                }
            });
        }
    });
    io::copy(&mut io::stdin(), &mut io::sink())?;
    Ok(())
}

/// What a request is answered with.
enum Answer {
    Is(u16, &'static str, String),
    Never,
}

fn connection(server: &Mutex<Server>, stream: TcpStream) -> Result<()> {
    let mut output = stream.try_clone()?;
    let mut input = BufReader::new(stream);
    if lock(server)?.is("tls-failure") {
        output.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")?;
        // Until the other side has read it.
        io::copy(&mut input, &mut io::sink())?;
        return Ok(());
    }
    while let Some((method, headers, body)) = request(&mut input)? {
        let answer = answer(&mut *lock(server)?, &method, &headers, &body)?;
        let Answer::Is(status, header, body) = answer else {
            io::copy(&mut input, &mut io::sink())?;
            return Ok(());
        };
        write!(
            output,
            "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n{header}\r\n{body}",
            body.len()
        )?;
        output.flush()?;
    }
    Ok(())
}

fn lock(server: &Mutex<Server>) -> Result<std::sync::MutexGuard<'_, Server>> {
    server
        .lock()
        .map_err(|_| anyhow::anyhow!("another thread failed"))
}

type Request = (String, BTreeMap<String, String>, String);

fn request(input: &mut impl BufRead) -> Result<Option<Request>> {
    let mut line = String::new();
    if input.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let method = line.split(' ').next().context("no method")?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        input.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").map(|text| text.parse());
    let mut body = vec![0; length.transpose()?.unwrap_or(0)];
    input.read_exact(&mut body)?;
    Ok(Some((method, headers, String::from_utf8(body)?)))
}

fn answer(
    server: &mut Server,
    method: &str,
    headers: &BTreeMap<String, String>,
    body: &str,
) -> Result<Answer> {
    let status = |status| Answer::Is(status, "", String::new());
    if method != "POST" {
        return Ok(status(405));
    }
    server.write_down(body)?;
    let message: Value = serde_json::from_str(body)?;
    let acts = message["params"]["name"] == "act";
    match server.fault.as_str() {
        "http-401" => {
            let challenge = "WWW-Authenticate: Bearer error=\"invalid_token\"\r\n";
            return Ok(Answer::Is(401, challenge, String::new()));
        }
        "http-429" if acts => return Ok(Answer::Is(429, "Retry-After: 120\r\n", String::new())),
        "http-500" if acts => return Ok(Answer::Is(500, "", "out of paper".to_owned())),
        "http-never-answers" if acts => return Ok(Answer::Never),
        "http-404-session" => {
            if message["method"] == "initialize" {
                server.session += 1;
                let header = match server.session {
                    1 => "Mcp-Session-Id: first\r\n",
                    _ => "Mcp-Session-Id: second\r\n",
                };
                return Ok(Answer::Is(200, header, reply(&message, &hello())));
            }
            server.changed |= acts;
            let known = match server.changed {
                true => "second",
                false => "first",
            };
            if headers.get("mcp-session-id").map(String::as_str) != Some(known) {
                return Ok(status(404));
            }
        }
        _ => {}
    }
    let lines = server.answers(&message);
    Ok(match lines.last() {
        Some(line) => Answer::Is(200, "", line.clone()),
        None => status(202),
    })
}
