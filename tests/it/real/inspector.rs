//! The command line of the MCP inspector, which lists and calls once a run.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::client::real;
use super::world::{NODE, World};
use crate::support::{HttpGateway, Mode, json_text, names, program};

/// What the inspector prints for these arguments.
fn inspect(server: &[String], args: &[&str]) -> Value {
    let mut inspector = Command::new(real(&format!("{NODE}/mcp-inspector")));
    inspector.arg("--cli").args(server).args(args);
    let output = inspector.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        panic!("{error}: {text}\n{complaint}")
    })
}

fn finds_and_calls(world: &World, server: &[String]) {
    let list = inspect(server, &["--method", "tools/list"]);
    let tools: Vec<Value> = serde_json::from_value(list["tools"].clone()).unwrap();
    assert_eq!(names(&tools), ["tool_search", "tool_describe", "tool_call"]);
    let call = ["--method", "tools/call", "--tool-name"];
    let search = ["tool_search", "--tool-arg", "query=write text into a file"];
    let found = inspect(server, &[&call[..], &search].concat());
    let found = json_text(&found);
    let candidates = found["candidates"].as_array().unwrap();
    let id = "mcp:files:write_file";
    assert!(candidates.iter().any(|hit| hit["id"] == id), "{found}");
    let note = world.file("note.txt");
    let id = format!("id={id}");
    let args = serde_json::json!({ "path": note, "content": "inspected\n" });
    let args = format!("args={args}");
    let write = ["tool_call", "--tool-arg", &id, "--tool-arg", &args];
    let written = inspect(server, &[&call[..], &write].concat());
    assert_ne!(written["isError"], true, "{written}");
    assert_eq!(fs::read_to_string(&note).unwrap(), "inspected\n");
}

#[test]
fn the_inspector_over_standard_input_and_output() {
    let world = World::new(Mode::Tools);
    // The inspector has a flag --config of its own.
    let state = format!("XDG_STATE_HOME={}", world.home.path("state").display());
    let config = format!("TOOLSEARCH_CONFIG={}", world.home.config().display());
    let program = program().display().to_string();
    let words = ["-e", &state, "-e", &config, &program, "serve"];
    let server = words.map(str::to_owned);
    finds_and_calls(&world, &server);
}

#[test]
fn the_inspector_over_http() {
    let world = World::new(Mode::Tools);
    let gateway = HttpGateway::start(&world.home, &[]);
    let server = [
        gateway.url.clone(),
        "--transport".to_owned(),
        "http".to_owned(),
    ];
    finds_and_calls(&world, &server);
}
