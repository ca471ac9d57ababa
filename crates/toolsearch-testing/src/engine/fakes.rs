//! An engine that is a closure, and a host that remembers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::Value;
use toolsearch_sandbox::{
    Engine, Host, HostReply, Layers, Limits, LogLine, Program, RunReport, Unsupported,
};

type Running = Pin<Box<dyn Future<Output = RunReport> + Send>>;
type Run = dyn Fn(Program, Arc<dyn Host>, Limits) -> Running + Send + Sync;

/// Runs programs by a closure instead of a language: for tests of what stands around an engine.
pub struct EngineFn(Box<Run>);

impl fmt::Debug for EngineFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EngineFn")
    }
}

impl EngineFn {
    /// Answers every program with what the closure makes of it.
    pub fn new<F, R>(run: F) -> Self
    where
        F: Fn(Program, Arc<dyn Host>, Limits) -> R + Send + Sync + 'static,
        R: Future<Output = RunReport> + Send + 'static,
    {
        Self(Box::new(move |program, host, limits| {
            Box::pin(run(program, host, limits))
        }))
    }
}

#[async_trait]
impl Engine for EngineFn {
    fn name(&self) -> &str {
        "closure"
    }

    fn check(&self) -> Result<Layers, Unsupported> {
        Ok(Layers::default())
    }

    async fn run(&self, program: Program, host: Arc<dyn Host>, limits: &Limits) -> RunReport {
        (self.0)(program, host, limits.clone()).await
    }
}

type Reply = dyn Fn(&str, &Value) -> HostReply + Send + Sync;

/// Answers calls by a closure at once, and remembers calls and log lines.
pub struct RecordingHost {
    reply: Box<Reply>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    calls: Vec<(String, Value)>,
    logs: Vec<LogLine>,
}

impl fmt::Debug for RecordingHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingHost").finish_non_exhaustive()
    }
}

impl RecordingHost {
    /// Answers by this.
    #[must_use]
    pub fn new(reply: impl Fn(&str, &Value) -> HostReply + Send + Sync + 'static) -> Self {
        Self {
            reply: Box::new(reply),
            seen: Mutex::default(),
        }
    }

    /// Method and arguments of every call so far, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<(String, Value)> {
        self.lock().calls.clone()
    }

    /// Every log line so far.
    #[must_use]
    pub fn logs(&self) -> Vec<LogLine> {
        self.lock().logs.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Host for RecordingHost {
    async fn call(&self, method: &str, args: Value) -> HostReply {
        self.lock().calls.push((method.to_owned(), args.clone()));
        (self.reply)(method, &args)
    }

    fn log(&self, line: &LogLine) {
        self.lock().logs.push(line.clone());
    }
}
