//! Programs in the engine alone, with a host that answers from a table.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use serde_json::{Value, json};
use toolsearch_sandbox::*;

use crate::QuickJs;

mod calls;
mod errors;
mod forms;
mod values;

/// What the fake host saw.
#[derive(Debug, Default)]
struct Seen {
    calls: Vec<(String, Value)>,
    logs: Vec<String>,
    most_open: usize,
}

#[derive(Debug, Default)]
struct Table {
    seen: Rc<RefCell<Seen>>,
    open: VecDeque<GuestAnswer>,
    reverse: bool,
}

impl Bridge for Table {
    fn call(&mut self, call: &GuestCall<'_>) -> Result<(), BridgeClosed> {
        let args: Value = serde_json::from_str(call.args).unwrap();
        let answer = reply(call.method, &args);
        let mut seen = self.seen.borrow_mut();
        seen.calls.push((call.method.to_owned(), args));
        self.open
            .push_back(GuestAnswer::new(call.id, 0, answer.map(|v| v.to_string())));
        seen.most_open = seen.most_open.max(self.open.len());
        Ok(())
    }

    fn sleep(&mut self, id: u32, ms: u64) -> Result<(), BridgeClosed> {
        self.open
            .push_back(GuestAnswer::new(id, ms, Ok("null".into())));
        Ok(())
    }

    fn log(&mut self, line: LogLine) -> Result<(), BridgeClosed> {
        self.seen.borrow_mut().logs.push(line.text);
        Ok(())
    }

    fn receive(&mut self) -> Result<GuestAnswer, BridgeClosed> {
        let next = if self.reverse {
            self.open.pop_back()
        } else {
            self.open.pop_front()
        };
        next.ok_or(BridgeClosed)
    }
}

fn reply(method: &str, args: &Value) -> Result<Value, HostError> {
    match (method, args["id"].as_str()) {
        ("search", _) => Ok(json!([{ "id": "t:add", "name": "add" }])),
        ("describe", Some(id)) => Ok(json!({ "id": id })),
        (_, Some("fail")) => Err(HostError::new(ErrorCode::ToolError, "disk full")),
        (_, Some("denied")) => Err(HostError::new(ErrorCode::PolicyDenied, "not allowed")),
        (_, Some("text")) => Ok(wrap(
            json!({ "content": [{ "type": "text", "text": "plain words" }] }),
        )),
        (_, Some("json")) => Ok(wrap(
            json!({ "content": [{ "type": "text", "text": "{\"items\":[1,2]}" }] }),
        )),
        (_, Some("bad")) => Ok(wrap(
            json!({ "isError": true, "content": [{ "type": "text", "text": "E42" }] }),
        )),
        (_, Some("echo")) => Ok(wrap(json!({ "structuredContent": args["args"].clone() }))),
        _ => {
            let sum =
                args["args"]["a"].as_i64().unwrap_or(0) + args["args"]["b"].as_i64().unwrap_or(0);
            Ok(wrap(json!({ "structuredContent": { "sum": sum } })))
        }
    }
}

fn wrap(result: Value) -> Value {
    json!({ "tool": { "id": "t" }, "result": result })
}

fn run_with(source: &str, limits: &Limits, reverse: bool) -> (GuestOutcome, Seen) {
    let mut engine = QuickJs::new();
    engine.prepare().unwrap();
    let seen = Rc::new(RefCell::new(Seen::default()));
    let bridge = Table {
        seen: seen.clone(),
        reverse,
        ..Table::default()
    };
    let program = GuestProgram::new(source, 7, 1_700_000_000_000);
    let outcome = engine.run(&program, limits, &StopFlag::new(), Box::new(bridge));
    drop(engine);
    (outcome, Rc::into_inner(seen).unwrap().into_inner())
}

fn run(source: &str) -> GuestOutcome {
    run_with(source, &Limits::default(), false).0
}

#[track_caller]
fn value(source: &str, expected: Value) {
    match run(source) {
        GuestOutcome::Value { json, .. } => {
            assert_eq!(
                serde_json::from_str::<Value>(&json).unwrap(),
                expected,
                "{source}"
            );
        }
        other => panic!("{source}\n{other:?}"),
    }
}

#[track_caller]
fn error(source: &str) -> RunError {
    match run(source) {
        GuestOutcome::Failed(error) => error,
        other => panic!("{source}\n{other:?}"),
    }
}

#[track_caller]
fn fails(source: &str, code: ErrorCode, mentions: &[&str]) -> RunError {
    let error = error(source);
    let text = error.to_string();
    assert_eq!(error.code, code, "{source}\n{text}");
    for word in mentions {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
    error
}
