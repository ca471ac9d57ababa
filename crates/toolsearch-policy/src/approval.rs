//! Asking a person about one call.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;
use serde_json::{Map, Value};
use toolsearch_catalog::ToolId;
use toolsearch_schema::canonical_object;

use crate::digest::sha256;
use crate::picture::picture;

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
    /// When the question is over, in milliseconds since the Unix epoch. A later answer counts for
    /// nothing.
    pub expires_ms: Option<u64>,
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
            expires_ms: None,
        }
    }

    /// SHA-256 of the arguments as canonical JSON, in 64 hexadecimal digits: equal for equal
    /// arguments, in whatever order their members stand.
    #[must_use]
    pub fn args_hash(&self) -> String {
        let args = canonical_object(&self.args);
        sha256([args.as_bytes()])
    }

    /// The arguments as a person may look at them: JSON in one printable line of at most `most`
    /// characters and a mark where it was cut. Signs that hide or reorder text stand as escapes.
    #[must_use]
    pub fn args_picture(&self, most: usize) -> String {
        picture(&Value::Object(self.args.clone()), most)
    }

    /// What consent is bound to: one name for this tool, these arguments and this session, in 64
    /// hexadecimal digits.
    #[must_use]
    pub fn binding(&self) -> String {
        let args = self.args_hash();
        sha256([
            self.tool.as_str().as_bytes(),
            args.as_bytes(),
            self.session.as_bytes(),
        ])
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
    /// This tool may not run for the rest of the session, whatever its arguments; the text says why.
    DeniedForSession(String),
    /// Nobody can answer now; the question stands under this handle. Whoever cannot wait gets the
    /// handle as an answer, and the same call finds the verdict when somebody has given one.
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
