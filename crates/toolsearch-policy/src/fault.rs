//! Rule sets that cannot do what they say.

use crate::groups::MAX_GROUP_DEPTH;

/// A rule set that cannot do what it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleFault {
    /// An entry names a group that does not exist.
    #[error("{layer}: `{entry}` names no group; groups are {known}")]
    UnknownGroup {
        /// The layer.
        layer: String,
        /// The entry as written.
        entry: String,
        /// The groups that exist, comma-separated.
        known: String,
    },
    /// Groups name each other in a circle, or too deep.
    #[error("{layer}: `{entry}` nests groups in a circle or deeper than {MAX_GROUP_DEPTH}")]
    GroupDepth {
        /// The layer.
        layer: String,
        /// The entry as written.
        entry: String,
    },
    /// Groups stand for too many patterns.
    #[error("{layer}: the groups of `{entry}` stand for more than {most} patterns")]
    TooMany {
        /// The layer.
        layer: String,
        /// The entry as written.
        entry: String,
        /// How many there may be.
        most: usize,
    },
    /// An allow list of which no entry covers any tool: the layer would hide everything.
    #[error("{layer}: the allow list covers no tool; entries: {entries}{}", near_words(.near))]
    NothingAllowed {
        /// The layer.
        layer: String,
        /// The entries, comma-separated.
        entries: String,
        /// What may have been meant: names, ids and owners that are listed, the best first.
        near: Vec<String>,
    },
}

fn near_words(near: &[String]) -> String {
    if near.is_empty() {
        return String::new();
    }
    format!("; near to them are listed: {}", near.join(", "))
}
