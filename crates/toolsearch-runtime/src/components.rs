//! The parts of a runtime and its options.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use toolsearch_invoke::{Hook, Invokers};
use toolsearch_mode::{ControlNames, Direct, Mode, NameClash, SearchLimits};
use toolsearch_policy::{AllowAll, Approver, Glob, NoApprover, Policy};
use toolsearch_sandbox::{Engine, Limits, NoEngine};
use toolsearch_search::{NoRanker, Ranker};
use toolsearch_telemetry::{NoRecorder, Recorder};

/// Tells the time. Injected, so that records and programs can be repeated.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Milliseconds since the Unix epoch.
    fn now_ms(&self) -> u64;
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

/// The parts that a runtime is made of. [`Components::default`] holds the null object of every
/// contract; set the fields that are to do something.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Components {
    /// Who may use what.
    pub policy: Arc<dyn Policy>,
    /// How catalogs are indexed.
    pub ranker: Arc<dyn Ranker>,
    /// How catalogs are shown.
    pub mode: Arc<dyn Mode>,
    /// What is shown when `mode` runs programs and no engine can.
    pub fallback: Arc<dyn Mode>,
    /// Who runs the tools of which owner.
    pub invokers: Invokers,
    /// Who is asked for consent.
    pub approver: Arc<dyn Approver>,
    /// What runs programs.
    pub engine: Arc<dyn Engine>,
    /// Who sees every call, in order.
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Who takes events.
    pub recorder: Arc<dyn Recorder>,
    /// Who tells the time.
    pub clock: Arc<dyn Clock>,
}

impl Default for Components {
    fn default() -> Self {
        Self {
            policy: Arc::new(AllowAll),
            ranker: Arc::new(NoRanker),
            mode: Arc::new(Direct),
            fallback: Arc::new(Direct),
            invokers: Invokers::new(),
            approver: Arc::new(NoApprover),
            engine: Arc::new(NoEngine),
            hooks: Vec::new(),
            recorder: Arc::new(NoRecorder),
            clock: Arc::new(SystemClock),
        }
    }
}

/// Whether tools are hidden behind the mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compaction {
    /// Always.
    Always,
    /// Never: every tool is shown directly.
    Never,
    /// Only a catalog of more than `tools` tools or `bytes` bytes of declared tools.
    Above {
        /// Most tools that are shown directly.
        tools: usize,
        /// Most bytes that are shown directly.
        bytes: usize,
    },
}

/// Numbers and switches of a runtime.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Whether tools are hidden at all.
    pub compaction: Compaction,
    /// How much a search may ask for.
    pub search: SearchLimits,
    /// What the controls are called.
    pub names: ControlNames,
    /// Tools that stay visible as well as searchable. Never grants access.
    pub always_visible: Vec<Glob>,
    /// Whether a hidden tool may be called by its own name.
    pub hidden_calls: bool,
    /// Limits of programs.
    pub code: Limits,
    /// How long one call of a tool may take.
    pub call_timeout: Duration,
    /// How long consent is waited for.
    pub approval_timeout: Duration,
    /// Most bytes of text that a result may bring into a model's context.
    pub result_bytes: usize,
    /// Most calls of one session that run at once.
    pub in_flight: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            compaction: Compaction::Always,
            search: SearchLimits::default(),
            names: ControlNames::default(),
            always_visible: Vec::new(),
            hidden_calls: true,
            code: Limits::default(),
            call_timeout: Duration::from_secs(120),
            approval_timeout: Duration::from_secs(120),
            result_bytes: 64 * 1024,
            in_flight: 16,
        }
    }
}

impl Options {
    pub(crate) fn check(&self) -> Result<(), Misconfigured> {
        self.names.check().map_err(Misconfigured::Names)?;
        if self.in_flight == 0 {
            return Err(Misconfigured::Zero("in_flight"));
        }
        if self.result_bytes < 1024 {
            return Err(Misconfigured::ResultBytes(self.result_bytes));
        }
        Ok(())
    }
}

/// Parts or options that cannot work together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misconfigured {
    /// Control names clash or are illegal.
    #[error(transparent)]
    Names(NameClash),
    /// A number must be above zero.
    #[error("`{0}` must be above zero")]
    Zero(&'static str),
    /// The result budget is too small to say anything.
    #[error("`result_bytes` is {0}; at least 1024 are needed")]
    ResultBytes(usize),
}
