//! Logging in to a server over HTTP: a real loopback server that wants a token, and an authorization
//! server beside it that gives one.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::World;

const TOKEN: &str = "access-4711-planted";

/// A request as it came.
struct Request {
    line: String,
    token: bool,
    body: String,
}

/// A server for MCP and for logins at one address.
struct Place {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Place {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let log = Arc::clone(&log);
                std::thread::spawn(move || serve(stream.expect("a client"), port, &log));
            }
        });
        Self { port, seen }
    }

    fn seen(&self, part: &str) -> bool {
        let seen = self.seen.lock().expect("whole");
        seen.iter().any(|line| line.contains(part))
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let (mut length, mut token) = (0, false);
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim();
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':')?;
        match name.to_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "authorization" => token = value.trim() == format!("Bearer {TOKEN}"),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        line,
        token,
        body: String::from_utf8(body).ok()?,
    })
}

fn serve(mut stream: TcpStream, port: u16, log: &Mutex<Vec<String>>) {
    let Some(request) = read(&stream) else { return };
    let entry = format!("{} {}", request.line.trim(), request.body);
    log.lock().expect("whole").push(entry);
    let base = format!("http://127.0.0.1:{port}");
    let path = request.line.split(' ').nth(1).unwrap_or_default();
    let (status, more, body) = answer(&request, path, &base);
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nConnection: close\r\n{more}\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
}

fn answer(request: &Request, path: &str, base: &str) -> (&'static str, String, String) {
    let json = |value: Value| ("200 OK", String::new(), value.to_string());
    if path.starts_with("/.well-known/oauth-protected-resource") {
        return json(json!({ "resource": format!("{base}/mcp"), "authorization_servers": [base] }));
    }
    if path.starts_with("/.well-known/") {
        return json(json!({
            "issuer": base,
            "authorization_endpoint": format!("{base}/authorize"),
            "token_endpoint": format!("{base}/token"),
            "registration_endpoint": format!("{base}/register"),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }));
    }
    match path {
        "/register" => {
            let mut given: Value = serde_json::from_str(&request.body).expect("JSON");
            given["client_id"] = json!("client-1");
            ("201 Created", String::new(), given.to_string())
        }
        "/token" => json(json!({
            "access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600,
        })),
        "/mcp" if !request.token => {
            let at = format!("{base}/.well-known/oauth-protected-resource/mcp");
            let challenge = format!("WWW-Authenticate: Bearer resource_metadata=\"{at}\"\r\n");
            ("401 Unauthorized", challenge, String::new())
        }
        "/mcp" => speak(&request.body),
        _ => ("404 Not Found", String::new(), String::new()),
    }
}

/// What the MCP server says.
fn speak(body: &str) -> (&'static str, String, String) {
    let Ok(message) = serde_json::from_str::<Value>(body) else {
        return ("405 Method Not Allowed", String::new(), String::new());
    };
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "guarded", "version": "1" },
        }),
        "tools/list" => {
            json!({ "tools": [{ "name": "open", "inputSchema": { "type": "object" } }] })
        }
        _ => return ("202 Accepted", String::new(), String::new()),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    ("200 OK", String::new(), answer.to_string())
}

/// A parameter of an address, in which colons and slashes are all that is escaped.
fn parameter(url: &str, name: &str) -> String {
    let query = url.split_once('?').expect("a query").1;
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let value = pairs.find(|(key, _)| *key == name).expect(name).1;
    value.replace("%3A", ":").replace("%2F", "/")
}

#[test]
fn a_person_logs_in_and_the_server_lets_the_program_in() {
    let place = Place::open();
    let url = format!("http://127.0.0.1:{}/mcp", place.port);
    let config = json!({ "mcpServers": { "guarded": { "url": url } } });
    let world = World::with_config(&config.to_string());
    let before = world.json(&["mcp", "test", "guarded"], 4);
    let error = before["error"].as_str().expect("a reason");
    assert!(error.contains("401") || error.contains("log"), "{error}");

    let mut command = world.command(&["mcp", "login", "guarded", "--no-browser"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut said = stderr.lines().map_while(Result::ok);
    let url = said
        .find(|line| line.starts_with("http"))
        .expect("an address to open");
    assert_eq!(parameter(&url, "code_challenge_method"), "S256");
    // What a browser does once the person has said yes.
    let (back, state) = (parameter(&url, "redirect_uri"), parameter(&url, "state"));
    let back = back
        .strip_prefix("http://")
        .expect("a way back on this machine");
    let (host, path) = back.split_once('/').expect("a path");
    let mut browser = TcpStream::connect(host).expect("somebody waits");
    let request = format!("GET /{path}?code=c-1&state={state} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    browser.write_all(request.as_bytes()).expect("it reads");
    let mut page = String::new();
    browser.read_to_string(&mut page).expect("a page");
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    let rest: Vec<String> = said.collect();
    let ended = child.wait_with_output().expect("it ends");
    assert!(ended.status.success(), "{rest:?}");
    assert!(place.seen("POST /token") && place.seen("code_verifier="));
    assert!(!String::from_utf8_lossy(&ended.stdout).contains(TOKEN));

    let after = world.json(&["mcp", "test", "guarded"], 0);
    assert_eq!(after["toolNames"], json!(["open"]));
    assert_eq!(
        world.json(&["mcp", "logout", "guarded"], 0)["removed"],
        true
    );
    world.json(&["mcp", "test", "guarded"], 4);
}

#[test]
fn what_needs_no_login_says_so() {
    let world = World::with_config("{ mcpServers: { own: { command: 'x' } } }");
    world
        .run(&["mcp", "login", "own"])
        .fails(2, &["`own`", "no login"]);
    world
        .run(&["mcp", "login", "other"])
        .fails(2, &["`other`", "own"]);
}
