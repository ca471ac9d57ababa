//! `toolsearch serve` in front of scripted servers, and a client that writes bare JSON-RPC, so that
//! nothing between the test and the wire can put anything right.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::upstream::received;
use super::{Home, Lines, Upstream, json_text};

/// How tools are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Direct,
    Code,
    Tools,
    Directory,
}

impl Mode {
    /// The value of `tools.toolSearch`.
    pub(crate) fn setting(self) -> Value {
        match self {
            Self::Direct => json!(false),
            // A program needs little time, a busy machine may give it none for long.
            Self::Code => json!({ "mode": "code", "codeTimeoutMs": 60_000 }),
            Self::Tools => json!({ "mode": "tools" }),
            Self::Directory => json!({ "mode": "directory" }),
        }
    }
}

/// A running gateway with a connected client.
pub(crate) struct Gateway {
    lines: Lines,
    /// The result of `initialize`.
    pub(crate) hello: Value,
    pub(crate) home: Home,
    requests: u64,
    person: Option<Person>,
    /// What the person behind the client was asked so far: the parameters of every question.
    pub(crate) asked: Vec<Value>,
}

/// Answers the questions of a server, which come as the parameters of `elicitation/create`.
pub(crate) type Person = fn(&Value) -> Value;

impl Gateway {
    /// A gateway in front of scripted servers.
    pub(crate) fn open(mode: Mode, upstreams: &[Upstream]) -> Self {
        let home = Home::new();
        let servers: Map<String, Value> = upstreams
            .iter()
            .map(|upstream| upstream.install(&home))
            .collect();
        home.configure(&mode.setting(), &Value::Object(servers));
        Self::serve(home)
    }

    /// A gateway with the configuration of a home.
    pub(crate) fn serve(home: Home) -> Self {
        let lines = Lines::start(home.command(&["serve"]));
        Self::greet(lines, home)
    }

    /// A client of the process that speaks in these lines.
    pub(crate) fn greet(lines: Lines, home: Home) -> Self {
        let mut gateway = Self::greet_slowly(lines, home);
        gateway.notify("notifications/initialized");
        gateway
    }

    /// A client with somebody behind it who can be asked.
    pub(crate) fn greet_with(lines: Lines, home: Home, person: Person) -> Self {
        let mut gateway = Self::shaking_hands(lines, home, Some(person));
        gateway.notify("notifications/initialized");
        gateway
    }

    /// The same for any server, with the handshake left one notification short.
    pub(crate) fn greet_slowly(lines: Lines, home: Home) -> Self {
        Self::shaking_hands(lines, home, None)
    }

