//! The recursive repair of one schema: words, booleans, misplaced keywords, references.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::document::{Document, Kind, reference_name, reference_of};
use crate::fault::kind_with_article;
use crate::names::sanitise_label;

/// Sub-schemas copied for one form, and how deep they may lie.
const MAX_NODES: usize = 20_000;
const MAX_DEPTH: usize = 48;

/// Definitions of one form.
const MAX_DEFINITIONS: usize = 512;

/// Keywords about the document itself, which a provider has no use for.
const DOCUMENT_KEYWORDS: [&str; 9] = [
    "$schema",
    "$id",
    "$anchor",
    "$dynamicAnchor",
    "$recursiveAnchor",
    "$vocabulary",
    "$comment",
    "$defs",
    "definitions",
];

/// Copies schemas in repaired form and collects the definitions that they refer to.
pub(super) struct Cleaner<'a> {
    document: Document<'a>,
    nodes: usize,
    /// Name under `$defs` by address of the target.
    names: Vec<(&'a Value, String)>,
    pending: Vec<(&'a Value, String)>,
    pub(super) changes: BTreeSet<String>,
}

impl<'a> Cleaner<'a> {
    pub(super) fn new(document: Document<'a>) -> Self {
        Self {
            document,
            nodes: MAX_NODES,
            names: Vec::new(),
            pending: Vec::new(),
            changes: BTreeSet::new(),
        }
    }

    /// Remembers that the part at `at` was changed.
    pub(super) fn note(&mut self, at: &str, change: &str) {
        if self.changes.len() < 256 {
            let place = if at.is_empty() {
                "root".to_owned()
            } else {
                sanitise_label(at, 80)
            };
            self.changes.insert(format!("{place}: {change}"));
        }
    }

    /// One schema for a property that several parts define.
    pub(super) fn either(&mut self, schemas: &[&'a Value], at: &str) -> Value {
        let mut variants: Vec<Value> = Vec::new();
        for schema in schemas {
            let variant = self.schema(schema, at, MAX_DEPTH);
            if !variants.contains(&variant) {
                variants.push(variant);
            }
        }
        match variants.len() {
            0 => json!({}),
            1 => variants.remove(0),
            _ => json!({"anyOf": variants}),
        }
    }

    /// The definitions that the schemas copied so far refer to, repaired.
    pub(super) fn definitions(&mut self) -> Map<String, Value> {
        let mut definitions = BTreeMap::new();
        while let Some((target, name)) = self.pending.pop() {
            let at = format!("/$defs/{name}");
            let schema = self.schema(target, &at, MAX_DEPTH);
            definitions.insert(name, schema);
        }
        definitions.into_iter().collect()
    }

    fn schema(&mut self, schema: &'a Value, at: &str, depth: usize) -> Value {
        let members = match schema {
            Value::Bool(true) => return json!({}),
            Value::Bool(false) => {
                self.note(at, "`false` written as a schema that nothing fits");
                return json!({"not": {}});
            }
            Value::Object(members) => members,
            other => {
                self.note(
                    at,
                    &format!(
                        "{} in place of a schema left open",
                        kind_with_article(other)
                    ),
                );
                return json!({});
            }
        };
        if depth == 0 || self.nodes == 0 {
            self.note(at, "too deep or too large, left open");
            return json!({});
        }
        self.nodes -= 1;
        let mut cleaned = self.cleaned(members, members, at, depth);
        if reference_of(schema).is_some() {
            self.reference(schema, &mut cleaned, at);
        }
        if cleaned.get("type") == Some(&Value::from("array")) {
            cleaned.entry("items").or_insert_with(|| json!({}));
        }
        Value::Object(cleaned)
    }

    /// The members of the root that `kept` names, repaired.
    pub(super) fn members(
        &mut self,
        kept: &Map<String, Value>,
        original: &'a Map<String, Value>,
        at: &str,
    ) -> Map<String, Value> {
        self.cleaned(kept, original, at, MAX_DEPTH)
    }

    fn cleaned(
        &mut self,
        kept: &Map<String, Value>,
        original: &'a Map<String, Value>,
        at: &str,
        depth: usize,
    ) -> Map<String, Value> {
        let mut cleaned = Map::new();
        for (keyword, value) in original {
            if !kept.contains_key(keyword) || DOCUMENT_KEYWORDS.contains(&keyword.as_str()) {
                continue;
            }
            if let Some(value) = self.keyword(keyword, value, at, depth) {
                cleaned.insert(keyword.clone(), value);
            }
        }
        if kept.contains_key("properties") {
            self.lifted_required(original, &mut cleaned, at);
        }
        cleaned
    }

    fn keyword(
        &mut self,
        keyword: &str,
        value: &'a Value,
        at: &str,
        depth: usize,
    ) -> Option<Value> {
        match keyword {
            // References are written anew, and a draft-4 `id` is an address.
            "$ref" | "$dynamicRef" | "$recursiveRef" => None,
            "id" if value.is_string() => None,
            "type" => self.type_words(value, at),
            "properties" | "patternProperties" | "dependentSchemas" => {
                self.schema_map(keyword, value, at, depth)
            }
            "items" if value.is_array() => {
                self.note(at, "a list of item schemas told as alternatives");
                let variants = self.schema_list(value, at, depth)?;
                Some(json!({"anyOf": variants}))
            }
            "additionalProperties"
            | "unevaluatedProperties"
            | "additionalItems"
            | "unevaluatedItems"
                if value.is_boolean() =>
            {
                Some(value.clone())
            }
            "items"
            | "additionalProperties"
            | "unevaluatedProperties"
            | "additionalItems"
            | "unevaluatedItems"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames" => Some(self.schema(value, &format!("{at}/{keyword}"), depth - 1)),
            "anyOf" | "oneOf" | "allOf" | "prefixItems" => self
                .schema_list(value, &format!("{at}/{keyword}"), depth)
                .map(Value::from),
            "required" => self.required(value, at),
            _ => self.plain(keyword, value, at),
        }
    }

    fn plain(&mut self, keyword: &str, value: &Value, at: &str) -> Option<Value> {
        let well = match keyword {
            "description" | "title" | "pattern" | "format" => value.is_string(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                value.is_number() || value.is_boolean()
            }
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" => value.is_number(),
            "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
            _ => true,
        };
        if !well {
            // A null description or title is an absent one.
            if !value.is_null() {
                self.note(at, &format!("unreadable `{keyword}` left out"));
            }
            return None;
        }
        Some(value.clone())
    }

    fn type_words(&mut self, value: &Value, at: &str) -> Option<Value> {
        match value {
            Value::String(word) => self.type_word(word, at).map(Value::from),
            Value::Array(words) => {
                let mut known: Vec<&'static str> = Vec::new();
                for word in words {
                    match word.as_str().and_then(|word| self.type_word(word, at)) {
                        Some(word) if !known.contains(&word) => known.push(word),
                        _ => {}
                    }
                }
                (!known.is_empty()).then(|| json!(known))
            }
            _ => {
                self.note(at, "unreadable `type` left out");
                None
            }
        }
    }

    fn type_word(&mut self, word: &str, at: &str) -> Option<&'static str> {
        let kind = Kind::of_word(word);
        let shown = sanitise_label(word, 24);
        match kind {
            Some(kind) if kind.word() != word => {
                self.note(at, &format!("type `{shown}` read as `{}`", kind.word()));
            }
            None => self.note(at, &format!("unknown type `{shown}` left out")),
            Some(_) => {}
        }
        kind.map(Kind::word)
    }

    fn schema_map(
        &mut self,
        keyword: &str,
        value: &'a Value,
        at: &str,
        depth: usize,
    ) -> Option<Value> {
        let Value::Object(entries) = value else {
            if !value.is_null() {
                self.note(at, &format!("unreadable `{keyword}` left out"));
            }
            return (keyword == "properties").then(|| json!({}));
        };
        let mut cleaned = Map::new();
        for (name, schema) in entries {
            if keyword == "properties" && name == "required" && schema.is_array() {
                continue;
            }
            cleaned.insert(
                name.clone(),
                self.schema(schema, &format!("{at}/{name}"), depth - 1),
            );
        }
        Some(Value::Object(cleaned))
    }

    fn schema_list(&mut self, value: &'a Value, at: &str, depth: usize) -> Option<Vec<Value>> {
        match value.as_array() {
            Some(parts) if !parts.is_empty() => Some(
                parts
                    .iter()
                    .map(|part| self.schema(part, at, depth - 1))
                    .collect(),
            ),
            _ => {
                self.note(at, "an empty or unreadable list of schemas left out");
                None
            }
        }
    }

    fn required(&mut self, value: &Value, at: &str) -> Option<Value> {
        let Value::Array(names) = value else {
            // `required: true` on a property is told by its object.
            if !value.is_boolean() {
                self.note(at, "unreadable `required` left out");
            }
            return None;
        };
        let mut known: Vec<&str> = Vec::new();
        for name in names.iter().filter_map(Value::as_str) {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        if known.len() < names.len() {
            self.note(at, "repeated or unreadable names in `required` left out");
        }
        Some(json!(known))
    }

    /// Names that are marked as required inside `properties` instead of beside it.
    fn lifted_required(
        &mut self,
        original: &Map<String, Value>,
        cleaned: &mut Map<String, Value>,
        at: &str,
    ) {
        let Some(Value::Object(properties)) = original.get("properties") else {
            return;
        };
        let mut lifted: Vec<&str> = Vec::new();
        for (name, schema) in properties {
            if name == "required" && schema.is_array() {
                lifted.extend(
                    schema
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(Value::as_str),
                );
                self.note(at, "`required` moved out of `properties`");
            } else if schema.get("required") == Some(&Value::Bool(true)) {
                lifted.push(name);
                self.note(at, "`required: true` moved from a property to its object");
            }
        }
        if lifted.is_empty() {
            return;
        }
        let list = cleaned.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(names) = list {
            for name in lifted {
                if !names.iter().any(|known| known == name) {
                    names.push(Value::from(name));
                }
            }
        }
    }

    fn reference(&mut self, schema: &'a Value, cleaned: &mut Map<String, Value>, at: &str) {
        let reference = reference_of(schema).unwrap_or_default();
        let Some(target) = self.document.resolve(reference) else {
            self.note(
                at,
                "a reference that leads nowhere or out of the document left open",
            );
            return;
        };
        let Some(name) = self.definition_name(target, reference) else {
            self.note(at, "too many referenced types, left open");
            return;
        };
        cleaned.insert("$ref".to_owned(), Value::from(format!("#/$defs/{name}")));
    }

    fn definition_name(&mut self, target: &'a Value, reference: &str) -> Option<String> {
        if let Some((_, name)) = self
            .names
            .iter()
            .find(|(known, _)| std::ptr::eq(*known, target))
        {
            return Some(name.clone());
        }
        if self.names.len() >= MAX_DEFINITIONS {
            return None;
        }
        let wanted: String = reference_name(reference)
            .unwrap_or("Root")
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '_' {
                    c
                } else {
                    '_'
                }
            })
            .take(48)
            .collect();
        let taken = |name: &str| self.names.iter().any(|(_, known)| known == name);
        let mut name = wanted.clone();
        let mut number = 2;
        while taken(&name) {
            name = format!("{wanted}_{number}");
            number += 1;
        }
        self.names.push((target, name.clone()));
        self.pending.push((target, name.clone()));
        Some(name)
    }
}
