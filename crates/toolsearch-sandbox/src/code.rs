//! The codes by which a failed run or a failed nested call is told apart.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Longest code that is carried; longer ones are cut.
const MAX_CODE: usize = 64;

/// Why a run or a nested call failed, as a stable word on the wire.
///
/// The named variants are the ones this workspace gives a meaning to. A host may answer with a code
/// of its own; it survives as [`ErrorCode::Other`].
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ErrorCode {
    /// The wall clock of the run ran out.
    Timeout,
    /// The program needed more memory than it may have.
    OutOfMemory,
    /// The program made more nested calls than allowed.
    TooManyCalls,
    /// Value or logs were larger than the output budget.
    OutputTruncated,
    /// The text is not a program of the engine's language.
    SyntaxError,
    /// The program threw an error of its own.
    GuestError,
    /// A tool answered with an error.
    ToolError,
    /// A rule forbids the call.
    PolicyDenied,
    /// A person, or nobody to ask, refused the call.
    ApprovalDenied,
    /// The caller gave up.
    Cancelled,
    /// No engine can run the program here.
    EngineUnavailable,
    /// A resumed program did not repeat the calls of its journal.
    ReplayMismatch,
    /// The child broke the rules of the conversation, or died in it.
    ProtocolError,
    /// The source text is longer than allowed.
    SourceTooLarge,
    /// A code that only the host knows: lower-case letters, digits and `_`, at most 64 characters.
    Other(Box<str>),
}

impl ErrorCode {
    /// Reads a code; unknown words become [`ErrorCode::Other`], cleaned and cut.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match NAMED.iter().find(|(_, name)| *name == text) {
            Some((code, _)) => code.clone(),
            None => Self::Other(clean(text)),
        }
    }

    /// The word on the wire.
    #[must_use]
    pub fn as_str(&self) -> &str {
        if let Self::Other(text) = self {
            return text;
        }
        NAMED
            .iter()
            .find(|(code, _)| code == self)
            .map_or("guest_error", |(_, name)| name)
    }
}

const NAMED: [(ErrorCode, &str); 14] = [
    (ErrorCode::Timeout, "timeout"),
    (ErrorCode::OutOfMemory, "out_of_memory"),
    (ErrorCode::TooManyCalls, "too_many_calls"),
    (ErrorCode::OutputTruncated, "output_truncated"),
    (ErrorCode::SyntaxError, "syntax_error"),
    (ErrorCode::GuestError, "guest_error"),
    (ErrorCode::ToolError, "tool_error"),
    (ErrorCode::PolicyDenied, "policy_denied"),
    (ErrorCode::ApprovalDenied, "approval_denied"),
    (ErrorCode::Cancelled, "cancelled"),
    (ErrorCode::EngineUnavailable, "engine_unavailable"),
    (ErrorCode::ReplayMismatch, "replay_mismatch"),
    (ErrorCode::ProtocolError, "protocol_error"),
    (ErrorCode::SourceTooLarge, "source_too_large"),
];

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<&str> for ErrorCode {
    fn from(text: &str) -> Self {
        Self::parse(text)
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::parse(&String::deserialize(deserializer)?))
    }
}

fn clean(text: &str) -> Box<str> {
    let word: String = text
        .chars()
        .take(MAX_CODE)
        .map(|c| match c {
            'a'..='z' | '0'..='9' | '_' => c,
            'A'..='Z' => c.to_ascii_lowercase(),
            _ => '_',
        })
        .collect();
    if word.is_empty() {
        "unknown".into()
    } else {
        word.into()
    }
}
