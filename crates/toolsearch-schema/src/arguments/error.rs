//! What is wrong with arguments, as data and in words.

use std::fmt;

use crate::names::clip;

/// Findings that a message tells.
const MAX_TOLD: usize = 8;

/// Characters of one finding.
const MAX_FINDING: usize = 256;

/// Why arguments do not fit a schema. Nothing was run.
///
/// The lists are sorted by path and bounded, so the same mistake always gives the same text.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct ArgumentErrors {
    /// Fields that must be there and are not.
    pub missing: Vec<MissingField>,
    /// Fields that the schema does not know.
    pub unknown: Vec<UnknownField>,
    /// Values of the wrong type or out of range.
    pub wrong: Vec<WrongValue>,
    /// The signature of the arguments that would fit.
    pub signature: String,
    /// Findings that were left out.
    pub omitted: usize,
}

/// A field that must be there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct MissingField {
    /// Where, for example `issue.title`.
    pub path: String,
    /// Its type.
    pub expected: String,
}

/// A field that the schema does not know.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct UnknownField {
    /// Where.
    pub path: String,
    /// At most three names that may have been meant, best first.
    pub nearest: Vec<String>,
}

/// A value that does not fit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct WrongValue {
    /// Where; empty for the whole value.
    pub path: String,
    /// What the schema asks for.
    pub expected: String,
    /// The kind of what was given; never the value itself.
    pub found: String,
}

impl ArgumentErrors {
    /// Whether nothing was found wrong.
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.unknown.is_empty() && self.wrong.is_empty()
    }

    pub(super) fn sort_and_bound(&mut self) {
        self.missing.sort();
        self.missing.dedup();
        self.unknown.sort();
        self.unknown.dedup();
        self.wrong.sort();
        self.wrong.dedup();
        let total = self.missing.len() + self.unknown.len() + self.wrong.len();
        self.missing.truncate(MAX_TOLD);
        self.unknown.truncate(MAX_TOLD);
        self.wrong.truncate(MAX_TOLD);
        let kept = self.missing.len() + self.unknown.len() + self.wrong.len();
        self.omitted += total - kept;
    }
}

impl fmt::Display for ArgumentErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missing = self.missing.iter().map(MissingField::to_string);
        let unknown = self.unknown.iter().map(UnknownField::to_string);
        let wrong = self.wrong.iter().map(WrongValue::to_string);
        for finding in missing.chain(unknown).chain(wrong) {
            write!(f, "{}; ", clip(&finding, MAX_FINDING))?;
        }
        if self.omitted > 0 {
            write!(f, "{} more; ", self.omitted)?;
        }
        write!(f, "expected {}", self.signature)
    }
}

impl fmt::Display for MissingField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "missing {}: {}", self.path, self.expected)
    }
}

impl fmt::Display for UnknownField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {}", self.path)?;
        if !self.nearest.is_empty() {
            write!(f, " (did you mean {}?)", self.nearest.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for WrongValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "value"
        } else {
            &self.path
        };
        write!(
            f,
            "{path}: {} expected, found {}",
            self.expected, self.found
        )
    }
}
