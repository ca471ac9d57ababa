//! A caller that writes HTTP itself.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::{HttpGateway, PATIENCE};

/// What came back.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) session: Option<String>,
    pub(super) body: String,
}

/// One request on a connection of its own.
pub(super) fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let more: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nAccept: application/json\r\n\
         Content-Length: {}\r\n{more}\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line.split(' ').nth(1).expect("a status").parse().unwrap();
    let mut session = None;
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(": ") else {
            break;
        };
        if name.eq_ignore_ascii_case("mcp-session-id") {
            session = Some(value.to_owned());
        }
    }
    let mut body = String::new();
    reader.read_to_string(&mut body).unwrap();
    Answer {
        status,
        session,
        body,
    }
}

/// A session that a caller opened.
pub(super) struct Caller {
    address: String,
    path: String,
    headers: Vec<(String, String)>,
    /// The result of `initialize`.
    pub(super) hello: Value,
}

impl Caller {
    pub(super) fn open(gateway: &HttpGateway, path: &str, token: Option<&str>) -> Self {
        Self::try_open(gateway, path, token)
            .unwrap_or_else(|answer| panic!("{} {}", answer.status, answer.body))
    }

    pub(super) fn try_open(
        gateway: &HttpGateway,
        path: &str,
        token: Option<&str>,
    ) -> Result<Self, Answer> {
        let token = token.map(|token| ("Authorization".to_owned(), format!("Bearer {token}")));
        let mut caller = Self {
            address: gateway.address().to_owned(),
            path: path.to_owned(),
            headers: token.into_iter().collect(),
            hello: Value::Null,
        };
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "by hand", "version": "1" },
        }});
        let answer = caller.send(&hello);
        let Some(session) = answer.session.clone() else {
            return Err(answer);
        };
        caller.headers.push(("Mcp-Session-Id".to_owned(), session));
        let mut hello: Value = serde_json::from_str(&answer.body).unwrap();
        caller.hello = hello["result"].take();
        Ok(caller)
    }

    fn send(&self, message: &Value) -> Answer {
        let headers: Vec<(&str, &str)> = self
            .headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        request(
            &self.address,
            "POST",
            &self.path,
            &headers,
            &message.to_string(),
        )
    }

    pub(super) fn ask(&self, method: &str, params: &Value) -> Answer {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.send(&message)
    }

    pub(super) fn result(&self, method: &str, params: &Value) -> Value {
        let answer = self.ask(method, params);
        let mut message: Value = serde_json::from_str(&answer.body).unwrap();
        assert!(message.get("error").is_none(), "{message}");
        message["result"].take()
    }

    pub(super) fn call(&self, name: &str, arguments: &Value) -> Value {
        self.result(
            "tools/call",
            &json!({ "name": name, "arguments": arguments }),
        )
    }

    /// Entries of `tools/list`.
    pub(super) fn list(&self) -> Vec<Value> {
        let list = self.result("tools/list", &json!({}));
        list["tools"].as_array().unwrap().clone()
    }
}

/// A caller whose requests stand for themselves, as of 2026-07-28.
pub(super) struct Alone {
    address: String,
    path: String,
    capabilities: Value,
}

impl Alone {
    pub(super) fn new(gateway: &HttpGateway, path: &str, capabilities: Value) -> Self {
        Self {
            address: gateway.address().to_owned(),
            path: path.to_owned(),
            capabilities,
        }
    }

    /// One request with further headers; gives the status and the message.
    pub(super) fn ask_with(
        &self,
        method: &str,
        mut params: Value,
        more: &[(&str, &str)],
    ) -> (u16, Value) {
        let name = params.get("name").and_then(Value::as_str);
        let name = name.unwrap_or_default().to_owned();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "alone", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        let mut headers = vec![
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ];
        if !name.is_empty() {
            headers.push(("Mcp-Name", &name));
        }
        headers.extend(more);
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let answer = request(
            &self.address,
            "POST",
            &self.path,
            &headers,
            &message.to_string(),
        );
        let message = serde_json::from_str(&answer.body)
            .unwrap_or_else(|_| panic!("{} {}", answer.status, answer.body));
        (answer.status, message)
    }

    pub(super) fn ask(&self, method: &str, params: Value) -> (u16, Value) {
        self.ask_with(method, params, &[])
    }

    /// The result of a request that is answered.
    pub(super) fn result(&self, method: &str, params: Value) -> Value {
        let (status, mut message) = self.ask(method, params);
        assert_eq!(status, 200, "{message}");
        assert!(message.get("error").is_none(), "{message}");
        message["result"].take()
    }
}
