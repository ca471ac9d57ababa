//! Hooks: one that remembers, and the rules that every hook keeps.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use toolsearch_catalog::{Outcome, ToolDescriptor};
use toolsearch_invoke::{CallId, Caller, Hook, HookCall, HookDecision, HookError};

use crate::catalog::{hostile_tools, office};
use crate::invoker::arguments;
use crate::wait::in_time;

type Before = dyn Fn(&HookCall) -> Result<HookDecision, HookError> + Send + Sync;
type After = dyn Fn(&HookCall, Outcome) -> Result<Outcome, HookError> + Send + Sync;

/// Remembers what it saw. Lets everything pass until it is told otherwise.
pub struct RecordingHook {
    name: String,
    before: Box<Before>,
    after: Box<After>,
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    before: Vec<HookCall>,
    after: Vec<(HookCall, Outcome)>,
}

impl fmt::Debug for RecordingHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecordingHook")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl RecordingHook {
    /// A hook of this name that lets everything pass.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            before: Box::new(|_| Ok(HookDecision::Continue)),
            after: Box::new(|_, outcome| Ok(outcome)),
            seen: Mutex::default(),
        }
    }

    /// Decides by this before a call.
    #[must_use]
    pub fn before_with(
        mut self,
        decide: impl Fn(&HookCall) -> Result<HookDecision, HookError> + Send + Sync + 'static,
    ) -> Self {
        self.before = Box::new(decide);
        self
    }

    /// Changes results by this.
    #[must_use]
    pub fn after_with(
        mut self,
        change: impl Fn(&HookCall, Outcome) -> Result<Outcome, HookError> + Send + Sync + 'static,
    ) -> Self {
        self.after = Box::new(change);
        self
    }

    /// The calls it saw before they ran.
    #[must_use]
    pub fn befores(&self) -> Vec<HookCall> {
        self.lock().before.clone()
    }

    /// The calls it saw after they ran, with their results as they came.
    #[must_use]
    pub fn afters(&self) -> Vec<(HookCall, Outcome)> {
        self.lock().after.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Hook for RecordingHook {
    fn name(&self) -> &str {
        &self.name
    }

    async fn before(&self, call: &HookCall) -> Result<HookDecision, HookError> {
        self.lock().before.push(call.clone());
        (self.before)(call)
    }

    async fn after(&self, call: &HookCall, outcome: Outcome) -> Result<Outcome, HookError> {
        self.lock().after.push((call.clone(), outcome.clone()));
        (self.after)(call, outcome)
    }
}

/// A call as hooks see it.
#[must_use]
pub fn hook_call(tool: impl Into<Arc<ToolDescriptor>>, number: u64) -> HookCall {
    let caller = Caller::new("s1", Some("support".to_owned()));
    let id = CallId::outer(number);
    HookCall::new(tool.into(), arguments(number), id, None, caller)
}

/// Holds a hook to the rules of the contract.
///
/// # Panics
/// At the first broken rule.
pub async fn conforms(hook: Arc<dyn Hook>) {
    assert!(!hook.name().is_empty(), "a hook has a name");
    let mut tools = office().entries().to_vec();
    tools.extend(hostile_tools().into_iter().map(Arc::new));
    let tasks: Vec<_> = (0..)
        .zip(tools)
        .map(|(number, tool)| {
            let hook = Arc::clone(&hook);
            tokio::spawn(async move { pass(&*hook, &hook_call(tool, number)).await })
        })
        .collect();
    for task in tasks {
        in_time("a hook decides within its own limits", task)
            .await
            .expect("because a hook must not panic");
    }
    let dropped = {
        let hook = Arc::clone(&hook);
        let call = hook_call(crate::catalog::tool("mcp:git:log"), 1);
        tokio::spawn(async move { hook.before(&call).await })
    };
    dropped.abort();
    // Whether it was quick enough to decide does not matter; that the next one decides does.
    let _ = in_time("a dropped decision ends", dropped).await;
    pass(&*hook, &hook_call(crate::catalog::tool("mcp:git:log"), 2)).await;
}

async fn pass(hook: &dyn Hook, call: &HookCall) {
    let told = |text: &str| {
        let name = hook.name();
        assert!(
            !text.is_empty(),
            "{name} gives a reason for {}",
            call.tool.id
        );
    };
    match in_time("a hook decides", hook.before(call)).await {
        Ok(HookDecision::Block(reason) | HookDecision::Ask(reason)) => told(&reason),
        Ok(_) => {}
        Err(error) => told(&error.0),
    }
    for outcome in [
        Outcome::text("done"),
        Outcome::error("E42"),
        Outcome::default(),
    ] {
        if let Err(error) = in_time("a hook decides", hook.after(call, outcome)).await {
            told(&error.0);
        }
    }
}
