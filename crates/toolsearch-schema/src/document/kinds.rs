//! Kinds of JSON values, sets of them, and the words by which schemas name them.

use serde_json::Value;

use super::{Document, list, reference_of};

/// Sub-schemas visited to find out which kinds a schema takes.
const MAX_NODES: usize = 128;

/// Depth of combinators and references that is followed.
const MAX_DEPTH: usize = 12;

/// A kind of JSON value. Every integer is a number too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Null = 1,
    Boolean = 2,
    Integer = 4,
    Number = 8,
    String = 16,
    Array = 32,
    Object = 64,
}

impl Kind {
    /// The kind that a type word names exactly as the standard spells it.
    pub(crate) fn of_standard_word(word: &str) -> Option<Self> {
        Some(match word {
            "null" => Self::Null,
            "boolean" => Self::Boolean,
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::String,
            "array" => Self::Array,
            "object" => Self::Object,
            _ => return None,
        })
    }

    /// The kind that a type word means, with the misspellings that servers really send.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        if let Some(kind) = Self::of_standard_word(word) {
            return Some(kind);
        }
        if word.len() > 16 {
            return None;
        }
        let lower = word.trim().to_ascii_lowercase();
        Some(match lower.as_str() {
            "none" | "nil" => Self::Null,
            "bool" => Self::Boolean,
            "int" | "int32" | "int64" | "uint" | "long" => Self::Integer,
            "float" | "double" | "decimal" | "numeric" => Self::Number,
            "str" | "text" => Self::String,
            "list" | "tuple" => Self::Array,
            "dict" | "map" | "struct" | "record" => Self::Object,
            other => return Self::of_standard_word(other),
        })
    }

    pub(crate) fn of_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(number) if crate::number::is_integer(number) => Self::Integer,
            Value::Number(_) => Self::Number,
            Value::String(_) => Self::String,
            Value::Array(_) => Self::Array,
            Value::Object(_) => Self::Object,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Integer => "integer",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

/// A set of kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const ANY: Self = Self(127);
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn has(self, kind: Kind) -> bool {
        self.0 & kind as u8 != 0
    }

    fn with(self, kind: Kind) -> Self {
        // A schema that takes numbers takes integers.
        let integer = if kind == Kind::Number {
            Kind::Integer as u8
        } else {
            0
        };
        Self(self.0 | kind as u8 | integer)
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The kinds of which a value may fit `schema`. What cannot be told counts as possible.
    pub(crate) fn accepted(document: Document<'_>, schema: &Value) -> Self {
        let mut nodes = MAX_NODES;
        accepted(document, schema, MAX_DEPTH, &mut nodes)
    }
}

fn accepted(document: Document<'_>, schema: &Value, depth: usize, nodes: &mut usize) -> Kinds {
    let members = match schema {
        Value::Bool(false) => return Kinds::NONE,
        Value::Object(members) => members,
        _ => return Kinds::ANY,
    };
    if depth == 0 || *nodes == 0 {
        return Kinds::ANY;
    }
    *nodes -= 1;
    let mut kinds = declared(schema);
    if let Some(value) = members.get("const") {
        kinds = kinds.and(Kinds::NONE.with(Kind::of_value(value)));
    }
    if let Some(Value::Array(values)) = members.get("enum") {
        let of_values = values
            .iter()
            .fold(Kinds::NONE, |set, v| set.with(Kind::of_value(v)));
        kinds = kinds.and(of_values);
    }
    if let Some(reference) = reference_of(schema) {
        let target = document.resolve(reference);
        kinds = kinds.and(target.map_or(Kinds::ANY, |t| accepted(document, t, depth - 1, nodes)));
    }
    for part in list(schema, "allOf") {
        kinds = kinds.and(accepted(document, part, depth - 1, nodes));
    }
    for keyword in ["anyOf", "oneOf"] {
        let variants = list(schema, keyword);
        if !variants.is_empty() {
            let any = variants.iter().fold(Kinds::NONE, |set, variant| {
                set.or(accepted(document, variant, depth - 1, nodes))
            });
            kinds = kinds.and(any);
        }
    }
    if members.get("nullable") == Some(&Value::Bool(true)) {
        kinds = kinds.with(Kind::Null);
    }
    kinds
}

/// The kinds that the `type` keyword names; any when it is missing or says nothing readable.
fn declared(schema: &Value) -> Kinds {
    let of_word = |word: &Value| word.as_str().and_then(Kind::of_word);
    match schema.get("type") {
        Some(Value::Array(words)) if !words.is_empty() => {
            words.iter().try_fold(Kinds::NONE, |set, word| {
                of_word(word).map(|kind| set.with(kind))
            })
        }
        Some(word) => of_word(word).map(|kind| Kinds::NONE.with(kind)),
        None => None,
    }
    .unwrap_or(Kinds::ANY)
}
