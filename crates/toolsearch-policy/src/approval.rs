//! Asking a person about one call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};
use toolsearch_catalog::ToolId;

/// One call that needs a person's consent. Consent holds for exactly this tool, these arguments and
/// this session, and only until it expires.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The tool that would be run: always the target, never the control that named it.
    pub tool: ToolId,
    /// The arguments that it would get.
    pub args: Map<String, Value>,
    /// The session.
    pub session: String,
    /// The agent, when one is named.
    pub agent: Option<String>,
    /// Why consent is needed.
    pub reason: String,
    /// How long the answer is waited for.
    pub timeout: Duration,
}

impl ApprovalRequest {
    /// Asks about one call.
    #[must_use]
    pub fn new(
        tool: ToolId,
        args: Map<String, Value>,
        session: impl Into<String>,
        reason: impl Into<String>,
        timeout: Duration,
    ) -> Self {
        let (session, reason) = (session.into(), reason.into());
        Self {
            tool,
            args,
            session,
            agent: None,
            reason,
            timeout,
        }
    }
}

/// The answer to an [`ApprovalRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// This one call may run.
    Once,
    /// This tool may run with any arguments for the rest of the session.
    ForSession,
    /// The call may not run; the text says why.
    Denied(String),
    /// Nobody can answer now; the call can be resumed with this handle when somebody has.
    Pending(String),
}

/// Asks somebody. The dispatch waits at most the request's timeout and takes silence as no.
#[async_trait]
pub trait Approver: fmt::Debug + Send + Sync {
    /// Asks about one call. Dropping the future withdraws the question.
    async fn review(&self, request: ApprovalRequest) -> Verdict;
}

#[async_trait]
impl<T: Approver + ?Sized> Approver for Arc<T> {
    async fn review(&self, request: ApprovalRequest) -> Verdict {
        T::review(self, request).await
    }
}

#[async_trait]
impl<T: Approver + ?Sized> Approver for Box<T> {
    async fn review(&self, request: ApprovalRequest) -> Verdict {
        T::review(self, request).await
    }
}

/// Nobody to ask: every request is denied.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoApprover;

#[async_trait]
impl Approver for NoApprover {
    async fn review(&self, _: ApprovalRequest) -> Verdict {
        Verdict::Denied("nobody is there to approve it".to_owned())
    }
}
