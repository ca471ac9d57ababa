//! What kind of thing a verb does: a tool whose name says `create` is hardly meant by who asks to `list`.
//! Not here: what another kind costs a tool.

use crate::words::{Kind, Words};

/// Verbs of each kind. A verb of several kinds, as `open` and `check out`, stands in none.
const KINDS: [&[&str]; 6] = [
    &[
        "browse", "check", "describe", "fetch", "find", "get", "inspect", "list", "lookup",
        "query", "read", "retrieve", "search", "show", "view",
    ],
    &["add", "create", "generate", "insert", "make", "new"],
    &[
        "change", "edit", "modify", "patch", "rename", "replace", "set", "update",
    ],
    &["clear", "delete", "drop", "erase", "purge", "remove"],
    &["execute", "launch", "run", "start"],
    &["abort", "cancel", "kill", "stop", "terminate"],
];

/// The kind of thing that a verb does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Deed(u8);

impl Default for Deed {
    fn default() -> Self {
        Self::UNKNOWN
    }
}

impl Deed {
    /// What no verb here says.
    pub(crate) const UNKNOWN: Self = Self(u8::MAX);

    /// The kind of a folded word.
    pub(crate) fn of(word: &str) -> Self {
        let kinds = (0..).zip(KINDS);
        let mut same = kinds.filter(|(_, verbs)| verbs.contains(&word));
        same.next().map_or(Self::UNKNOWN, |(at, _)| Self(at))
    }

    /// What a tool does by the first verb of its name.
    pub(crate) fn of_name(words: &Words, name: &str) -> Self {
        let mut found = Self::UNKNOWN;
        words.read(name, Kind::Name, |word| {
            found = Self::of(word.text);
            found == Self::UNKNOWN
        });
        found
    }

    /// Whether both are known and not the same.
    pub(crate) fn is_other_than(self, asked: Self) -> bool {
        self != asked && self != Self::UNKNOWN && asked != Self::UNKNOWN
    }
}
