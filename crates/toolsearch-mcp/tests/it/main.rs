//! Real child processes that speak MCP, well and badly: `fixtures/scripted.py` plays a scenario.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail like tests")]

mod besides;
mod calls;
mod conformance;
mod http;
mod known;
mod lists;
mod login;
mod protocol;
mod trouble;
mod web;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolsearch_catalog::{Outcome, Source, ToolDescriptor};
use toolsearch_invoke::{
    CallId, Invocation, InvokeError, Invoker, Listing, Progress, ProgressSink,
};
use toolsearch_mcp::{McpServer, ServerSpec};

/// Long enough for a process on a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(20);

fn spec(scenario: &Value) -> ServerSpec {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/scripted.py");
    let args = [script.to_string_lossy().into_owned(), scenario.to_string()];
    ServerSpec::stdio("demo", "python3", args)
}

fn server(scenario: &Value) -> Arc<McpServer> {
    McpServer::new(spec(scenario))
}

fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object", "properties": {} } })
}

/// An `echo` that answers with its arguments, beside other tools.
fn with_echo(mut scenario: Value, tools: &[&str]) -> Value {
    let tools: Vec<Value> = std::iter::once("echo")
        .chain(tools.iter().copied())
        .map(tool)
        .collect();
    scenario["tools"] = Value::Array(tools);
    scenario["call"]["echo"] = json!([{ "echo": true }]);
    scenario
}

fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn names(listing: &Listing) -> Vec<&str> {
    listing
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect()
}

fn invocation(name: &str, args: Value, timeout: Duration) -> Invocation {
    let tool = ToolDescriptor::new(Source::Mcp, "demo", name, json!({})).unwrap();
    let Value::Object(args) = args else {
        panic!("arguments are an object")
    };
    Invocation::new(Arc::new(tool), args, CallId::outer(1), timeout)
}

async fn call(server: &McpServer, name: &str, args: Value) -> Result<Outcome, InvokeError> {
    server.invoke(invocation(name, args, PATIENCE)).await
}

async fn call_text(server: &McpServer, name: &str) -> String {
    call(server, name, Value::Object(Map::new()))
        .await
        .unwrap()
        .joined_text()
}

/// A folder with a log of what a scripted server received.
struct Log(tempfile::TempDir);

impl Log {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("received")
    }

    fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.path()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn messages(&self) -> Vec<Value> {
        self.lines()
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn with_method(&self, method: &str) -> Vec<Value> {
        self.messages()
            .into_iter()
            .filter(|message| message["method"] == method)
            .collect()
    }
}

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<Progress>>);

impl ProgressSink for Heard {
    fn progress(&self, progress: Progress) {
        self.0.lock().unwrap().push(progress);
    }
}
