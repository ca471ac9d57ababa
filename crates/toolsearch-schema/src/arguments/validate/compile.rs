//! One pass through a schema before it is used: is it well-formed, small enough, and which patterns
//! does it hold.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Map, Value};

use super::pattern;
use crate::document::Kind;
use crate::fault::{SchemaFault, kind_with_article};
use crate::names::sanitise_label;

const MAX_NODES: usize = 50_000;
const MAX_DEPTH: usize = 64;
const MAX_PATTERNS: usize = 256;

/// Keywords that hold one schema, a list of schemas, and schemas by name.
const ONE: [&str; 12] = [
    "additionalProperties",
    "additionalItems",
    "unevaluatedProperties",
    "unevaluatedItems",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "items",
    "contentSchema",
];
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
];

/// Keywords that hold a number.
const NUMERIC: [&str; 9] = [
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
];

/// Checks the form of all parts and compiles their patterns.
pub(super) fn read_through(schema: &Value) -> Result<BTreeMap<String, Option<Regex>>, SchemaFault> {
    if !schema.is_object() && !schema.is_boolean() {
        return Err(SchemaFault::WrongType {
            found: kind_with_article(schema),
        });
    }
    let mut reader = Reader {
        nodes: 0,
        patterns: BTreeMap::new(),
    };
    reader.schema(schema, "#", 0)?;
    Ok(reader.patterns)
}

/// Whether the schema says that it is of a draft before 2019-09.
pub(super) fn is_old_draft(schema: &Value) -> bool {
    let named = schema
        .get("$schema")
        .and_then(Value::as_str)
        .unwrap_or_default();
    ["draft-03", "draft-04", "draft-05", "draft-06", "draft-07"]
        .iter()
        .any(|draft| named.contains(draft))
}

struct Reader {
    nodes: usize,
    patterns: BTreeMap<String, Option<Regex>>,
}

impl Reader {
    fn schema(&mut self, schema: &Value, at: &str, depth: usize) -> Result<(), SchemaFault> {
        let members = match schema {
            Value::Bool(_) => return Ok(()),
            Value::Object(members) => members,
            other => {
                return Err(malformed(
                    at,
                    format!("{} in place of a schema", kind_with_article(other)),
                ));
            }
        };
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(SchemaFault::TooLarge {
                limit: "50000 parts",
            });
        }
        if depth >= MAX_DEPTH {
            return Err(SchemaFault::TooLarge { limit: "64 levels" });
        }
        self.keywords(members, at)?;
        for keyword in ONE {
            match members.get(keyword) {
                Some(Value::Array(parts)) if keyword == "items" => {
                    self.list(parts, at, keyword, depth)?;
                }
                Some(part) => self.schema(part, &format!("{at}/{keyword}"), depth + 1)?,
                None => {}
            }
        }
        for keyword in LISTS {
            match members.get(keyword) {
                Some(Value::Array(parts)) if !parts.is_empty() => {
                    self.list(parts, at, keyword, depth)?;
                }
                Some(_) => {
                    return Err(malformed(at, format!("{keyword} is not a list of schemas")));
                }
                None => {}
            }
        }
        for keyword in NAMED {
            match members.get(keyword) {
                Some(Value::Object(parts)) => self.named(parts, at, keyword, depth)?,
                Some(_) => return Err(malformed(at, format!("{keyword} is not an object"))),
                None => {}
            }
        }
        Ok(())
    }

    fn list(
        &mut self,
        parts: &[Value],
        at: &str,
        keyword: &str,
        depth: usize,
    ) -> Result<(), SchemaFault> {
        for (index, part) in parts.iter().enumerate() {
            self.schema(part, &format!("{at}/{keyword}/{index}"), depth + 1)?;
        }
        Ok(())
    }

    fn named(
        &mut self,
        parts: &Map<String, Value>,
        at: &str,
        keyword: &str,
        depth: usize,
    ) -> Result<(), SchemaFault> {
        for (name, part) in parts {
            self.schema(part, &format!("{at}/{keyword}/{name}"), depth + 1)?;
            if keyword == "patternProperties" {
                self.pattern(name);
            }
        }
        Ok(())
    }

    fn keywords(&mut self, members: &Map<String, Value>, at: &str) -> Result<(), SchemaFault> {
        match members.get("type") {
            None => {}
            Some(Value::Array(words)) => words.iter().try_for_each(|word| type_word(word, at))?,
            Some(word) => type_word(word, at)?,
        }
        if let Some(required) = members.get("required") {
            let names = required
                .as_array()
                .is_some_and(|names| names.iter().all(Value::is_string));
            if !names {
                return Err(malformed(at, "required is not a list of names".to_owned()));
            }
        }
        if members.get("enum").is_some_and(|values| !values.is_array()) {
            return Err(malformed(at, "enum is not a list".to_owned()));
        }
        for keyword in NUMERIC {
            if members.get(keyword).is_some_and(|limit| !limit.is_number()) {
                return Err(malformed(at, format!("{keyword} is not a number")));
            }
        }
        match members.get("pattern") {
            None => {}
            Some(Value::String(text)) => self.pattern(text),
            Some(_) => return Err(malformed(at, "pattern is not a text".to_owned())),
        }
        Ok(())
    }

    fn pattern(&mut self, text: &str) {
        if self.patterns.len() < MAX_PATTERNS && !self.patterns.contains_key(text) {
            self.patterns
                .insert(text.to_owned(), pattern::compile(text));
        }
    }
}

fn type_word(word: &Value, at: &str) -> Result<(), SchemaFault> {
    match word.as_str() {
        Some(word) if Kind::of_standard_word(word).is_some() => Ok(()),
        _ => Err(malformed(
            at,
            format!("unknown type {}", sanitise_label(&word.to_string(), 40)),
        )),
    }
}

fn malformed(at: &str, problem: String) -> SchemaFault {
    SchemaFault::Malformed {
        at: sanitise_label(at, 120),
        problem,
    }
}
