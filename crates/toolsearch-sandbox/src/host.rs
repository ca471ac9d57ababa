//! The one thing a guest can reach: the host that answers its calls.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ErrorCode, Pause};

/// Answers the calls of one run.
///
/// The engine asks for three methods, always with a JSON object:
///
/// | method | arguments | what the guest expects back |
/// |---|---|---|
/// | `search` | `{ "query": text, "limit"?: number, … }` | an array of hits |
/// | `describe` | `{ "id": text }` | a descriptor |
/// | `call` | `{ "id": text, "args": object }` | `{ "tool": …, "result": … }` |
///
/// `id` is what the guest wrote (an id, an alias, a bare name) or `owner:tool` from the
/// `servers.<owner>.<tool>` form; the host resolves it. Anything else the host may refuse: the guest
/// is hostile, arguments are unchecked, and the engine neither resolves names nor judges rights. A
/// tool that answers "this failed" should be a [`HostReply::Error`] with
/// [`ErrorCode::ToolError`], so that a program which forgot to look cannot report success.
///
/// Order: calls of one run arrive in the order in which the guest made them and may be answered in any
/// order. An engine polls up to [`Limits::in_flight`](crate::Limits::in_flight) of these futures at
/// once, from one task. When the run ends early they are dropped, which must cancel their work.
#[async_trait]
pub trait Host: Debug + Send + Sync {
    /// Answers one call.
    async fn call(&self, method: &str, args: Value) -> HostReply;

    /// Sees one log line of the guest, as it comes and within the output budget.
    fn log(&self, line: &LogLine) {
        let _ = line;
    }

    /// The clock stop of this run, if the host ever waits for a person inside [`Host::call`].
    ///
    /// While the host holds a [`PauseGuard`](crate::PauseGuard) and the guest does nothing but wait,
    /// time is not charged to [`Limits::wall`](crate::Limits::wall). The host itself must bound such a
    /// wait.
    fn pause(&self) -> Option<Pause> {
        None
    }
}

/// What the host says to one call.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub enum HostReply {
    /// The call is done.
    Value(Value),
    /// The call failed; the guest sees a rejected promise and may catch it.
    Error(HostError),
    /// The call cannot be answered in this run. Once the guest can do nothing else, the run ends as
    /// [`RunStatus::Suspended`](crate::RunStatus::Suspended) and carries this handle.
    Suspend {
        /// Names the wait to whoever resumes the run; unique within the run.
        handle: String,
    },
}

/// A failed call as the guest sees it: `error.code`, `error.name`, `error.message`.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct HostError {
    /// The code that an uncaught error gives the whole run.
    pub code: ErrorCode,
    /// The error's class, e.g. `ToolError`.
    pub name: String,
    /// What happened and what to do next.
    pub message: String,
}

impl HostError {
    /// An error named after its code.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        let name = class_name(&code);
        Self {
            code,
            name,
            message: message.into(),
        }
    }
}

fn class_name(code: &ErrorCode) -> String {
    let mut name: String = code
        .as_str()
        .split('_')
        .filter_map(|word| {
            let mut letters = word.chars();
            letters
                .next()
                .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
        })
        .collect();
    if !name.ends_with("Error") {
        name.push_str("Error");
    }
    name
}

/// One line that the guest logged.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Which of the console's functions was used.
    pub level: LogLevel,
    /// The arguments as text, joined by a space.
    pub text: String,
}

impl LogLine {
    /// A line.
    #[must_use]
    pub fn new(level: LogLevel, text: impl Into<String>) -> Self {
        Self {
            level,
            text: text.into(),
        }
    }
}

/// How loud a log line was.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// `console.debug`.
    Debug,
    /// `console.log`, `console.info` and the like.
    Info,
    /// `console.warn`.
    Warn,
    /// `console.error`.
    Error,
}

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        impl<T: Host + ?Sized> Host for $pointer<T> {
            async fn call(&self, method: &str, args: Value) -> HostReply {
                (**self).call(method, args).await
            }

            fn log(&self, line: &LogLine) {
                (**self).log(line);
            }

            fn pause(&self) -> Option<Pause> {
                (**self).pause()
            }
        }
    )*};
}

forward!(Arc, Box);
