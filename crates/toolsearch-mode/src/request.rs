//! What a control call asks for, checked and typed.

use serde_json::{Map, Value};

/// Most ids of one describe request.
pub const MAX_DESCRIBE_IDS: usize = 5;

/// One query of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// What is looked for.
    pub text: String,
    /// How many hits at most; already within the limits.
    pub limit: usize,
    /// Whether only tools are wanted that say of themselves (`readOnlyHint`) that they change nothing.
    pub read_only: bool,
}

impl Query {
    /// A query within its limits.
    #[must_use]
    pub fn new(text: impl Into<String>, limit: usize) -> Self {
        Self {
            text: text.into(),
            limit,
            read_only: false,
        }
    }
}

/// A call of a catalog tool.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CallRequest {
    /// The tool as the model names it.
    pub id: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// What was put right in the shape of the call, for telemetry.
    pub repairs: Vec<String>,
}

impl CallRequest {
    /// A call that needed no repair.
    #[must_use]
    pub fn new(id: impl Into<String>, args: Map<String, Value>) -> Self {
        Self {
            id: id.into(),
            args,
            repairs: Vec::new(),
        }
    }
}

/// What a control call asks for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Request {
    /// Find tools.
    Search {
        /// The queries, in order.
        queries: Vec<Query>,
        /// Whether the answer groups hits by query.
        batch: bool,
        /// Whether hits carry score and evidence.
        explain: bool,
    },
    /// Show tools in full; one to [`MAX_DESCRIBE_IDS`] ids as the model names them.
    Describe(Vec<String>),
    /// Run one tool.
    Call(CallRequest),
    /// Run a program.
    Run {
        /// The source as the model wrote it.
        code: String,
    },
}
