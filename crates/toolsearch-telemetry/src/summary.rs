//! Answers about a session from its events: how many schemas the model saw at first, how many
//! searches and descriptions there were, what was called in the end, and where results came from.

use std::collections::BTreeMap;

use serde::Serialize;
use toolsearch_catalog::{Source, ToolId};

use crate::event::{Event, Fallback, Sizes, Stamped};

/// One call in a [`Summary`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CallLine {
    /// The tool.
    pub id: ToolId,
    /// Where the result came from.
    pub source: Source,
    /// Whether the tool ran and did not fail.
    pub ok: bool,
    /// The call whose program made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What a session log says.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Summary {
    /// The session.
    pub session: String,
    /// The agent, when one was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// When it was opened, in milliseconds since the Unix epoch.
    pub opened_at: u64,
    /// The mode in use.
    pub mode: String,
    /// The code engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// Set when another mode was wanted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback: Option<Fallback>,
    /// Tool schemas in the first request.
    pub schemas_seen_at_first: usize,
    /// Search requests.
    pub searches: usize,
    /// Describe requests.
    pub describes: usize,
    /// Programs run.
    pub runs: usize,
    /// Every call of a tool, in the order in which they ended.
    pub calls: Vec<CallLine>,
    /// The tool that was called last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_call: Option<ToolId>,
    /// Searchable tools by source.
    pub catalog: BTreeMap<Source, usize>,
    /// The catalog's fingerprint.
    pub fingerprint: String,
    /// What the model was sent at first.
    pub bytes: Sizes,
    /// Repairs of arguments over all calls.
    pub repairs: usize,
}

impl Summary {
    /// Reads events of one session in their order. Events of other sessions are left out; `None`
    /// when there is none of this session.
    #[must_use]
    pub fn of<'a>(session: &str, events: impl IntoIterator<Item = &'a Stamped>) -> Option<Self> {
        let mut summary = Self {
            session: session.to_owned(),
            ..Self::default()
        };
        let mut any = false;
        for stamped in events
            .into_iter()
            .filter(|stamped| stamped.session == session)
        {
            any = true;
            summary.add(stamped);
        }
        any.then_some(summary)
    }

    fn add(&mut self, stamped: &Stamped) {
        match &stamped.event {
            // Planned anew after a change: what was seen at first stays.
            Event::Opened(opened) if !self.mode.is_empty() => {
                self.catalog.clone_from(&opened.catalog);
                self.fingerprint.clone_from(&opened.fingerprint);
            }
            Event::Opened(opened) => {
                self.opened_at = stamped.at;
                self.agent.clone_from(&opened.agent);
                self.mode.clone_from(&opened.mode);
                self.engine.clone_from(&opened.engine);
                self.fallback.clone_from(&opened.fallback);
                self.schemas_seen_at_first = opened.sizes.tools;
                self.catalog.clone_from(&opened.catalog);
                self.fingerprint.clone_from(&opened.fingerprint);
                self.bytes = opened.sizes;
            }
            Event::Searched(_) => self.searches += 1,
            Event::Described(_) => self.describes += 1,
            Event::Ran(_) => self.runs += 1,
            Event::Called(called) => {
                self.repairs += called.repairs.len();
                self.last_call = Some(called.id.clone());
                self.calls.push(CallLine {
                    id: called.id.clone(),
                    source: called.source,
                    ok: called.ok,
                    parent: called.parent.clone(),
                    error: called.error.clone(),
                });
            }
            Event::Closed => {}
        }
    }
}
