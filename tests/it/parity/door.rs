//! What a door is to the rules, and what comes back through one.

use serde_json::{Value, json};

/// Most characters of each end of a text that are kept.
const MOST: usize = 2_000;

/// A call as somebody makes it: an id and arguments.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) args: Value,
}

impl Call {
    pub(super) fn new(id: &str, args: Value) -> Self {
        let id = id.to_owned();
        Self { id, args }
    }

    /// The tool's own name: the last part of the id.
    pub(super) fn name(&self) -> &str {
        self.id.rsplit(':').next().unwrap_or(&self.id)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({ "id": self.id, "args": self.args })
    }
}

/// In which order calls are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    InTurn,
    AtOnce,
}

/// What the caller is told.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// Why it did not work; `None` where it did.
    pub(super) code: Option<String>,
    /// The text, its middle left out where it is long.
    pub(super) text: String,
    /// Bytes of the whole text.
    pub(super) length: usize,
}

impl Answer {
    pub(super) fn new(code: Option<String>, text: &str) -> Self {
        let length = text.len();
        let text = match length > 2 * MOST {
            true => {
                let (from, to) = (
                    text.floor_char_boundary(MOST),
                    text.ceil_char_boundary(length - MOST),
                );
                format!("{} … {}", &text[..from], &text[to..])
            }
            false => text.to_owned(),
        };
        Self { code, text, length }
    }

    /// The answer of a tool, in the form of MCP: its failure code stands in `_meta`.
    pub(super) fn of_result(result: &Value) -> Self {
        let code = result["_meta"]["toolsearch/error"].as_str();
        let failed = result["isError"].as_bool().unwrap_or(false);
        let code = code.or(failed.then_some("tool_error"));
        let blocks = result["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        Self::new(code.map(str::to_owned), &texts.join("\n"))
    }

    pub(super) fn code(&self) -> &str {
        self.code.as_deref().unwrap_or("ok")
    }
}

/// In what doors may differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    /// Whether calls are made by a program, and so have a parent.
    pub(super) nested: bool,
    /// Whether several calls belong to one session.
    pub(super) lasting: bool,
    /// Whether results come whole: to a program, and to a person.
    pub(super) whole: bool,
    /// Whether somebody can be asked.
    pub(super) asks: bool,
}

/// A way to the tools.
pub(super) trait Door {
    fn kind(&self) -> Kind;

    /// Makes calls, in one session if the door has one, and gives their answers in the same order.
    fn calls(&mut self, calls: &[Call], pace: Pace) -> Vec<Answer>;

    /// Ids of the hits of a search through this door.
    fn search(&mut self, query: &str) -> Vec<String>;

    /// Every recorded call of this door so far, as it stands in a session log.
    fn records(&self) -> Vec<Value>;

    /// Tools that a person was asked about so far, where anybody can be asked.
    fn questions(&self) -> Vec<String>;
}
