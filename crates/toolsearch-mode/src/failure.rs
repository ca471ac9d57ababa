//! Why a request came to nothing, as data; modes turn it into words that fit their surface.

use std::fmt;

use toolsearch_catalog::{LookupError, ToolId};

/// The kind of a failure. The text form is stable and stands in records and answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FailureCode {
    /// The control call itself cannot be read.
    InvalidInput,
    /// No tool has this name.
    NotFound,
    /// Several tools have this name.
    Ambiguous,
    /// The arguments do not fit the tool's schema; nothing was run.
    InvalidArguments,
    /// Policy or a hook forbids the call; nothing was run.
    PolicyDenied,
    /// No person agreed to the call; nothing was run.
    ApprovalDenied,
    /// A person must agree first; the call waits under a handle.
    ApprovalRequired,
    /// The tool is visible and must be called directly.
    DirectOnly,
    /// A hidden tool was called by its own name where that is switched off.
    HiddenTool,
    /// The owner cannot be reached.
    Unavailable,
    /// The owner refused the call.
    Refused,
    /// No answer in time.
    Timeout,
    /// The result does not have the shape that the tool declares; effects may have happened.
    OutputMismatch,
    /// The same call failed again and again.
    Loop,
    /// The request was given up by its caller.
    Cancelled,
    /// The fault is on this side.
    Internal,
}

impl FailureCode {
    /// The stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::NotFound => "not_found",
            Self::Ambiguous => "ambiguous",
            Self::InvalidArguments => "invalid_arguments",
            Self::PolicyDenied => "policy_denied",
            Self::ApprovalDenied => "approval_denied",
            Self::ApprovalRequired => "approval_required",
            Self::DirectOnly => "direct_only",
            Self::HiddenTool => "hidden_tool",
            Self::Unavailable => "unavailable",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::OutputMismatch => "output_mismatch",
            Self::Loop => "loop",
            Self::Cancelled => "cancelled",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for FailureCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {detail}")]
#[non_exhaustive]
pub struct Failure {
    /// The kind.
    pub code: FailureCode,
    /// What happened, in one or two plain sentences without advice about a surface.
    pub detail: String,
    /// The tool, when one was found.
    pub tool: Option<ToolId>,
    /// Ids that may have been meant, at most eight.
    pub suggestions: Vec<ToolId>,
    /// A handle under which the call waits.
    pub handle: Option<String>,
}

impl Failure {
    /// A failure of which only kind and detail are known.
    #[must_use]
    pub fn new(code: FailureCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: detail.into(),
            tool: None,
            suggestions: Vec::new(),
            handle: None,
        }
    }

    /// A control call that cannot be read.
    #[must_use]
    pub fn input(detail: impl Into<String>) -> Self {
        Self::new(FailureCode::InvalidInput, detail)
    }

    /// The same failure with the tool it is about.
    #[must_use]
    pub fn about(mut self, tool: &ToolId) -> Self {
        self.tool = Some(tool.clone());
        self
    }
}

impl From<LookupError> for Failure {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::Ambiguous { asked, candidates } => Self {
                suggestions: candidates,
                ..Self::new(
                    FailureCode::Ambiguous,
                    format!("`{asked}` names several tools. Use one exact id."),
                )
            },
            LookupError::Unknown { asked, suggestions } => Self {
                suggestions,
                ..Self::new(
                    FailureCode::NotFound,
                    format!("No tool is named `{asked}`."),
                )
            },
            other => Self::new(FailureCode::NotFound, other.to_string()),
        }
    }
}
