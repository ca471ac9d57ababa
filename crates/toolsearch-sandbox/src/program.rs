//! What an engine is asked to run.

use crate::{ErrorCode, Journal, Limits, RunError};

/// One program and everything that makes its run repeatable.
///
/// Two runs of equal programs whose calls are answered alike, in the same order, do the same:
/// randomness comes from `seed`, the clock the guest sees starts at `epoch_ms`. An engine draws
/// neither by itself.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub struct Program {
    /// The text as the model wrote it. Line numbers in errors refer to it.
    pub source: String,
    /// Seed of the guest's random numbers.
    pub seed: u64,
    /// The guest's clock at its first instruction, in milliseconds since 1970-01-01 UTC.
    pub epoch_ms: i64,
    /// Calls already answered in an earlier run that was suspended; empty for a first run.
    pub journal: Journal,
}

impl Program {
    /// A first run.
    #[must_use]
    pub fn new(source: impl Into<String>, seed: u64, epoch_ms: i64) -> Self {
        Self {
            source: source.into(),
            seed,
            epoch_ms,
            journal: Journal::default(),
        }
    }

    /// The same program, continued after `journal`.
    #[must_use]
    pub fn resumed(mut self, journal: Journal) -> Self {
        self.journal = journal;
        self
    }

    /// Why the source is too long, if it is. Every engine asks before anything else.
    #[must_use]
    pub fn oversize(&self, limits: &Limits) -> Option<RunError> {
        let (bytes, max) = (self.source.len(), limits.source_bytes);
        (bytes > max).then(|| {
            RunError::new(
                ErrorCode::SourceTooLarge,
                format!("the program has {bytes} bytes; at most {max} are allowed"),
            )
            .with_hint("split the work into several programs, or read large data with a tool")
        })
    }
}
