//! For whom a decision is made.

use serde::Serialize;

/// How deep subagents may stand below one another. A deeper one may use nothing.
pub const MAX_PARENTS: usize = 8;

/// For whom a decision is made. A part that is not known is `None` and matches no rule about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Subject {
    /// The agent's id.
    pub agent: Option<String>,
    /// The model provider, `openai`, or provider and model, `openai/gpt-5`.
    pub provider: Option<String>,
    /// The channel that the session belongs to.
    pub channel: Option<String>,
    /// The session.
    pub session: Option<String>,
    /// Whether its work is confined to a sandbox.
    pub sandboxed: bool,
    /// Those that it works for, the nearest first, each without parents of its own. At most one more
    /// than [`MAX_PARENTS`].
    parents: Vec<Subject>,
}

impl Subject {
    /// A subject of which nothing is known.
    #[must_use]
    pub fn anyone() -> Self {
        Self::default()
    }

    /// A subject of which only the agent is known.
    #[must_use]
    pub fn agent(id: impl Into<String>) -> Self {
        Self {
            agent: Some(id.into()),
            ..Self::default()
        }
    }

    /// The same subject as a subagent of `parent`: it may use no more than the parent may, and the
    /// parent's own parents.
    #[must_use]
    pub fn below(mut self, parent: Self) -> Self {
        let Self { parents, .. } = &parent;
        let further = parents.clone();
        self.parents = vec![Self {
            parents: Vec::new(),
            ..parent
        }];
        self.parents.extend(further);
        self.parents.truncate(MAX_PARENTS + 1);
        self
    }

    /// Those that it works for, the nearest first.
    #[must_use]
    pub fn parents(&self) -> &[Self] {
        &self.parents
    }

    /// Whether it is a subagent.
    #[must_use]
    pub fn is_subagent(&self) -> bool {
        !self.parents.is_empty()
    }

    /// Whether it stands below more parents than may be.
    #[must_use]
    pub fn is_too_deep(&self) -> bool {
        self.parents.len() > MAX_PARENTS
    }

    /// How it is named in an explanation.
    pub(crate) fn label(&self) -> String {
        self.agent
            .as_ref()
            .map_or_else(|| "anyone".to_owned(), |agent| format!("agent {agent}"))
    }
}
