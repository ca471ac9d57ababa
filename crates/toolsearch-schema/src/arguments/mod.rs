//! Arguments of a call: the shapes in which models write them, their repair, and their check.
//!
//! The usual order is [`unwrap_call`] (or [`read_arguments`]), then [`repair`], then [`validate`]. What
//! stands in the arguments is never logged or shown here; messages name fields and kinds only.

mod error;
mod repair;
mod shape;
#[cfg(test)]
mod tests;
mod text;
mod validate;

use std::fmt;

use crate::names::sanitise_label;

pub use error::{ArgumentErrors, MissingField, UnknownField, WrongValue};
pub use repair::repair;
pub use shape::{CallShape, ShapeError, ShapeErrorKind, unwrap_call};
pub use text::{MAX_ARGUMENT_BYTES, parse_arguments_text, read_arguments};
pub use validate::{Validator, validate};

/// An object of arguments.
pub type Map = serde_json::Map<String, serde_json::Value>;

/// A change that was made to arguments because they could mean one thing only.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Repair {
    /// What was done.
    pub kind: RepairKind,
    /// The field that it was done to, cleaned and bounded.
    pub field: String,
}

/// What a repair did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RepairKind {
    /// A field that stood beside the id was taken as an argument.
    Flattened,
    /// An empty wrapper beside other fields was taken as absent.
    EmptyWrapper,
    /// A key such as `args.path` was taken as the field `path`.
    DottedKey,
    /// JSON text was read as the object or list that it spells.
    TextParsed,
    /// The id was found inside the arguments.
    SelectorLifted,
    /// A text was read as the number, boolean or null that the schema asks for.
    Coerced,
}

impl Repair {
    pub(crate) fn new(kind: RepairKind, field: &str) -> Self {
        Self {
            kind,
            field: sanitise_label(field, 80),
        }
    }
}

impl RepairKind {
    /// A stable word for records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Flattened => "flattened",
            Self::EmptyWrapper => "empty_wrapper",
            Self::DottedKey => "dotted_key",
            Self::TextParsed => "text_parsed",
            Self::SelectorLifted => "selector_lifted",
            Self::Coerced => "coerced",
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.as_str(), self.field)
    }
}
