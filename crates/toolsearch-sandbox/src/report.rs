//! What a run came to.

use std::{fmt, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ErrorCode, HostError, Journal, PendingCall, cut_text};

/// The result of one run. Nothing in it exceeds the limits of the run.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub struct RunReport {
    /// How it ended.
    pub status: RunStatus,
    /// What the guest logged, in order; the middle may be left out and then says so in one line.
    pub logs: Vec<String>,
    /// What had to be cut to fit the output budget.
    pub truncated: Truncated,
    /// Advice for the author of the program, e.g. that nothing was returned. Plain sentences.
    pub hints: Vec<String>,
    /// Nested calls made, those answered from the journal included.
    pub calls: u32,
    /// The engine's name.
    pub engine: String,
    /// Wall clock from taking the program to this report.
    pub duration: Duration,
    /// The part of `duration` that was not charged, because the host held the clock.
    pub paused: Duration,
}

impl RunReport {
    /// A report with a status and nothing else.
    #[must_use]
    pub fn new(engine: impl Into<String>, status: RunStatus) -> Self {
        Self {
            status,
            logs: Vec::new(),
            truncated: Truncated::default(),
            hints: Vec::new(),
            calls: 0,
            engine: engine.into(),
            duration: Duration::ZERO,
            paused: Duration::ZERO,
        }
    }

    /// A run that failed before or without doing anything.
    #[must_use]
    pub fn failed(engine: impl Into<String>, error: RunError) -> Self {
        Self::new(engine, RunStatus::Failed(error))
    }

    /// Whether the program ran to its end.
    #[must_use]
    pub fn is_completed(&self) -> bool {
        matches!(self.status, RunStatus::Completed(_))
    }

    /// The value of a completed run.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match &self.status {
            RunStatus::Completed(RunValue::Json(value)) => Some(value),
            _ => None,
        }
    }

    /// The error of a failed run.
    #[must_use]
    pub fn error(&self) -> Option<&RunError> {
        match &self.status {
            RunStatus::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// The calls that a suspended run waits for; empty otherwise.
    #[must_use]
    pub fn pending(&self) -> &[PendingCall] {
        match &self.status {
            RunStatus::Suspended { journal } => journal.pending(),
            _ => &[],
        }
    }
}

/// How a run ended.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub enum RunStatus {
    /// The program returned, and every call it started was answered.
    Completed(RunValue),
    /// The program failed, was stopped, or could not be started.
    Failed(RunError),
    /// The program waits for answers that only a later run can have. Give each of
    /// [`Journal::pending`] its answer, then run the same [`Program`](crate::Program) with this journal.
    Suspended {
        /// Every call answered so far, and those that are waited for.
        journal: Journal,
    },
}

/// What a completed program returned.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub enum RunValue {
    /// Nothing: no `return`, or `undefined`. [`RunReport::hints`] says so.
    Nothing,
    /// A value. Where it was larger than the budget it is the head of its JSON text, with a mark, as a
    /// string, and [`Truncated::value`] is set.
    Json(Value),
}

impl RunValue {
    /// As JSON: nothing is `null`.
    #[must_use]
    pub fn into_json(self) -> Value {
        match self {
            Self::Nothing => Value::Null,
            Self::Json(value) => value,
        }
    }
}

/// What was cut to fit the output budget.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Truncated {
    /// The value.
    pub value: bool,
    /// The logs.
    pub logs: bool,
    /// The error's text.
    pub error: bool,
}

impl Truncated {
    /// Whether anything was cut.
    #[must_use]
    pub fn any(self) -> bool {
        self.value || self.logs || self.error
    }
}

/// Why a run failed, in a form that a model can act on.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub struct RunError {
    /// The kind.
    pub code: ErrorCode,
    /// The error's class, e.g. `TypeError`.
    pub name: String,
    /// What happened.
    pub message: String,
    /// Line in the model's own text, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Column in that line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// That line, trimmed and cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<String>,
    /// What to do instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl RunError {
    /// An error named after its code, without a place.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        HostError::new(code, message).into()
    }

    /// The same with advice.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Cuts every text to `max` bytes; tells whether anything was cut.
    pub fn bound(&mut self, max: usize) -> bool {
        let mut cut = false;
        for text in [&mut self.message, &mut self.name] {
            cut |= cut_text(text, max);
        }
        for text in [&mut self.excerpt, &mut self.hint].into_iter().flatten() {
            cut |= cut_text(text, max);
        }
        cut
    }
}

/// `name: message`, then the place with its line quoted, then the hint.
impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)?;
        if let Some(line) = self.line {
            write!(f, " (line {line}")?;
            if let Some(column) = self.column {
                write!(f, ", column {column}")?;
            }
            match &self.excerpt {
                Some(excerpt) => write!(f, ": `{excerpt}`)")?,
                None => f.write_str(")")?,
            }
        }
        match &self.hint {
            Some(hint) => write!(f, ". {hint}"),
            None => Ok(()),
        }
    }
}

impl From<HostError> for RunError {
    fn from(error: HostError) -> Self {
        Self {
            code: error.code,
            name: error.name,
            message: error.message,
            line: None,
            column: None,
            excerpt: None,
            hint: None,
        }
    }
}
