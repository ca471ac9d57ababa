//! An MCP server for tests: it lists and answers what a file says and writes down every call as it
//! came. `scripted-server SCENARIO LOG [ARGUMENTS...]`
//!
//! The scenario is `{"tools": [...], "results": {NAME: RESULT}}`; both are sent on with their digits
//! untouched. A tool without a result gives its arguments back. Words stand for more than a result:
//!
//! * `"surroundings"` gives the arguments and the environment of this process,
//! * `"complain"` is an error that quotes all of them,
//! * `"unknown"` is the error of a server that has lost the tool,
//! * `"exit"` writes them to standard error and ends the process without an answer.
//!
//! With the key `"start": "exit"` it ends like that before it says anything.

use std::env;
use std::ffi::OsStr;
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
    if scenario["start"] == "exit" {
        end(&args[2..]);
    }
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
                result(&scenario, &message["params"], &args[2..])
            }
            "ping" => Ok(json!({})),
            other => Err((-32601, format!("no method {other}"))),
        };
        let reply = match answer {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err((code, message)) => json!({
                "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message },
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

fn result(scenario: &Value, params: &Value, args: &[String]) -> Result<Value, (i64, String)> {
    let name = params["name"].as_str().unwrap_or_default();
    let Some(result) = scenario["results"].get(name) else {
        let arguments = params.get("arguments").cloned().unwrap_or(Value::Null);
        return Ok(structured(arguments));
    };
    match result.as_str() {
        Some("surroundings") => Ok(structured(surroundings(args))),
        Some("complain") => Err((-32000, format!("cannot work with {}", surroundings(args)))),
        Some("unknown") => Err((-32602, format!("Unknown tool: {name}"))),
        Some("exit") => end(args),
        _ => Ok(result.clone()),
    }
}

fn surroundings(args: &[String]) -> Value {
    let text = |text: &OsStr| text.to_string_lossy().into_owned();
    let environment: Map<String, Value> = env::vars_os()
        .map(|(name, value)| (text(&name), Value::from(text(&value))))
        .collect();
    json!({ "args": args, "env": environment })
}

fn end(args: &[String]) -> ! {
    // What cannot be written is not missed.
    let _ = writeln!(io::stderr(), "{}", surroundings(args));
    std::process::exit(3)
}

fn structured(value: Value) -> Value {
    json!({
        "content": [{ "type": "text", "text": value.to_string() }],
        "structuredContent": value,
    })
}
