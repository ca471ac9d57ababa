//! The short notation for fields in the data files, read into types. Not here: JSON Schema (see
//! `schema`) and checking of values (see `check`).
//!
//! A field is written as one string, `type flags description`:
//!
//! * types: `str`, `text`, `int`, `num`, `bool`, `date`, `time`, `email`, `url`, `map`, `obj`,
//!   `a|b|c` for a choice, `@entity` for a reference; `int:1..5` bounds a number, `[]` makes a list;
//! * flags, directly behind the type: `!` required, `^` not set by callers, `=value` default.
//!
//! An `obj` is written as `{"is": "obj …", "of": {fields}}`.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::Value;

use crate::spec::Pairs;

/// The type of a field, parameter or list element.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Text,
    Int(Range),
    Num(Range),
    Bool,
    Date,
    Time,
    Email,
    Url,
    Choice(Arc<[&'static str]>),
    /// The id of a record of the named entity of the same service.
    Ref(&'static str),
    /// Any object.
    Map,
    Object(Arc<[Field]>),
    List(Arc<Kind>),
}

/// Bounds of a number, both inclusive.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Range {
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
}

/// One field of an entity or of an object inside one.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    /// Changed by tools only, never given at creation.
    pub(crate) read_only: bool,
    pub(crate) default: Option<Value>,
    pub(crate) description: &'static str,
}

impl Field {
    /// Whether it holds objects or lists.
    pub(crate) const fn is_nested(&self) -> bool {
        matches!(self.kind, Kind::Object(_) | Kind::List(_) | Kind::Map)
    }
}

/// A field as it stands in a data file.
#[derive(Debug)]
pub(crate) struct FieldSpec {
    text: &'static str,
    of: Vec<Field>,
}

impl FieldSpec {
    /// Reads the notation.
    pub(crate) fn read(self, name: &'static str) -> Result<Field, String> {
        let (head, description) = self.text.split_once(' ').unwrap_or((self.text, ""));
        let (base, flags) = head.split_at(head.find(['!', '^', '=']).unwrap_or(head.len()));
        let kind = kind(base, self.of).ok_or_else(|| format!("`{name}` has no type: `{base}`"))?;
        let marks = flags.trim_start_matches(['!', '^']);
        let default = marks
            .strip_prefix('=')
            .map(|text| text.trim_end_matches(['!', '^']));
        let default = match default {
            Some(text) => Some(
                value(&kind, text)
                    .ok_or_else(|| format!("`{name}` cannot have the default `{text}`"))?,
            ),
            None => None,
        };
        let required = flags.contains('!');
        let read_only = flags.contains('^');
        Ok(Field {
            name,
            kind,
            required,
            read_only,
            default,
            description,
        })
    }
}

fn kind(base: &'static str, of: Vec<Field>) -> Option<Kind> {
    if let Some(element) = base.strip_suffix("[]") {
        let element = element
            .strip_prefix('(')
            .and_then(|e| e.strip_suffix(')'))
            .unwrap_or(element);
        return Some(Kind::List(Arc::new(kind(element, of)?)));
    }
    if let Some(entity) = base.strip_prefix('@') {
        return Some(Kind::Ref(entity));
    }
    let (word, range) = match base.split_once(':') {
        Some((word, range)) => (word, self::range(range)?),
        None => (base, Range::default()),
    };
    Some(match word {
        "str" | "text" => Kind::Text,
        "int" => Kind::Int(range),
        "num" => Kind::Num(range),
        "bool" => Kind::Bool,
        "date" => Kind::Date,
        "time" => Kind::Time,
        "email" => Kind::Email,
        "url" => Kind::Url,
        "map" => Kind::Map,
        "obj" if !of.is_empty() => Kind::Object(of.into()),
        choice if choice.contains('|') => Kind::Choice(choice.split('|').collect()),
        _ => return None,
    })
}

fn range(text: &str) -> Option<Range> {
    let (min, max) = text.split_once("..")?;
    let bound = |text: &str| match text {
        "" => Some(None),
        number => number.parse().ok().map(Some),
    };
    Some(Range {
        min: bound(min)?,
        max: bound(max)?,
    })
}

fn value(kind: &Kind, text: &str) -> Option<Value> {
    match kind {
        Kind::Int(_) => text.parse::<i64>().ok().map(Value::from),
        Kind::Num(_) => match text.parse::<i64>() {
            Ok(whole) => Some(Value::from(whole)),
            Err(_) => text.parse::<f64>().ok().map(Value::from),
        },
        Kind::Bool => text.parse::<bool>().ok().map(Value::from),
        Kind::Choice(options) => options.contains(&text).then(|| Value::from(text)),
        Kind::Map | Kind::Object(_) | Kind::List(_) => None,
        _ => Some(Value::from(text)),
    }
}

/// Reads a map of fields in its order.
pub(crate) fn fields(pairs: Pairs<FieldSpec>) -> Result<Vec<Field>, String> {
    pairs
        .0
        .into_iter()
        .map(|(name, spec)| spec.read(name))
        .collect()
}

impl Deserialize<'static> for FieldSpec {
    fn deserialize<D: Deserializer<'static>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'static> for Reader {
            type Value = FieldSpec;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field in short notation, or an object with `is` and `of`")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'static str) -> Result<FieldSpec, E> {
                Ok(FieldSpec {
                    text,
                    of: Vec::new(),
                })
            }

            fn visit_map<A: MapAccess<'static>>(self, mut map: A) -> Result<FieldSpec, A::Error> {
                let mut spec = FieldSpec {
                    text: "",
                    of: Vec::new(),
                };
                while let Some(key) = map.next_key::<&str>()? {
                    match key {
                        "is" => spec.text = map.next_value()?,
                        "of" => spec.of = fields(map.next_value()?).map_err(A::Error::custom)?,
                        other => return Err(A::Error::unknown_field(other, &["is", "of"])),
                    }
                }
                Ok(spec)
            }
        }
        deserializer.deserialize_any(Reader)
    }
}
