//! Refusals in the shape that each dialect's clients read.

use serde_json::{Value, json};

use crate::dialect::Dialect;

/// What kind of trouble it is, and so which status and type a client is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The request is wrong and will be refused again: 400.
    Invalid,
    /// Whoever asks is not known: 401.
    Unauthorised,
    /// Whoever asks may not do this: 403.
    Forbidden,
    /// What the request names is not there: 404.
    NotFound,
    /// The request is larger than allowed: 413.
    TooLarge,
    /// Too much at once; later it may work: 429.
    Busy,
    /// The fault is on this side: 500.
    Internal,
    /// The provider's answer is of no use: 502.
    Upstream,
    /// The provider did not answer in time: 504.
    Timeout,
}

impl RefusalKind {
    /// The HTTP status.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::Invalid => 400,
            Self::Unauthorised => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::TooLarge => 413,
            Self::Busy => 429,
            Self::Internal => 500,
            Self::Upstream => 502,
            Self::Timeout => 504,
        }
    }

    const fn openai(self) -> &'static str {
        match self {
            Self::Invalid | Self::TooLarge | Self::NotFound => "invalid_request_error",
            Self::Unauthorised => "authentication_error",
            Self::Forbidden => "permission_error",
            Self::Busy => "rate_limit_error",
            Self::Internal | Self::Upstream | Self::Timeout => "server_error",
        }
    }

    const fn anthropic(self) -> &'static str {
        match self {
            Self::Invalid => "invalid_request_error",
            Self::Unauthorised => "authentication_error",
            Self::Forbidden => "permission_error",
            Self::NotFound => "not_found_error",
            Self::TooLarge => "request_too_large",
            Self::Busy => "rate_limit_error",
            Self::Internal | Self::Upstream => "api_error",
            Self::Timeout => "timeout_error",
        }
    }
}

/// A request that is not answered, and why. The text is for the person behind the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct Refusal {
    /// The kind of trouble.
    pub kind: RefusalKind,
    /// What is wrong and what to do.
    pub message: String,
    /// The field at fault, like `tools[3].name`.
    pub param: Option<String>,
    /// A stable word for programs, like `duplicate_tool`.
    pub code: Option<&'static str>,
}

impl Refusal {
    /// A refusal of some kind.
    #[must_use]
    pub fn new(kind: RefusalKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            param: None,
            code: None,
        }
    }

    /// A request that is wrong.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(RefusalKind::Invalid, message)
    }

    /// Names the field at fault.
    #[must_use]
    pub fn at(mut self, param: impl Into<String>) -> Self {
        self.param = Some(param.into());
        self
    }

    /// Adds a word for programs.
    #[must_use]
    pub const fn coded(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// The body of the answer.
    #[must_use]
    pub fn to_json(&self, dialect: Dialect) -> Value {
        match dialect {
            Dialect::AnthropicMessages => json!({
                "type": "error",
                "error": { "type": self.kind.anthropic(), "message": self.message },
            }),
            Dialect::OpenAiChat | Dialect::OpenAiResponses => json!({
                "error": {
                    "message": self.message,
                    "type": self.kind.openai(),
                    "param": self.param,
                    "code": self.code,
                },
            }),
        }
    }
}
