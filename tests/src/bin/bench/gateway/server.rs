//! The server that is measured: as many tools as asked for, one of them `echo`, and nothing that
//! takes time.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

/// Serves standard input and output until it ends.
pub(crate) fn serve(tools: usize) -> anyhow::Result<()> {
    let list = list(tools);
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else {
            continue;
        };
        let result = match message["method"].as_str() {
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": {} },
                "serverInfo": { "name": "echo", "version": "1" },
            }),
            Some("tools/list") => list.clone(),
            Some("tools/call") => {
                let text = message["params"]["arguments"]["text"].as_str();
                json!({ "content": [{ "type": "text", "text": text.unwrap_or("hello") }] })
            }
            Some("ping") => json!({}),
            _ => {
                let error = json!({ "code": -32601, "message": "no such method" });
                let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
                writeln!(output, "{answer}")?;
                output.flush()?;
                continue;
            }
        };
        writeln!(
            output,
            "{}",
            json!({ "jsonrpc": "2.0", "id": id, "result": result })
        )?;
        output.flush()?;
    }
    Ok(())
}

fn list(tools: usize) -> Value {
    let verbs = [
        "create", "list", "update", "archive", "export", "share", "merge",
    ];
    let nouns = [
        "invoice",
        "ticket",
        "branch",
        "report",
        "calendar",
        "contact",
        "deployment",
    ];
    let one = |number: usize| {
        let (verb, noun) = (verbs[number % verbs.len()], nouns[number / 7 % nouns.len()]);
        json!({
            "name": format!("{verb}_{noun}_{number}"),
            "description": format!("Will {verb} one {noun} in the system of record number {number}. \
                                    Gives the {noun} as it is afterwards."),
            "inputSchema": {
                "type": "object",
                "properties": {
                    "id": { "type": "string", "description": format!("Which {noun}.") },
                    "fields": { "type": "array", "items": { "type": "string" } },
                    "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
                },
                "required": ["id"],
            },
        })
    };
    let echo = json!({
        "name": "echo",
        "description": "Says the same.",
        "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
    });
    let mut all = vec![echo];
    all.extend((1..tools).map(one));
    json!({ "tools": all })
}
