//! An MCP server for tests: it lists and answers what a file says and writes down every call as it
//! came. `scripted-server SCENARIO LOG [ARGUMENTS...]`
//!
//! The scenario is `{"tools": [...], "results": {NAME: RESULT}}`; both are sent on with their digits
//! untouched. A tool without a result gives its arguments back. The result `"surroundings"` gives
//! the arguments and the environment of this process.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

fn main() -> Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [scenario, log, ..] = &args[..] else {
        anyhow::bail!("usage: scripted-server SCENARIO LOG [ARGUMENTS...]");
    };
    let scenario = fs::read_to_string(scenario).context("the scenario cannot be read")?;
    let scenario: Value = serde_json::from_str(&scenario)?;
    let mut output = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line?;
        let message: Value = serde_json::from_str(&line)?;
        let Some(id) = message.get("id") else {
            continue;
        };
        let answer = match message["method"].as_str().unwrap_or_default() {
            "initialize" => Ok(json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "scripted", "version": "1.0.0" },
            })),
            "tools/list" => Ok(json!({ "tools": scenario["tools"] })),
            "tools/call" => {
                write_down(Path::new(log), &line)?;
                Ok(result(&scenario, &message["params"], &args[2..]))
            }
            "ping" => Ok(json!({})),
            other => Err(format!("no method {other}")),
        };
        let reply = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(message) => json!({
                "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": message },
            }),
        };
        writeln!(output, "{reply}")?;
        output.flush()?;
    }
    Ok(())
}

/// A call is on the disk before it is answered, so whoever has the answer can read it.
fn write_down(log: &Path, line: &str) -> Result<()> {
    let mut log = OpenOptions::new().create(true).append(true).open(log)?;
    writeln!(log, "{line}")?;
    Ok(())
}

fn result(scenario: &Value, params: &Value, args: &[String]) -> Value {
    let name = params["name"].as_str().unwrap_or_default();
    match scenario["results"].get(name) {
        Some(Value::String(word)) if word == "surroundings" => {
            let environment: Map<String, Value> = env::vars_os()
                .map(|(name, value)| {
                    let text = |text: &std::ffi::OsStr| text.to_string_lossy().into_owned();
                    (text(&name), Value::from(text(&value)))
                })
                .collect();
            structured(json!({ "args": args, "env": environment }))
        }
        Some(result) => result.clone(),
        None => structured(params.get("arguments").cloned().unwrap_or(Value::Null)),
    }
}

fn structured(value: Value) -> Value {
    json!({
        "content": [{ "type": "text", "text": value.to_string() }],
        "structuredContent": value,
    })
}
