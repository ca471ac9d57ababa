//! The events of a session log, one JSON object a line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toolsearch_catalog::{Source, ToolId};

/// Version of the log's lines; a reader refuses a newer one.
pub const LOG_VERSION: u32 = 1;

/// How much a model was sent, and what sending every tool would have taken. Bytes are of the
/// serialised tools and the prompt text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Sizes {
    /// Tools declared to the model.
    pub tools: usize,
    /// Bytes of those tools.
    pub tool_bytes: usize,
    /// Bytes of prompt text that goes with them.
    pub prompt_bytes: usize,
    /// Tools that direct exposure would have declared.
    pub direct_tools: usize,
    /// Bytes of those tools.
    pub direct_tool_bytes: usize,
}

impl Sizes {
    /// Sizes as sent, and as direct exposure would have sent.
    #[must_use]
    pub const fn new(
        tools: usize,
        tool_bytes: usize,
        prompt_bytes: usize,
        direct_tools: usize,
        direct_tool_bytes: usize,
    ) -> Self {
        Self {
            tools,
            tool_bytes,
            prompt_bytes,
            direct_tools,
            direct_tool_bytes,
        }
    }

    /// All bytes as sent.
    #[must_use]
    pub const fn sent(&self) -> usize {
        self.tool_bytes + self.prompt_bytes
    }
}

/// A mode that was wanted and could not be had.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Fallback {
    /// The mode that was asked for.
    pub from: String,
    /// Why it is not in use.
    pub reason: String,
}

impl Fallback {
    /// Names what was wanted and why it is not there.
    #[must_use]
    pub fn new(from: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            from: from.into(),
            reason: reason.into(),
        }
    }
}

/// A session was planned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Opened {
    /// The agent, when one is named.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agent: Option<String>,
    /// The mode in use.
    pub mode: String,
    /// The code engine, in mode `code`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub engine: Option<String>,
    /// Set when another mode was wanted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fallback: Option<Fallback>,
    /// Searchable tools by source.
    pub catalog: BTreeMap<Source, usize>,
    /// The catalog's fingerprint.
    pub fingerprint: String,
    /// Whether snapshot and index were taken from an earlier session.
    pub reused: bool,
    /// What the model is sent at first.
    pub sizes: Sizes,
}

impl Opened {
    /// A plan without agent, engine or fallback.
    #[must_use]
    pub fn new(mode: impl Into<String>, fingerprint: impl Into<String>, sizes: Sizes) -> Self {
        Self {
            agent: None,
            mode: mode.into(),
            engine: None,
            fallback: None,
            catalog: BTreeMap::new(),
            fingerprint: fingerprint.into(),
            reused: false,
            sizes,
        }
    }
}

/// A search was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Searched {
    /// Number of queries in it.
    pub queries: usize,
    /// Number of hits over all queries.
    pub hits: usize,
}

impl Searched {
    /// Counts of one answered search.
    #[must_use]
    pub const fn new(queries: usize, hits: usize) -> Self {
        Self { queries, hits }
    }
}

/// A description was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Described {
    /// The tools that were described; empty when none was found.
    pub ids: Vec<ToolId>,
}

impl Described {
    /// The tools that were described.
    #[must_use]
    pub const fn new(ids: Vec<ToolId>) -> Self {
        Self { ids }
    }
}

/// A call ended, whether it ran or not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Called {
    /// The call.
    pub call: String,
    /// The call whose program made it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent: Option<String>,
    /// The tool.
    pub id: ToolId,
    /// Where the tool comes from.
    pub source: Source,
    /// Whether the tool ran and did not fail.
    pub ok: bool,
    /// Why not: a failure code, or `tool_error` when the tool ran and failed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// How the arguments were put right.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub repairs: Vec<String>,
    /// Bytes of the result before it was cut.
    pub result_bytes: usize,
    /// How long it took.
    pub millis: u64,
}

impl Called {
    /// A call that went well and took no time yet.
    #[must_use]
    pub fn new(call: impl Into<String>, id: ToolId) -> Self {
        Self {
            call: call.into(),
            parent: None,
            source: id.source(),
            id,
            ok: true,
            error: None,
            repairs: Vec::new(),
            result_bytes: 0,
            millis: 0,
        }
    }
}

/// A program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Ran {
    /// The outer call that held the program.
    pub call: String,
    /// The engine.
    pub engine: String,
    /// Whether it completed.
    pub ok: bool,
    /// The error code otherwise.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: Option<String>,
    /// Calls that it made to tools.
    pub calls: usize,
    /// How long it took.
    pub millis: u64,
}

impl Ran {
    /// A program that completed and took no time yet.
    #[must_use]
    pub fn new(call: impl Into<String>, engine: impl Into<String>) -> Self {
        let (call, engine) = (call.into(), engine.into());
        Self {
            call,
            engine,
            ok: true,
            error: None,
            calls: 0,
            millis: 0,
        }
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Event {
    /// A session was planned.
    Opened(Opened),
    /// A search was answered.
    Searched(Searched),
    /// A description was asked for.
    Described(Described),
    /// A call ended.
    Called(Called),
    /// A program ended.
    Ran(Ran),
    /// The session was closed.
    Closed,
}

/// An event with its session and time, as one line of a log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stamped {
    /// [`LOG_VERSION`] of the writer.
    pub v: u32,
    /// Milliseconds since the Unix epoch.
    pub at: u64,
    /// The session.
    pub session: String,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

impl Stamped {
    /// Stamps an event.
    #[must_use]
    pub fn new(at: u64, session: impl Into<String>, event: Event) -> Self {
        Self {
            v: LOG_VERSION,
            at,
            session: session.into(),
            event,
        }
    }
}
