//! Calls of tools as a model makes them, and the ids that tie their results to them.

use serde_json::{Map, Value};
use toolsearch_schema::names::clip;

/// Longest excerpt of unreadable arguments, in characters.
const MAX_EXCERPT_CHARS: usize = 200;
/// Characters of the provider's own id that a client call id keeps.
const KEPT_ID_CHARS: usize = 20;
/// Stands before the unique part of a client call id.
const MARK: &str = "_ts";
/// Hex digits of the unique part.
const UNIQUE_DIGITS: usize = 16;

/// In which form a call stands on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CallForm {
    /// A function with JSON arguments.
    #[default]
    Function,
    /// A tool that takes free text.
    Custom,
    /// A search for deferred tools that the client runs (Responses).
    ToolSearch,
}

impl CallForm {
    /// The word for it in saved state.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Custom => "custom",
            Self::ToolSearch => "tool_search",
        }
    }

    /// The form of a word; a function for any other.
    #[must_use]
    pub fn from_word(word: &str) -> Self {
        match word {
            "custom" => Self::Custom,
            "tool_search" => Self::ToolSearch,
            _ => Self::Function,
        }
    }
}

/// The arguments of a call as far as they can be read.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "arguments are an object or they are not"
)]
pub enum Arguments {
    /// An object; what was empty or null is an empty one. Free text stands under `input`.
    Object(Map<String, Value>),
    /// Something else: the call must not run.
    Unreadable {
        /// What was sent, cut to a readable length.
        excerpt: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl Arguments {
    /// Reads arguments as providers send them: the text of an object, the object itself, or nothing.
    #[must_use]
    pub fn read(value: Option<&Value>) -> Self {
        let text = match value {
            None | Some(Value::Null) => return Self::Object(Map::new()),
            Some(Value::Object(object)) => return Self::Object(object.clone()),
            Some(Value::String(text)) => text.trim(),
            Some(other) => return Self::unreadable(&other.to_string(), "it is no object"),
        };
        if text.is_empty() || text == "null" {
            return Self::Object(Map::new());
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(object)) => Self::Object(object),
            Ok(_) => Self::unreadable(text, "it is no object"),
            Err(error) => Self::unreadable(text, &error.to_string()),
        }
    }

    /// The arguments of a call with free text.
    #[must_use]
    pub fn free_text(input: Option<&Value>) -> Self {
        let text = input.and_then(Value::as_str).unwrap_or_default();
        let input = ("input".to_owned(), Value::from(text));
        Self::Object(Map::from_iter([input]))
    }

    fn unreadable(text: &str, problem: &str) -> Self {
        Self::Unreadable {
            excerpt: clip(text, MAX_EXCERPT_CHARS),
            problem: problem.to_owned(),
        }
    }
}

/// A tool that is called.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Call {
    /// Ties the result to the call; unique within its turn.
    pub id: String,
    /// The name that was called.
    pub name: String,
    /// The namespace that the name is of, where the wire knows such.
    pub namespace: Option<String>,
    /// The form on the wire.
    pub form: CallForm,
    /// The arguments.
    pub arguments: Arguments,
}

impl Call {
    /// A call of a function.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Arguments) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            namespace: None,
            form: CallForm::Function,
            arguments,
        }
    }

    /// Arguments as the text that stands on the wire: an object, or the free text itself.
    #[must_use]
    pub fn arguments_text(&self) -> String {
        match &self.arguments {
            Arguments::Object(object) if self.form == CallForm::Custom => object
                .get("input")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            Arguments::Object(object) => serde_json::to_string(object).unwrap_or_default(),
            Arguments::Unreadable { .. } => "{}".to_owned(),
        }
    }

    /// Arguments as an object; an empty one where they are unreadable.
    #[must_use]
    pub fn arguments_object(&self) -> Value {
        match &self.arguments {
            Arguments::Object(object) => Value::Object(object.clone()),
            Arguments::Unreadable { .. } => Value::Object(Map::new()),
        }
    }
}

/// An id for a call that a client is handed: the beginning of the provider's own, and a unique number,
/// so that it can be told from every other even where a provider counts from zero. At most 39
/// characters of `A-Z a-z 0-9 _ -`, which every provider accepts.
#[must_use]
pub fn client_call_id(own: &str, unique: u64) -> String {
    let legal = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let own = own.split_once(MARK).map_or(own, |(before, _)| before);
    let kept: String = own.chars().filter(legal).take(KEPT_ID_CHARS).collect();
    let kept = if kept.is_empty() { "call" } else { &kept };
    format!("{kept}{MARK}{unique:016x}")
}

/// Whether an id was made by [`client_call_id`].
#[must_use]
pub fn is_client_call_id(id: &str) -> bool {
    id.rsplit_once(MARK).is_some_and(|(own, unique)| {
        !own.is_empty()
            && unique.len() == UNIQUE_DIGITS
            && unique
                .bytes()
                .all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}
