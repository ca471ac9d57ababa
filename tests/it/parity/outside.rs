//! Doors of the built program: two commands, and the gateway.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};

use crate::support::{Gateway, Home, Lines, document, json_text};

use super::door::{Answer, Call, Door, Kind, Pace};
use super::programs;
use super::scene::{APPROVED, Scene};

pub(super) fn call(scene: &Scene) -> CallCommand {
    CallCommand(Commands::of(scene))
}

pub(super) fn run(scene: &Scene) -> RunCommand {
    RunCommand(Commands::of(scene))
}

pub(super) fn gateway(scene: &Scene) -> OverStdio {
    let commands = Commands::of(scene);
    let lines = Lines::start(commands.home.command(&["serve"]));
    OverStdio {
        gateway: Gateway::greet_with(lines, commands.home, clerk),
        state: commands.state,
    }
}

/// The program over the scene's configuration.
struct Commands {
    home: Home,
    state: PathBuf,
}

impl Commands {
    fn of(scene: &Scene) -> Self {
        let home = scene.home.twin();
        let state = home.path("state/toolsearch/sessions");
        Self { home, state }
    }

    fn output(&self, args: &[&str]) -> (Output, Value) {
        let output = self.home.run(args);
        let document = document(&output, args);
        (output, document)
    }
}

/// Lines of all session logs that tell of a call, oldest first.
pub(super) fn recorded(state: &Path) -> Vec<Value> {
    let mut logs: Vec<PathBuf> = match fs::read_dir(state) {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => Vec::new(),
    };
    logs.sort();
    let mut called = Vec::new();
    for log in logs {
        for line in fs::read_to_string(log).unwrap().lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            if event["event"] == "called" {
                called.push(event);
            }
        }
    }
    called
}

/// Ids of the hits of a search.
pub(super) fn found(answer: &Value) -> Vec<String> {
    let hits = answer["candidates"].as_array().unwrap();
    let ids: Vec<Value> = hits.iter().map(|hit| hit["id"].clone()).collect();
    programs::ids(&Value::from(ids))
}

/// `toolsearch call`: every call is a session of its own, and nobody is at a terminal.
pub(super) struct CallCommand(Commands);

impl Door for CallCommand {
    fn kind(&self) -> Kind {
        Kind {
            nested: false,
            lasting: false,
            whole: true,
            asks: false,
        }
    }

    fn calls(&mut self, calls: &[Call], pace: Pace) -> Vec<Answer> {
        assert_eq!(pace, Pace::InTurn);
        let answer = |call: &Call| {
            let args = call.args.to_string();
            let (output, told) = self
                .0
                .output(&["call", &call.id, "--args", &args, "--json"]);
            let error = &told["error"];
            let answer = match error["code"].as_str() {
                Some(code) => {
                    let message = error["message"].as_str().unwrap();
                    Answer::new(Some(code.to_owned()), message)
                }
                None => Answer::of_result(&told["result"]),
            };
            let exit = match answer.code() {
                "ok" => 0,
                "not_found" | "invalid_arguments" => 2,
                "policy_denied" | "approval_denied" => 3,
                "unavailable" => 4,
                _ => 1,
            };
            assert_eq!(output.status.code(), Some(exit), "{answer:?}");
            answer
        };
        calls.iter().map(answer).collect()
    }

    fn search(&mut self, query: &str) -> Vec<String> {
        found(&self.0.output(&["search", query, "-n", "20", "--json"]).1)
    }

    fn records(&self) -> Vec<Value> {
        recorded(&self.0.state)
    }

    fn questions(&self) -> Vec<String> {
        Vec::new()
    }
}

/// `toolsearch run`: every program is a session of its own, and nobody is at a terminal.
pub(super) struct RunCommand(Commands);

impl RunCommand {
    fn run(&self, code: &str) -> Value {
        fs::write(self.0.home.path("program.js"), code).unwrap();
        let args = ["run", "program.js", "--timeout-ms", "60000", "--json"];
        let (output, ran) = self.0.output(&args);
        assert!(output.status.success() && ran["ok"] == true, "{ran}");
        ran["value"].clone()
    }
}

impl Door for RunCommand {
    fn kind(&self) -> Kind {
        Kind {
            nested: true,
            lasting: true,
            whole: true,
            asks: false,
        }
    }

    fn calls(&mut self, calls: &[Call], pace: Pace) -> Vec<Answer> {
        programs::answers(&self.run(&programs::program(calls, pace)))
    }

    fn search(&mut self, query: &str) -> Vec<String> {
        programs::ids(&self.run(&programs::searching(query)))
    }

    fn records(&self) -> Vec<Value> {
        recorded(&self.0.state)
    }

    fn questions(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The tool that a question is about.
fn asked_about(question: &Value) -> &str {
    let message = question["message"].as_str().unwrap();
    message.split('`').nth(1).unwrap()
}

/// Approves of some tools, one call at a time.
fn clerk(question: &Value) -> Value {
    let choice = match APPROVED.contains(&asked_about(question)) {
        true => "once",
        false => "deny",
    };
    json!({ "action": "accept", "content": { "choice": choice } })
}

/// `toolsearch serve` on standard input and output.
pub(super) struct OverStdio {
    gateway: Gateway,
    state: PathBuf,
}

impl Door for OverStdio {
    fn kind(&self) -> Kind {
        Kind {
            nested: false,
            lasting: true,
            whole: false,
            asks: true,
        }
    }

    fn calls(&mut self, calls: &[Call], pace: Pace) -> Vec<Answer> {
        let requests: Vec<Value> = calls
            .iter()
            .map(|call| json!({ "name": "tool_call", "arguments": call.to_json() }))
            .collect();
        let answers = match pace {
            Pace::AtOnce => self.gateway.request_all("tools/call", &requests),
            Pace::InTurn => requests
                .iter()
                .map(|params| self.gateway.request("tools/call", params))
                .collect(),
        };
        let results = answers.iter().map(|answer| &answer["result"]);
        results.map(Answer::of_result).collect()
    }

    fn search(&mut self, query: &str) -> Vec<String> {
        let asked = json!({ "query": query, "limit": 20 });
        found(&json_text(&self.gateway.call("tool_search", &asked)))
    }

    fn records(&self) -> Vec<Value> {
        recorded(&self.state)
    }

    fn questions(&self) -> Vec<String> {
        let asked = self.gateway.asked.iter();
        asked.map(|one| asked_about(one).to_owned()).collect()
    }
}
