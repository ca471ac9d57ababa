//! Schemas in the form that every model provider accepts.
//!
//! The form is a copy for display and for the provider's own checks. Calls are validated against the
//! original, which nothing here changes.

mod clean;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use crate::document::{Document, ObjectView, list};
use crate::fault::{SchemaFault, kind_with_article};
use crate::names::{clip, sanitise_label};
use clean::Cleaner;

/// Notes that are kept.
const MAX_CHANGES: usize = 32;

/// Characters of the words that stand for alternatives.
const MAX_WORDS: usize = 512;

/// Alternatives that are told in words.
const MAX_ALTERNATIVES: usize = 8;

/// Keywords that providers refuse at the root.
const ROOT_COMBINATORS: [&str; 12] = [
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
];

/// A schema that may be put into a provider request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ProviderSchema {
    /// An object schema: `type: "object"`, `properties` present, no combinator at the root, every
    /// reference local and under `$defs`.
    pub schema: Value,
    /// What was repaired or left out, in words for a status line; empty for a schema that only needed
    /// to be completed.
    pub changes: Vec<String>,
}

/// Reads the schema that a tool was listed with: absent and null mean "no parameters"; a boolean or an
/// object is taken as it is.
///
/// # Errors
///
/// [`SchemaFault::WrongType`] for anything else.
pub fn read_input_schema(raw: Option<&Value>) -> Result<Value, SchemaFault> {
    match raw {
        None | Some(Value::Null) => Ok(json!({"type": "object", "properties": {}})),
        Some(schema @ (Value::Object(_) | Value::Bool(_))) => Ok(schema.clone()),
        Some(other) => Err(SchemaFault::WrongType {
            found: kind_with_article(other),
        }),
    }
}

/// The provider form of `schema`.
pub fn provider_form(schema: &Value) -> ProviderSchema {
    let document = Document::new(schema);
    let mut cleaner = Cleaner::new(document);
    let mut root = match schema {
        Value::Object(members) => object_root(document, members, &mut cleaner),
        other => {
            if *other == Value::Bool(false) {
                cleaner.note(
                    "",
                    "a schema that allows nothing is shown without parameters",
                );
            } else if *other != Value::Bool(true) {
                cleaner.note(
                    "",
                    &format!("{} in place of a schema", kind_with_article(other)),
                );
            }
            Map::new()
        }
    };
    root.insert("type".to_owned(), Value::from("object"));
    root.entry("properties").or_insert_with(|| json!({}));
    let definitions = cleaner.definitions();
    if !definitions.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(definitions));
    }
    let changes = cleaner.changes.into_iter().take(MAX_CHANGES).collect();
    ProviderSchema {
        schema: Value::Object(root),
        changes,
    }
}

fn object_root<'a>(
    document: Document<'a>,
    members: &'a Map<String, Value>,
    cleaner: &mut Cleaner<'a>,
) -> Map<String, Value> {
    let schema = document.root();
    root_type(members, cleaner);
    let combined = ROOT_COMBINATORS
        .iter()
        .any(|keyword| members.contains_key(*keyword));
    let mut own = members.clone();
    for keyword in ROOT_COMBINATORS
        .iter()
        .chain(&["type", "nullable", "enum", "const", "default"])
    {
        own.shift_remove(*keyword);
    }
    for keyword in ["enum", "const"] {
        if members.contains_key(keyword) {
            cleaner.note("", &format!("`{keyword}` at the root left out"));
        }
    }
    if combined {
        own.shift_remove("properties");
        own.shift_remove("required");
    }
    let mut root = cleaner.members(&own, members, "");
    if !combined {
        return root;
    }
    let view = ObjectView::of(document, schema);
    let mut properties = Map::new();
    for (name, schemas) in &view.properties {
        properties.insert(
            (*name).to_owned(),
            cleaner.either(schemas, &format!("/{name}")),
        );
    }
    root.insert("properties".to_owned(), Value::Object(properties));
    if !view.required.is_empty() {
        root.insert("required".to_owned(), json!(view.required));
    }
    cleaner.note(
        "",
        "combined parts at the root merged into one list of properties",
    );
    if let Some(words) = alternatives_in_words(document, schema) {
        let told = root
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let description = if told.is_empty() {
            words
        } else {
            format!("{told}\n{words}")
        };
        root.insert("description".to_owned(), Value::from(description));
    }
    root
}

fn root_type(members: &Map<String, Value>, cleaner: &mut Cleaner<'_>) {
    match members.get("type") {
        None => {}
        Some(Value::String(word)) if word == "object" => {}
        Some(other) => {
            let found = sanitise_label(&other.to_string(), 40);
            cleaner.note("", &format!("type {found} at the root read as object"));
        }
    }
}

/// Which parameters go together, for a reader who no longer sees the alternatives.
fn alternatives_in_words(document: Document<'_>, schema: &Value) -> Option<String> {
    let mut sentences = Vec::new();
    let target = document.follow(schema).unwrap_or(schema);
    for (keyword, opening) in [
        ("anyOf", "Give at least one of:"),
        ("oneOf", "Give exactly one of:"),
    ] {
        let variants = list(target, keyword);
        let told: Vec<String> = variants
            .iter()
            .take(MAX_ALTERNATIVES)
            .filter_map(|variant| variant_in_words(&ObjectView::of(document, variant)))
            .collect();
        if told.len() > 1 {
            let more = if variants.len() > MAX_ALTERNATIVES {
                "; …"
            } else {
                ""
            };
            sentences.push(format!("{opening} {}{more}.", told.join("; or ")));
        }
    }
    let conditional = ["if", "not", "dependentSchemas"]
        .iter()
        .any(|k| target.get(k).is_some());
    if conditional {
        sentences.push("Further conditions between parameters apply.".to_owned());
    }
    (!sentences.is_empty()).then(|| clip(&sentences.join(" "), MAX_WORDS))
}

fn variant_in_words(view: &ObjectView<'_>) -> Option<String> {
    let names: Vec<String> = if view.required.is_empty() {
        view.properties
            .keys()
            .take(8)
            .map(|name| sanitise_label(name, 64))
            .collect()
    } else {
        view.required
            .iter()
            .take(8)
            .map(|name| sanitise_label(name, 64))
            .collect()
    };
    (!names.is_empty()).then(|| names.join(" + "))
}
