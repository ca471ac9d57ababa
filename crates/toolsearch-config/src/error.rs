//! What can be wrong with a configuration file, told so that a person can mend it.

use std::fmt;
use std::path::PathBuf;

use crate::json5::Position;

/// Why a file gave no settings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file could not be read or written.
    #[error("cannot {action} {}", path.display())]
    File {
        /// `read` or `write`.
        action: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file is larger than anyone writes by hand.
    #[error("{file} is larger than {limit} bytes; is it the right file?")]
    TooLarge {
        /// Which file.
        file: String,
        /// The limit in bytes.
        limit: usize,
    },
    /// The file has faults; all of them are listed, in file order.
    #[error("{}", list(problems))]
    Invalid {
        /// Which file.
        file: String,
        /// Every fault found; never empty.
        problems: Vec<Problem>,
    },
}

impl ConfigError {
    /// The faults in the file, empty when it could not be read at all.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { problems, .. } => problems,
            _ => &[],
        }
    }
}

/// What kind of fault a [`Problem`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The text is not JSON5.
    Syntax,
    /// A key stands twice in one object.
    DuplicateKey {
        /// Where it stood first.
        first_line: usize,
    },
    /// A key that the file may not have.
    UnknownKey {
        /// The key that was probably meant.
        nearest: Option<String>,
    },
    /// A value of the wrong type.
    WrongType {
        /// What the key takes, in words.
        expected: String,
    },
    /// A value of the right type that is not allowed.
    BadValue,
    /// A key that must be there.
    MissingKey,
    /// A number that was cut to its range or replaced by its default.
    Number,
    /// A server entry that cannot be used.
    Server {
        /// Its name.
        name: String,
    },
}

/// One fault or warning, with its place. Shown as `file:line:column: path: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file, as it was named to the reader.
    pub file: String,
    /// Line and column of the key or value at fault.
    pub position: Position,
    /// Path of the key, such as `tools.toolSearch.mode`; empty for the file as a whole.
    pub path: String,
    /// What kind of fault.
    pub kind: ProblemKind,
    /// What is wrong and what to do.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(
        file: &str,
        position: Position,
        path: String,
        kind: ProblemKind,
        message: String,
    ) -> Self {
        Self {
            file: file.to_owned(),
            position,
            path,
            kind,
            message,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.file, self.position)?;
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)
    }
}

/// At most this many faults are printed; the rest are counted.
const SHOWN: usize = 50;

fn list(problems: &[Problem]) -> String {
    let mut lines: Vec<String> = problems
        .iter()
        .take(SHOWN)
        .map(Problem::to_string)
        .collect();
    if problems.len() > SHOWN {
        lines.push(format!("and {} more", problems.len() - SHOWN));
    }
    lines.join("\n")
}