    fn shaking_hands(lines: Lines, home: Home, person: Option<Person>) -> Self {
        let mut gateway = Self {
            lines,
            hello: Value::Null,
            home,
            requests: 0,
            person,
            asked: Vec::new(),
        };
        let capabilities = match person {
            Some(_) => json!({ "elicitation": {} }),
            None => json!({}),
        };
        let client = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "bare", "version": "1" },
        });
        gateway.hello = gateway.request("initialize", &client)["result"].clone();
        gateway
    }

    pub(crate) fn notify(&mut self, method: &str) {
        let message = json!({ "jsonrpc": "2.0", "method": method });
        self.lines.send(&message.to_string());
    }

    /// The answer to a request.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let answer = self.request_text(method, &params.to_string());
        serde_json::from_str(&answer).unwrap()
    }

    /// The answers to requests that are all made before any answer is read.
    pub(crate) fn request_all(&mut self, method: &str, params: &[Value]) -> Vec<Value> {
        let first = self.requests + 1;
        for params in params {
            self.requests += 1;
            let request = json!({
                "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params,
            });
            self.lines.send(&request.to_string());
        }
        let mut answers: BTreeMap<u64, Value> = BTreeMap::new();
        while answers.len() < params.len() {
            let message: Value = serde_json::from_str(&self.lines.next()).unwrap();
            self.answer(&message);
            let answer = message.get("method").is_none();
            if let Some(id) = message["id"].as_u64().filter(|id| answer && *id >= first) {
                answers.insert(id, message);
            }
        }
        answers.into_values().collect()
    }

    /// Has the person answer a question of the server; other messages are passed over.
    fn answer(&mut self, message: &Value) {
        let (Some(id), Some(method)) = (message.get("id"), message.get("method")) else {
            return;
        };
        let Some(person) = self.person.filter(|_| method == "elicitation/create") else {
            return;
        };
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": person(&message["params"]) });
        self.asked.push(message["params"].clone());
        self.lines.send(&answer.to_string());
    }

    /// The line that answers a request whose parameters are written as they stand.
    pub(crate) fn request_text(&mut self, method: &str, params: &str) -> String {
        self.requests += 1;
        let id = json!(self.requests);
        self.exchange(&id, method, Some(params))
    }

    /// The line that answers a request with this id; notifications before it are passed over.
    pub(crate) fn exchange(&mut self, id: &Value, method: &str, params: Option<&str>) -> String {
        let params = params.map(|params| format!(",\"params\":{params}"));
        let params = params.unwrap_or_default();
        let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\"{params}}}");
        self.lines.send(&line);
        loop {
            let line = self.lines.next();
            let message: Value = serde_json::from_str(&line).unwrap();
            if message.get("method").is_some() {
                self.answer(&message);
                continue;
            }
            assert_eq!(message.get("id"), Some(id), "answers nothing: {line}");
            return line;
        }
    }

    /// Entries of `tools/list`.
    pub(crate) fn list(&mut self) -> Vec<Value> {
        let answer = self.request("tools/list", &json!({}));
        answer["result"]["tools"].as_array().unwrap().clone()
    }

    /// The result of a call.
    pub(crate) fn call(&mut self, name: &str, arguments: &Value) -> Value {
        let params = json!({ "name": name, "arguments": arguments });
        let answer = self.request("tools/call", &params);
        assert!(answer["result"].is_object(), "{name}: {answer}");
        answer["result"].clone()
    }

    /// The result of a catalog tool that is called through the control, and works.
    pub(crate) fn tool(&mut self, id: &str, args: &Value) -> Value {
        let result = self.call("tool_call", &json!({ "id": id, "args": args }));
        assert_eq!(result["isError"], false, "{id}: {result}");
        result
    }

    /// The answer to a search.
    pub(crate) fn search(&mut self, query: &str) -> Value {
        json_text(&self.call("tool_search", &json!({ "query": query })))
    }

    /// Ids of the hits of a search, best first.
    pub(crate) fn found(&mut self, query: &str) -> Vec<String> {
        let answer = self.search(query);
        let hits = answer["candidates"].as_array().unwrap();
        let id = |hit: &Value| hit["id"].as_str().unwrap().to_owned();
        hits.iter().map(id).collect()
    }

    /// The description of a tool.
    pub(crate) fn describe(&mut self, id: &str) -> Value {
        json_text(&self.call("tool_describe", &json!({ "id": id })))
    }

    /// What a program gives back: `{ok, value, …}`.
    pub(crate) fn run(&mut self, code: &str) -> Value {
        json_text(&self.call("tool_search_code", &json!({ "code": code })))
    }

    /// Calls that reached a server: name and arguments, in order.
    pub(crate) fn received(&self, owner: &str) -> Vec<(String, Value)> {
        let call = |line: &String| {
            let message: Value = serde_json::from_str(line).unwrap();
            let name = message["params"]["name"].as_str().unwrap().to_owned();
            let arguments = message["params"].get("arguments").cloned();
            (name, arguments.expect("arguments are always sent"))
        };
        self.received_lines(owner).iter().map(call).collect()
    }

    /// Calls that reached a server, as they stood on the wire.
    pub(crate) fn received_lines(&self, owner: &str) -> Vec<String> {
        received(&self.home, owner)
    }
}
