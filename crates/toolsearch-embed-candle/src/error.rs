//! Why a model cannot be used.

use std::path::PathBuf;

/// Why a folder gives no model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// There is no model in the folder.
    #[error(
        "{} holds no model: expected `config.json`, `tokenizer.json` and `model.safetensors`, or one \
         packed `*.bin`",
        .0.display()
    )]
    NoModel(PathBuf),
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is of another form, or of a kind that is not supported.
    #[error("{}: {what}", path.display())]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

impl OpenError {
    pub(crate) fn form(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Form {
            path: path.into(),
            what: what.into(),
        }
    }
}

/// What went wrong while reading weights; the file is named by the caller.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    #[error("{0}")]
    Form(String),
    #[error(transparent)]
    Candle(#[from] candle_core::Error),
    /// Nobody waits for the answer any more.
    #[error("cancelled")]
    Cancelled,
}

impl Fault {
    pub(crate) fn form(what: impl Into<String>) -> Self {
        Self::Form(what.into())
    }
}
