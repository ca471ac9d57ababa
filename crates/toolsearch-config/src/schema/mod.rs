//! The one description of what `toolsearch.json5` may hold.
//!
//! [`table`] and [`services`] list every key with its type, range and meaning. [`check`] walks a file with them and
//! finds unknown keys, wrong types and numbers out of range; [`export`] prints them as JSON Schema.
//! The structs of [`crate::settings`] follow it; a test compares the two.

pub(crate) mod check;
mod export;
pub(crate) mod services;
pub(crate) mod table;
#[cfg(test)]
mod tests;

use crate::path::{KeyPath, Step};

pub use export::schema_json;

/// What a key takes.
#[derive(Debug)]
pub(crate) enum Kind {
    Bool,
    /// Any string, taken as it stands.
    Text,
    /// A string in which variables are filled in.
    Template,
    /// A string of a certain form.
    Word(&'static Word),
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A whole number.
    Count(&'static Count),
    List(&'static Kind),
    /// Keys of the user's choice, all with the same kind of value.
    Map(&'static Kind),
    Object(&'static Shape),
    /// The first of these whose JSON type fits.
    Either(&'static [Kind]),
}

/// A whole number with its range. What is outside is cut; what is no such number is replaced.
#[derive(Debug)]
pub(crate) struct Count {
    /// Absent where there is no value unless one is given.
    pub(crate) default: Option<u64>,
    pub(crate) min: u64,
    pub(crate) max: u64,
}

impl Count {
    const fn new(default: u64, min: u64, max: u64) -> Self {
        Self {
            default: Some(default),
            min,
            max,
        }
    }

    /// The default, for kinds that have one; the smallest value otherwise.
    pub(crate) const fn default(&self) -> u64 {
        match self.default {
            Some(default) => default,
            None => self.min,
        }
    }

    /// The nearest value in range.
    pub(crate) fn clamp(&self, value: u64) -> u64 {
        value.clamp(self.min, self.max)
    }
}

/// A string of a certain form.
#[derive(Debug)]
pub(crate) struct Word {
    /// The form in words, for a message.
    pub(crate) what: &'static str,
    /// The same as a regular expression, for the JSON Schema.
    pub(crate) pattern: &'static str,
    pub(crate) accepts: fn(&str) -> bool,
}

/// The keys of an object.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Name in the JSON Schema.
    pub(crate) name: &'static str,
    pub(crate) help: &'static str,
    pub(crate) fields: &'static [Field],
    /// Whether a fault inside costs only this entry and not the whole file. Unknown keys are
    /// always refused.
    pub(crate) stands_alone: bool,
}

/// One key of an object.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
    /// What other programs call it.
    pub(crate) meant: &'static [&'static str],
    pub(crate) required: bool,
    /// The default as JSON text, where the kind does not say it.
    pub(crate) default: Option<&'static str>,
}

impl Field {
    const fn new(key: &'static str, kind: Kind, help: &'static str) -> Self {
        Self {
            key,
            kind,
            help,
            meant: &[],
            required: false,
            default: None,
        }
    }

    const fn meant(mut self, names: &'static [&'static str]) -> Self {
        self.meant = names;
        self
    }

    const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    const fn default(mut self, json: &'static str) -> Self {
        self.default = Some(json);
        self
    }
}

impl Shape {
    pub(crate) fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.key == key)
    }

    /// The key that was probably meant by an unknown one.
    pub(crate) fn nearest(&self, key: &str) -> Option<&'static str> {
        let lower = key.to_lowercase();
        let called = |field: &&Field| field.meant.iter().any(|name| name.to_lowercase() == lower);
        match self.fields.iter().find(called) {
            Some(field) => Some(field.key),
            None => crate::nearest::nearest(key, self.fields.iter().map(|field| field.key)),
        }
    }
}

impl Kind {
    /// What this takes, in words for a message.
    pub(crate) fn expected(&self) -> String {
        match self {
            Self::Bool => "true or false".to_owned(),
            Self::Text | Self::Template => "a string".to_owned(),
            Self::Word(word) => word.what.to_owned(),
            Self::Choice(values) => {
                let quoted: Vec<String> =
                    values.iter().map(|value| format!("\"{value}\"")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Self::Count(count) => format!("a whole number from {} to {}", count.min, count.max),
            Self::List(inner) => format!("an array, each element {}", inner.expected()),
            Self::Map(_) | Self::Object(_) => "an object".to_owned(),
            Self::Either(kinds) => kinds
                .iter()
                .map(Self::expected)
                .collect::<Vec<_>>()
                .join(", or "),
        }
    }

    /// The object shape, when this is or may be one.
    pub(crate) fn shape(&self) -> Option<&'static Shape> {
        match self {
            Self::Object(shape) => Some(shape),
            Self::Either(kinds) => kinds.iter().find_map(Self::shape),
            _ => None,
        }
    }
}

/// The kind of value that stands at a path, if the file may have that path.
pub(crate) fn kind_at(path: &KeyPath) -> Option<&'static Kind> {
    path.steps().iter().try_fold(&table::ROOT_KIND, step_into)
}

fn step_into(kind: &'static Kind, step: &Step) -> Option<&'static Kind> {
    match (kind, step) {
        (Kind::Object(shape), Step::Key(key)) => shape.field(key).map(|field| &field.kind),
        (Kind::Map(inner), Step::Key(_)) | (Kind::List(inner), Step::Index(_)) => Some(inner),
        (Kind::Either(kinds), _) => kinds.iter().find_map(|kind| step_into(kind, step)),
        _ => None,
    }
}

/// The path of a key of that name that exists elsewhere in the file, outside lists and maps.
pub(crate) fn elsewhere(key: &str) -> Option<String> {
    fn search(shape: &'static Shape, at: &KeyPath, key: &str) -> Option<KeyPath> {
        let here = shape.field(key).map(|field| at.key(field.key));
        here.or_else(|| {
            shape.fields.iter().find_map(|field| {
                field
                    .kind
                    .shape()
                    .and_then(|inner| search(inner, &at.key(field.key), key))
            })
        })
    }
    search(&table::ROOT, &KeyPath::default(), key).map(|path| path.to_string())
}
