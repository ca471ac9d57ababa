//! How a command ends: exit codes, and failures that tell a person what to do next.

use std::io;

use serde_json::{Value, json};
use toolsearch::catalog::ToolId;
use toolsearch::mode::{Failure, FailureCode};

/// The exit codes of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Everything went well.
    Fine,
    /// The work failed: a tool error, a guest error, no match with `--fail-empty`.
    Failed,
    /// Wrong usage or configuration.
    Usage,
    /// Denied by policy or by a person.
    Denied,
    /// A source is not available.
    Unavailable,
    /// Interrupted from the keyboard.
    Interrupted,
}

impl Exit {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Denied => 3,
            Self::Unavailable => 4,
            Self::Interrupted => 130,
        }
    }
}

/// What every command gives back.
pub(crate) type Done = Result<Exit, Fault>;

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) exit: Exit,
    /// A stable word for programs.
    pub(crate) code: String,
    /// What happened.
    pub(crate) message: String,
    /// What to do next.
    pub(crate) next: Option<String>,
    /// Ids that may have been meant.
    pub(crate) suggestions: Vec<ToolId>,
    /// The reader of standard output is gone: end without a word.
    pub(crate) silent: bool,
}

impl Fault {
    pub(crate) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        Self {
            exit,
            code: code.to_owned(),
            message: message.into(),
            next: None,
            suggestions: Vec::new(),
            silent: false,
        }
    }

    /// Wrong usage.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// A configuration that cannot be used.
    pub(crate) fn configuration(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "configuration", message)
    }

    /// Work that failed.
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, "failed", message)
    }

    /// The same failure with what to do next.
    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// The failure as a JSON document.
    pub(crate) fn to_json(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if !self.suggestions.is_empty() {
            error["suggestions"] = json!(self.suggestions);
        }
        if let Some(next) = &self.next {
            error["next"] = json!(next);
        }
        json!({ "error": error })
    }
}

impl From<io::Error> for Fault {
    /// Only writing to standard output ends in a bare I/O error; everything else is named by its
    /// caller.
    fn from(error: io::Error) -> Self {
        let silent = error.kind() == io::ErrorKind::BrokenPipe;
        let exit = if silent { Exit::Fine } else { Exit::Failed };
        Self {
            silent,
            ..Self::new(exit, "output", format!("cannot write the output: {error}"))
        }
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        let (exit, next) = consequence(failure.code);
        let next = match failure.suggestions.is_empty() {
            false if failure.code == FailureCode::Ambiguous => {
                Some("use one of these exact ids".to_owned())
            }
            false => {
                Some("use one of these ids, or find others with `toolsearch search`".to_owned())
            }
            true => next.map(str::to_owned),
        };
        Self {
            next,
            suggestions: failure.suggestions,
            ..Self::new(exit, failure.code.as_str(), failure.detail)
        }
    }
}

/// The exit code of a failure and what a person does about it.
fn consequence(code: FailureCode) -> (Exit, Option<&'static str>) {
    match code {
        FailureCode::NotFound => (Exit::Usage, Some("find tools with `toolsearch search`")),
        FailureCode::InvalidInput | FailureCode::Ambiguous => (Exit::Usage, None),
        FailureCode::InvalidArguments => (
            Exit::Usage,
            Some("see the schema with `toolsearch describe ID`"),
        ),
        FailureCode::PolicyDenied | FailureCode::ApprovalDenied => (Exit::Denied, None),
        FailureCode::ApprovalRequired => (
            Exit::Denied,
            Some("run it from a terminal, where you can be asked"),
        ),
        FailureCode::Unavailable => (
            Exit::Unavailable,
            Some("see the state of all servers with `toolsearch catalog list`"),
        ),
        _ => (Exit::Failed, None),
    }
}

/// The exit code of a program that ended with an error code.
pub(crate) fn program_exit(code: &str) -> Exit {
    match code {
        "policy_denied" | "approval_denied" => Exit::Denied,
        "engine_unavailable" => Exit::Unavailable,
        _ => Exit::Failed,
    }
}
