//! The controls, their names, and the limits of a search.

use std::collections::BTreeSet;

use toolsearch_schema::names::is_provider_name;

/// One of the four controls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Control {
    /// Find tools.
    Search,
    /// Show one tool in full.
    Describe,
    /// Run one tool.
    Call,
    /// Run a program that does all three.
    Code,
}

/// What the controls are called. The names are reserved: a tool of the catalog that bears one is
/// shown under another name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControlNames {
    /// Default `tool_search`.
    pub search: String,
    /// Default `tool_describe`.
    pub describe: String,
    /// Default `tool_call`.
    pub call: String,
    /// Default `tool_search_code`.
    pub code: String,
}

/// Control names that cannot be used together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("control name `{0}` must be 1 to 64 of A-Z a-z 0-9 _ - and differ from the others")]
pub struct NameClash(pub String);

impl Default for ControlNames {
    fn default() -> Self {
        Self {
            search: "tool_search".to_owned(),
            describe: "tool_describe".to_owned(),
            call: "tool_call".to_owned(),
            code: "tool_search_code".to_owned(),
        }
    }
}

impl ControlNames {
    /// The name of a control.
    #[must_use]
    pub fn of(&self, control: Control) -> &str {
        match control {
            Control::Search => &self.search,
            Control::Describe => &self.describe,
            Control::Call => &self.call,
            Control::Code => &self.code,
        }
    }

    /// The control with a name.
    #[must_use]
    pub fn control(&self, name: &str) -> Option<Control> {
        self.all()
            .into_iter()
            .find(|(_, own)| *own == name)
            .map(|(control, _)| control)
    }

    /// All four with their names.
    #[must_use]
    pub fn all(&self) -> [(Control, &str); 4] {
        [
            Control::Search,
            Control::Describe,
            Control::Call,
            Control::Code,
        ]
        .map(|control| (control, self.of(control)))
    }

    /// Checks that the names are legal for every provider and differ.
    ///
    /// # Errors
    /// [`NameClash`] with the first offending name.
    pub fn check(&self) -> Result<(), NameClash> {
        let mut seen = BTreeSet::new();
        for (_, name) in self.all() {
            if !is_provider_name(name) || !seen.insert(name) {
                return Err(NameClash(name.to_owned()));
            }
        }
        Ok(())
    }
}

/// How much a search may ask for and answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchLimits {
    /// Hits of a query that names no limit.
    pub default: usize,
    /// Most hits of one query; a higher limit is cut to it.
    pub max: usize,
    /// Most queries of one request.
    pub queries: usize,
    /// Most UTF-8 bytes of one query of a batch.
    pub query_bytes: usize,
    /// Most hits of one request over all queries.
    pub total: usize,
    /// Most characters of the answer to a batch; an answer to a single query gets twice as many.
    pub reply_chars: usize,
    /// Whether a search for tools that only read also finds those that do not say whether they do.
    pub assume_read_only: bool,
}

impl Default for SearchLimits {
    fn default() -> Self {
        Self::new(8, 20)
    }
}

impl SearchLimits {
    /// Limits with a default and a maximum number of hits; the maximum is brought into 1..=50, the
    /// default into 1..=maximum.
    #[must_use]
    pub fn new(default: usize, max: usize) -> Self {
        let max = max.clamp(1, 50);
        let default = default.clamp(1, max);
        Self {
            default,
            max,
            queries: 16,
            query_bytes: 512,
            total: 50,
            reply_chars: 4000,
            assume_read_only: false,
        }
    }
}
