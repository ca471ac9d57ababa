//! Running one call. The table [`Invokers`] only says who runs a tool; it runs nothing itself.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};
use toolsearch_catalog::{Outcome, Source, ToolDescriptor};

/// Names one call within a session: `c12`, or `c12.3` for the third call that a program made.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct CallId(String);

impl CallId {
    /// A call that the model made itself; `number` counts per session.
    #[must_use]
    pub fn outer(number: u64) -> Self {
        Self(format!("c{number}"))
    }

    /// A call made inside this one; `number` counts per outer call.
    #[must_use]
    pub fn nested(&self, number: u64) -> Self {
        Self(format!("{}.{number}", self.0))
    }

    /// The text form.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Reads the text form: `c` and one to eight numbers with dots between them.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let numbers: Vec<&str> = text.strip_prefix('c')?.split('.').collect();
        let number = |text: &&str| {
            (1..=20).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
        };
        let legal = numbers.len() <= MAX_CALL_DEPTH && numbers.iter().all(number);
        legal.then(|| Self(text.to_owned()))
    }

    /// The number of the outermost call.
    #[must_use]
    pub fn outermost(&self) -> Option<u64> {
        self.0.strip_prefix('c')?.split('.').next()?.parse().ok()
    }
}

/// How deep a call that is read may stand.
const MAX_CALL_DEPTH: usize = 8;

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// On whose behalf a call runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Caller {
    /// The session.
    pub session: String,
    /// The agent, when one is named.
    pub agent: Option<String>,
    /// Names the request within the session, where the session serves several clients at a time.
    #[serde(skip)]
    pub request: Option<String>,
}

impl Caller {
    /// Names the caller.
    #[must_use]
    pub fn new(session: impl Into<String>, agent: Option<String>) -> Self {
        Self {
            session: session.into(),
            agent,
            request: None,
        }
    }

    /// The same caller, in one of the requests of its session.
    #[must_use]
    pub fn in_request(mut self, request: Option<String>) -> Self {
        self.request = request;
        self
    }
}

/// Progress of a running call, as its owner reports it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// How far, in the owner's own unit; grows.
    pub done: f64,
    /// The same unit for the whole, when known.
    pub total: Option<f64>,
    /// What is going on, in the owner's words: data, never prompt text.
    pub message: Option<String>,
}

impl Progress {
    /// A progress report.
    #[must_use]
    pub const fn new(done: f64, total: Option<f64>, message: Option<String>) -> Self {
        Self {
            done,
            total,
            message,
        }
    }
}

/// Takes progress reports. Must not block.
pub trait ProgressSink: fmt::Debug + Send + Sync {
    /// One report.
    fn progress(&self, progress: Progress);
}

/// One call, ready to run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Invocation {
    /// The tool.
    pub tool: Arc<ToolDescriptor>,
    /// The arguments, checked against the tool's schema where that can be compiled.
    pub args: Map<String, Value>,
    /// This call.
    pub id: CallId,
    /// The call whose program made this one.
    pub parent: Option<CallId>,
    /// On whose behalf.
    pub caller: Caller,
    /// How long the call may take. The dispatch enforces it as well; an invoker that can tell its
    /// owner should.
    pub timeout: Duration,
    /// Where progress goes, if anyone listens.
    pub progress: Option<Arc<dyn ProgressSink>>,
}

impl Invocation {
    /// A call with no parent and nobody listening for progress.
    #[must_use]
    pub fn new(
        tool: Arc<ToolDescriptor>,
        args: Map<String, Value>,
        id: CallId,
        timeout: Duration,
    ) -> Self {
        Self {
            tool,
            args,
            id,
            parent: None,
            caller: Caller::default(),
            timeout,
            progress: None,
        }
    }
}

/// Why a call brought nothing back. A tool that ran and failed is an [`Outcome`] with `is_error`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvokeError {
    /// The owner cannot be reached now; trying again later may help.
    #[error("{owner} is not available: {reason}")]
    Unavailable {
        /// The owner.
        owner: String,
        /// Why, bounded and without secrets.
        reason: String,
    },
    /// The owner no longer has this tool.
    #[error("{owner} no longer has this tool")]
    Gone {
        /// The owner.
        owner: String,
    },
    /// The owner refused the call as malformed.
    #[error("{owner} refused the call: {reason}")]
    Refused {
        /// The owner.
        owner: String,
        /// Why, bounded.
        reason: String,
    },
    /// The call did not end in its time. It may have had effects.
    #[error("no answer within {} ms; the call may have had effects", .0.as_millis())]
    Timeout(Duration),
}

/// Runs tools of one owner.
///
/// Dropping the future cancels the call: the owner is told where its protocol can, and a late
/// answer disturbs nobody.
#[async_trait]
pub trait Invoker: fmt::Debug + Send + Sync {
    /// Runs one call to its end.
    ///
    /// # Errors
    /// [`InvokeError`] when the tool could not be run or did not answer.
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError>;
}

#[async_trait]
impl<T: Invoker + ?Sized> Invoker for Arc<T> {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        T::invoke(self, call).await
    }
}

#[async_trait]
impl<T: Invoker + ?Sized> Invoker for Box<T> {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        T::invoke(self, call).await
    }
}

/// Runs nothing: every call is unavailable.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoInvoker;

#[async_trait]
impl Invoker for NoInvoker {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        let reason = "nothing here runs its tools".to_owned();
        Err(InvokeError::Unavailable {
            owner: call.tool.owner.clone(),
            reason,
        })
    }
}

/// Who runs the tools of which owner. Cloning shares the invokers.
///
/// A tool whose owner has no entry cannot be run here: a client tool is then handed back to the
/// client, any other call is unavailable.
#[derive(Debug, Clone, Default)]
pub struct Invokers {
    by_owner: BTreeMap<(Source, String), Arc<dyn Invoker>>,
}

impl Invokers {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Binds all tools of one owner. A later binding of the same owner replaces the earlier one.
    #[must_use]
    pub fn bind(mut self, source: Source, owner: &str, invoker: Arc<dyn Invoker>) -> Self {
        self.by_owner.insert((source, owner.to_owned()), invoker);
        self
    }

    /// Adds every binding of another table.
    #[must_use]
    pub fn merge(mut self, other: &Self) -> Self {
        self.by_owner.extend(
            other
                .by_owner
                .iter()
                .map(|(key, run)| (key.clone(), Arc::clone(run))),
        );
        self
    }

    /// The invoker of a tool's owner.
    #[must_use]
    pub fn of(&self, tool: &ToolDescriptor) -> Option<&Arc<dyn Invoker>> {
        self.by_owner.get(&(tool.source(), tool.owner.clone()))
    }
}
