//! Hooks: code of the operator that sees every call before and after it runs.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use toolsearch_catalog::{Outcome, ToolDescriptor};

use crate::call::{CallId, Caller};

/// The call that a hook looks at.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HookCall {
    /// The tool.
    pub tool: Arc<ToolDescriptor>,
    /// The arguments as they are now: hooks run in order, each sees what the one before left.
    pub args: Map<String, Value>,
    /// This call.
    pub id: CallId,
    /// The call whose program made this one.
    pub parent: Option<CallId>,
    /// On whose behalf.
    pub caller: Caller,
}

impl HookCall {
    /// Describes a call to a hook.
    #[must_use]
    pub fn new(
        tool: Arc<ToolDescriptor>,
        args: Map<String, Value>,
        id: CallId,
        parent: Option<CallId>,
        caller: Caller,
    ) -> Self {
        Self {
            tool,
            args,
            id,
            parent,
            caller,
        }
    }
}

/// What a hook says before a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum HookDecision {
    /// Go on.
    Continue,
    /// Go on with other arguments; they are validated again.
    Rewrite(Map<String, Value>),
    /// Do not run, and tell the caller why.
    Block(String),
    /// Ask a person first, and tell them why.
    Ask(String),
}

/// A hook that could not decide. The dispatch treats it as a block and names the hook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

/// Sees every call. Hooks run in the order in which they were given.
#[async_trait]
pub trait Hook: fmt::Debug + Send + Sync {
    /// The name that stands in messages and logs.
    fn name(&self) -> &str;

    /// Before the call is validated, approved and run.
    ///
    /// # Errors
    /// [`HookError`] when the hook cannot decide; the call is then not run.
    async fn before(&self, call: &HookCall) -> Result<HookDecision, HookError> {
        let _ = call;
        Ok(HookDecision::Continue)
    }

    /// After the call; may redact or replace the result.
    ///
    /// # Errors
    /// [`HookError`] when the hook cannot decide; the result is then withheld.
    async fn after(&self, call: &HookCall, outcome: Outcome) -> Result<Outcome, HookError> {
        let _ = call;
        Ok(outcome)
    }
}

#[async_trait]
impl<T: Hook + ?Sized> Hook for Arc<T> {
    fn name(&self) -> &str {
        T::name(self)
    }

    async fn before(&self, call: &HookCall) -> Result<HookDecision, HookError> {
        T::before(self, call).await
    }

    async fn after(&self, call: &HookCall, outcome: Outcome) -> Result<Outcome, HookError> {
        T::after(self, call, outcome).await
    }
}

/// Lets everything pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHook;

impl Hook for NoHook {
    fn name(&self) -> &str {
        "none"
    }
}
