//! What came of a request, before it is put into words.

use std::sync::Arc;

use serde_json::Value;
use toolsearch_catalog::{Block, Outcome, Source, ToolDescriptor, ToolId};

use crate::card::Card;
use crate::failure::Failure;

/// A hit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FoundTool {
    /// The tool in compact form.
    pub card: Arc<Card>,
    /// Score and evidence as JSON, when the request asked for them.
    pub explain: Option<Value>,
}

impl FoundTool {
    /// A hit without explanation.
    #[must_use]
    pub const fn new(card: Arc<Card>) -> Self {
        Self {
            card,
            explain: None,
        }
    }
}

/// Hits of one query.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Group {
    /// The query.
    pub query: String,
    /// Hits, best first.
    pub hits: Vec<FoundTool>,
    /// Why there are none: `no_terms`, `no_match`, `server_unavailable`, `still_connecting`.
    pub reason: Option<&'static str>,
    /// Ids near in writing when there are none.
    pub nearest: Vec<ToolId>,
    /// Tools that match and were left out because they do not say whether they only read.
    pub unsaid: usize,
    /// Set when meaning should have counted and did not.
    pub left_out: Option<LeftOutNote>,
    /// The script of the query when no tool has a word in it: asking in another language may help.
    pub foreign_script: Option<&'static str>,
}

/// Why hits were found by words alone although meaning was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOutNote {
    /// `failed`, `slow`, `misconfigured` or `indexing`.
    pub reason: &'static str,
    /// What happened, for a person; models are not told.
    pub detail: String,
}

impl LeftOutNote {
    /// A reason with what happened.
    #[must_use]
    pub fn new(reason: &'static str, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }
}

impl Group {
    /// Hits of a query.
    #[must_use]
    pub fn new(query: impl Into<String>, hits: Vec<FoundTool>) -> Self {
        Self {
            query: query.into(),
            hits,
            reason: None,
            nearest: Vec::new(),
            unsaid: 0,
            left_out: None,
            foreign_script: None,
        }
    }
}

/// An owner whose tools may be missing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OutageNote {
    /// The owner, safe to print.
    pub server: String,
    /// `starting`, `failed`, `disabled` or `needs-configuration`.
    pub state: &'static str,
    /// Why, bounded and without secrets.
    pub reason: String,
}

impl OutageNote {
    /// Names an owner in trouble.
    #[must_use]
    pub fn new(server: impl Into<String>, state: &'static str, reason: impl Into<String>) -> Self {
        Self {
            server: server.into(),
            state,
            reason: reason.into(),
        }
    }
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SearchReply {
    /// One group a query, in request order.
    pub groups: Vec<Group>,
    /// Owners in trouble; filled when a group is empty.
    pub outages: Vec<OutageNote>,
    /// Says to stop, when the same search was empty again and again.
    pub stop: Option<String>,
}

/// The answer to a call that ran.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CallReply {
    /// The tool.
    pub tool: Arc<ToolDescriptor>,
    /// What it brought back.
    pub outcome: Outcome,
}

impl CallReply {
    /// A call that ran.
    #[must_use]
    pub const fn new(tool: Arc<ToolDescriptor>, outcome: Outcome) -> Self {
        Self { tool, outcome }
    }
}

/// A call that a program made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallNote {
    /// The tool.
    pub id: ToolId,
    /// Where it comes from.
    pub source: Source,
    /// Whether it ran and did not fail.
    pub ok: bool,
}

impl CallNote {
    /// Notes a call.
    #[must_use]
    pub const fn new(id: ToolId, ok: bool) -> Self {
        Self {
            source: id.source(),
            id,
            ok,
        }
    }
}

/// Why a program failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunError {
    /// A stable code such as `timeout` or `syntax_error`.
    pub code: String,
    /// The name of the JavaScript error.
    pub name: String,
    /// What happened, bounded.
    pub message: String,
    /// The line in the program as the model wrote it, from 1.
    pub line: Option<u32>,
    /// The column in that line, from 1.
    pub column: Option<u32>,
    /// What to do instead.
    pub hint: Option<String>,
}

impl RunError {
    /// A failure at an unknown place.
    #[must_use]
    pub fn new(
        code: impl Into<String>,
        name: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        let (code, name, message) = (code.into(), name.into(), message.into());
        Self {
            code,
            name,
            message,
            line: None,
            column: None,
            hint: None,
        }
    }
}

/// The answer to a program.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct RunReply {
    /// What the program returned; null when it failed.
    pub value: Value,
    /// One line a console call.
    pub logs: Vec<String>,
    /// Calls of tools, in the order in which they ended.
    pub calls: Vec<CallNote>,
    /// Why it failed.
    pub error: Option<RunError>,
    /// Whether value or logs were cut.
    pub truncated: bool,
    /// Advice for the model, such as what an empty search inside the program means.
    pub notes: Vec<String>,
    /// Counts and sizes as JSON.
    pub telemetry: Value,
    /// Content blocks of nested calls that go with the result.
    pub blocks: Vec<Block>,
    /// Tools that were called and that nobody vouches for: their text may stand in all of the above.
    pub untrusted: Vec<ToolId>,
}

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Response {
    /// Hits.
    Search(SearchReply),
    /// Tools to show in full.
    Describe(Vec<(Arc<ToolDescriptor>, Arc<Card>)>),
    /// A result.
    Call(Box<CallReply>),
    /// A program's result.
    Run(Box<RunReply>),
    /// Nothing was done, and why.
    Failed(Box<Failure>),
}
