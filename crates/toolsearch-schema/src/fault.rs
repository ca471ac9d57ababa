//! Why a schema cannot be used.

use serde_json::Value;

/// Why a schema cannot be used. The tool that it belongs to is set aside or left unchecked; others are
/// not touched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaFault {
    /// The value is no schema at all.
    #[error("the schema is {found}, not an object")]
    WrongType {
        /// What it is, with an article.
        found: &'static str,
    },
    /// A part of it breaks the rules of JSON Schema.
    #[error("malformed schema at {at}: {problem}")]
    Malformed {
        /// JSON pointer of the part; `#` for the root.
        at: String,
        /// What is wrong with it.
        problem: String,
    },
    /// It has too many parts, or parts too deep inside one another.
    #[error("the schema is too large: more than {limit}")]
    TooLarge {
        /// The limit that was passed.
        limit: &'static str,
    },
}

/// What kind of value this is, with an article.
pub(crate) fn kind_with_article(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
