//! The host of the suite: `step` gives its number back, `fail` fails, `hang` never answers, `ask` has
//! to wait for a later run.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use toolsearch_sandbox::{ErrorCode, Host, HostError, HostReply, LogLine};

#[derive(Debug)]
pub(super) struct TestHost {
    failure: HostError,
    meeting: Option<Barrier>,
    steps: Mutex<Vec<u64>>,
    logs: Mutex<Vec<String>>,
    open: AtomicUsize,
    most_open: AtomicUsize,
}

impl TestHost {
    pub(super) fn new() -> Self {
        Self::failing(ErrorCode::ToolError, "it failed")
    }

    /// `fail` fails with this.
    pub(super) fn failing(code: ErrorCode, message: &str) -> Self {
        Self {
            failure: HostError::new(code, message),
            meeting: None,
            steps: Mutex::default(),
            logs: Mutex::default(),
            open: AtomicUsize::new(0),
            most_open: AtomicUsize::new(0),
        }
    }

    /// A call is answered only when this many are open: a guest that makes one after the other waits
    /// for ever.
    pub(super) fn meeting(calls: usize) -> Self {
        Self {
            meeting: Some(Barrier::new(calls)),
            ..Self::new()
        }
    }

    pub(super) fn failure(&self) -> &HostError {
        &self.failure
    }

    /// `n` of every call so far, in the order in which they came.
    pub(super) fn steps(&self) -> Vec<u64> {
        lock(&self.steps).clone()
    }

    pub(super) fn logs(&self) -> Vec<String> {
        lock(&self.logs).clone()
    }

    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    pub(super) fn most_open(&self) -> usize {
        self.most_open.load(Ordering::SeqCst)
    }
}

/// What a call brings back.
pub(super) fn answer(n: u64) -> Value {
    let result = json!({"content": [], "structuredContent": {"n": n}, "isError": false});
    json!({"tool": {"id": "native:test:step"}, "result": result})
}

/// The handle under which `ask` waits.
pub(super) fn handle(n: u64) -> String {
    format!("question-{n}")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Open<'a>(&'a AtomicUsize);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Host for TestHost {
    async fn call(&self, method: &str, args: Value) -> HostReply {
        let now = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        let _open = Open(&self.open);
        self.most_open.fetch_max(now, Ordering::SeqCst);
        let n = args["args"]["n"].as_u64();
        let (Some(n), "call") = (n, method) else {
            let text = format!("`{method}` with {args} is not what the program says");
            return HostReply::Error(HostError::new(ErrorCode::ProtocolError, text));
        };
        lock(&self.steps).push(n);
        match args["id"].as_str() {
            Some("step") => {
                if let Some(meeting) = &self.meeting {
                    meeting.wait().await;
                }
                HostReply::Value(answer(n))
            }
            Some("fail") => HostReply::Error(self.failure.clone()),
            Some("hang") => std::future::pending().await,
            Some("ask") => HostReply::Suspend { handle: handle(n) },
            _ => HostReply::Error(HostError::new(ErrorCode::ToolError, "no such tool")),
        }
    }

    fn log(&self, line: &LogLine) {
        lock(&self.logs).push(line.text.clone());
    }
}
