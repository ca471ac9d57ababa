//! A host with a few tools, and the ways to run a program against it.

use std::{
    future::Future,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use toolsearch_sandbox::*;
use toolsearch_sandbox_process::{Options, ProcessEngine, Worker};

#[derive(Debug, Default)]
pub(crate) struct Tools {
    pub(crate) recorded: Mutex<Vec<Value>>,
    pub(crate) logged: Mutex<Vec<String>>,
    pub(crate) open: AtomicUsize,
    pub(crate) most_open: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
    pub(crate) pause: Pause,
}

/// Counts a call as open while it is.
struct Open<'a>(&'a Tools, bool);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
        if !self.1 {
            self.0.dropped.fetch_add(1, Ordering::SeqCst);
        }
    }
}

#[async_trait::async_trait]
impl Host for Tools {
    async fn call(&self, method: &str, args: Value) -> HostReply {
        let now = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_open.fetch_max(now, Ordering::SeqCst);
        let mut open = Open(self, false);
        let reply = self.answer(method, args).await;
        open.1 = true;
        reply
    }

    fn log(&self, line: &LogLine) {
        self.logged.lock().unwrap().push(line.text.clone());
    }

    fn pause(&self) -> Option<Pause> {
        Some(self.pause.clone())
    }
}

impl Tools {
    async fn answer(&self, method: &str, args: Value) -> HostReply {
        let tool = args["id"].as_str().unwrap_or_default().to_owned();
        let input = &args["args"];
        match (method, tool.as_str()) {
            ("search", _) => HostReply::Value(json!([{ "id": "add", "name": "add" }])),
            ("describe", _) => HostReply::Value(json!({ "id": tool })),
            (_, "add") => {
                let sum = input["a"].as_i64().unwrap_or(0) + input["b"].as_i64().unwrap_or(0);
                structured(json!({ "sum": sum }))
            }
            (_, "slow") => {
                tokio::time::sleep(Duration::from_millis(input["ms"].as_u64().unwrap())).await;
                structured(json!({ "tag": input["tag"] }))
            }
            (_, "record") => {
                self.recorded.lock().unwrap().push(input["v"].clone());
                structured(json!({ "ok": true }))
            }
            (_, "echo") => structured(input.clone()),
            (_, "page") => structured(
                json!({ "text": "p".repeat(usize::try_from(input["bytes"].as_u64().unwrap()).unwrap()) }),
            ),
            (_, "approval") => {
                let _held = self.pause.hold();
                tokio::time::sleep(Duration::from_millis(input["ms"].as_u64().unwrap())).await;
                structured(json!({ "ok": true }))
            }
            (_, "ask") => HostReply::Suspend {
                handle: format!("ask-{}", input["n"]),
            },
            (_, "never") => std::future::pending().await,
            (_, "denied") => {
                HostReply::Error(HostError::new(ErrorCode::PolicyDenied, "not allowed"))
            }
            _ => {
                let text = input["msg"].as_str().unwrap_or("no such tool");
                HostReply::Error(HostError::new(ErrorCode::ToolError, text))
            }
        }
    }
}

fn structured(value: Value) -> HostReply {
    HostReply::Value(json!({ "tool": { "id": "t" }, "result": { "structuredContent": value } }))
}

pub(crate) fn engine() -> ProcessEngine {
    ProcessEngine::new("quickjs", Worker::current_exe().unwrap())
}

/// An engine whose worker holds another guest of this test.
pub(crate) fn engine_with(guest: &str) -> ProcessEngine {
    let mut options = Options::default();
    options.warm = 0;
    ProcessEngine::with_options(guest, Worker::current_exe().unwrap().arg(guest), options)
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}

pub(crate) fn program(source: &str) -> Program {
    Program::new(source, 42, 1_700_000_000_000)
}

/// Wall clock in milliseconds of programs that are to end by themselves; none comes near it.
pub(crate) const LONG: u64 = 30_000;

pub(crate) fn limits(wall_ms: u64) -> Limits {
    Limits::default().with_wall(Duration::from_millis(wall_ms))
}

/// One run in a fresh engine.
pub(crate) fn run(source: &str, wall_ms: u64) -> (RunReport, Arc<Tools>) {
    let tools = Arc::new(Tools::default());
    let report = block_on(engine().run(program(source), tools.clone(), &limits(wall_ms)));
    (report, tools)
}

#[track_caller]
pub(crate) fn value(source: &str, expected: Value) -> RunReport {
    let (report, _) = run(source, LONG);
    assert_eq!(report.value(), Some(&expected), "{source}\n{report:#?}");
    report
}

#[track_caller]
pub(crate) fn fails(source: &str, wall_ms: u64, code: ErrorCode) -> (RunReport, Arc<Tools>) {
    let (report, tools) = run(source, wall_ms);
    assert_eq!(
        report.error().map(|e| &e.code),
        Some(&code),
        "{source}\n{report:#?}"
    );
    (report, tools)
}
