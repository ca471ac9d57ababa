//! The walk over schema and value together.

use serde_json::{Map, Value};

use super::super::ArgumentErrors;
use super::Validator;
use super::findings::MAX_TYPE;
use super::scalar::{broken_bound, broken_count, equal, has_repetition};
use crate::document::{Document, Kind, ObjectView, Rest, list, reference_of};
use crate::names::sanitise_label;

/// Pairs of schema and value that are looked at; what lies beyond is taken as fitting.
const MAX_STEPS: usize = 200_000;

/// Schemas inside one another, references included.
const MAX_DEPTH: usize = 96;

/// All that is wrong with `value`, without the signature.
pub(super) fn check(validator: &Validator, value: &Value) -> ArgumentErrors {
    let document = Document::new(&validator.schema);
    let mut run = Run {
        validator,
        document,
        steps: MAX_STEPS,
        explained: 0,
        depth: 0,
        probing: false,
        failed: false,
        errors: ArgumentErrors::default(),
    };
    run.schema(&validator.schema, value, "");
    run.errors
}

pub(super) struct Run<'v> {
    pub(super) validator: &'v Validator,
    pub(super) document: Document<'v>,
    pub(super) steps: usize,
    pub(super) explained: usize,
    pub(super) depth: usize,
    /// While it is only asked whether a value fits, nothing is worked out for messages, and the first
    /// failure ends the walk.
    pub(super) probing: bool,
    pub(super) failed: bool,
    pub(super) errors: ArgumentErrors,
}

impl<'v> Run<'v> {
    pub(super) fn schema(&mut self, schema: &'v Value, value: &Value, path: &str) {
        if self.steps == 0 || self.depth >= MAX_DEPTH || (self.probing && self.failed) {
            return;
        }
        self.steps -= 1;
        self.depth += 1;
        match schema {
            Value::Bool(false) => self.wrong(path, value, |_| "nothing".to_owned()),
            Value::Object(members) => self.keywords(schema, members, value, path),
            _ => {}
        }
        self.depth -= 1;
    }

    fn keywords(
        &mut self,
        schema: &'v Value,
        members: &Map<String, Value>,
        value: &Value,
        path: &str,
    ) {
        if let Some(reference) = reference_of(schema) {
            if let Some(target) = self.document.resolve(reference) {
                self.schema(target, value, path);
            }
            if self.validator.reference_stands_alone {
                return;
            }
        }
        if value.is_null() && members.get("nullable") == Some(&Value::Bool(true)) {
            return;
        }
        if !self.fits_type(schema, value) || !fits_fixed(schema, value) {
            self.wrong(path, value, |run| run.type_of(schema));
            return;
        }
        match value {
            Value::Number(number) => {
                if let Some(expected) = broken_bound(schema, number) {
                    self.wrong(path, value, |_| expected);
                }
            }
            Value::String(text) => self.text(schema, text, value, path),
            Value::Array(items) => self.items(schema, items, value, path),
            Value::Object(fields) => self.fields(schema, fields, value, path),
            Value::Null | Value::Bool(_) => {}
        }
        self.combinators(schema, value, path);
    }

    fn fits_type(&self, schema: &Value, value: &Value) -> bool {
        let found = Kind::of_value(value);
        let fits = |word: &Value| match word.as_str().and_then(Kind::of_standard_word) {
            Some(Kind::Number) => matches!(found, Kind::Number | Kind::Integer),
            Some(kind) => kind == found,
            None => true,
        };
        match schema.get("type") {
            None => true,
            Some(Value::Array(words)) => words.is_empty() || words.iter().any(fits),
            Some(word) => fits(word),
        }
    }

    fn text(&mut self, schema: &'v Value, text: &str, value: &Value, path: &str) {
        if let Some(expected) = broken_count(schema, "Length", text.chars().count()) {
            self.wrong(path, value, |_| expected);
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && self.pattern_fits(pattern, text) == Some(false)
        {
            self.wrong(path, value, |_| {
                format!("text like {}", sanitise_label(pattern, MAX_TYPE))
            });
        }
    }

    fn items(&mut self, schema: &'v Value, items: &[Value], value: &Value, path: &str) {
        if let Some(expected) = broken_count(schema, "Items", items.len()) {
            self.wrong(path, value, |_| expected);
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) && has_repetition(items) {
            self.wrong(path, value, |_| "items that all differ".to_owned());
        }
        let (firsts, rest) = match schema.get("items") {
            Some(Value::Array(firsts)) => (firsts.as_slice(), schema.get("additionalItems")),
            rest => (list(schema, "prefixItems"), rest),
        };
        for (index, item) in items.iter().enumerate() {
            if let Some(part) = firsts.get(index).or(rest) {
                self.schema(part, item, &self.item(path, index));
            }
        }
        if let Some(part) = schema.get("contains")
            && schema.get("minContains").is_none()
            && !items.iter().any(|item| self.fits(part, item))
        {
            self.wrong(path, value, |run| {
                format!("an item of {}", run.type_of(part))
            });
        }
    }

    fn fields(
        &mut self,
        schema: &'v Value,
        fields: &Map<String, Value>,
        value: &Value,
        path: &str,
    ) {
        if let Some(expected) = broken_count(schema, "Properties", fields.len()) {
            self.wrong(path, value, |_| expected);
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let rest = schema.get("additionalProperties");
        let names = schema.get("propertyNames");
        for (name, field) in fields {
            let at = self.child(path, name);
            let mut known = false;
            if let Some(part) = properties.and_then(|properties| properties.get(name)) {
                known = true;
                self.schema(part, field, &at);
            }
            for (pattern, part) in patterns.into_iter().flatten() {
                match self.pattern_fits(pattern, name) {
                    Some(true) => {
                        known = true;
                        self.schema(part, field, &at);
                    }
                    Some(false) => {}
                    // A pattern that is not checked may fit.
                    None => known = true,
                }
            }
            match rest {
                Some(Value::Bool(false)) if !known => self.unknown(schema, name, path),
                Some(part) if !known => self.schema(part, field, &at),
                _ => {}
            }
            if let Some(part) = names {
                self.schema(part, &Value::from(name.as_str()), &at);
            }
        }
        self.required(schema, fields, path);
        self.dependent(schema, fields, value, path);
    }

    fn required(&mut self, schema: &'v Value, fields: &Map<String, Value>, path: &str) {
        let required = list(schema, "required").iter().filter_map(Value::as_str);
        let missing: Vec<&str> = required
            .filter(|name| !fields.contains_key(*name))
            .collect();
        if missing.is_empty() {
            return;
        }
        for name in missing {
            self.missing(schema, name, path);
        }
        if !self.may_explain() {
            return;
        }
        // Something else was written in place of what is missing.
        let root = if path.is_empty() {
            self.document.root()
        } else {
            schema
        };
        let view = ObjectView::of(self.document, root);
        if view.patterns || view.cut || matches!(view.rest, Rest::Schema(_)) {
            return;
        }
        for name in fields
            .keys()
            .filter(|name| !view.properties.contains_key(name.as_str()))
        {
            self.unknown(root, name, path);
        }
    }

    fn dependent(
        &mut self,
        schema: &'v Value,
        fields: &Map<String, Value>,
        value: &Value,
        path: &str,
    ) {
        for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
            let Some(Value::Object(parts)) = schema.get(keyword) else {
                continue;
            };
            let present = parts.iter().filter(|(name, _)| fields.contains_key(*name));
            for part in present.map(|(_, part)| part) {
                match part {
                    Value::Array(names) => {
                        let names = names.iter().filter_map(Value::as_str);
                        for other in names.filter(|other| !fields.contains_key(*other)) {
                            self.missing(schema, other, path);
                        }
                    }
                    part if keyword != "dependentRequired" => self.schema(part, value, path),
                    _ => {}
                }
            }
        }
    }

    fn combinators(&mut self, schema: &'v Value, value: &Value, path: &str) {
        for part in list(schema, "allOf") {
            self.schema(part, value, path);
        }
        let any = list(schema, "anyOf");
        if !any.is_empty() && !any.iter().any(|variant| self.fits(variant, value)) {
            self.none_fits(schema, any, value, path);
        }
        let one = list(schema, "oneOf");
        if !one.is_empty() {
            match one
                .iter()
                .filter(|variant| self.fits(variant, value))
                .count()
            {
                0 => self.none_fits(schema, one, value, path),
                1 => {}
                _ => self.wrong(path, value, |_| {
                    "exactly one of the alternatives".to_owned()
                }),
            }
        }
        if let Some(part) = schema.get("not")
            && self.fits(part, value)
        {
            self.wrong(path, value, |run| {
                format!("anything but {}", run.type_of(part))
            });
        }
        if let Some(condition) = schema.get("if") {
            let branch = if self.fits(condition, value) {
                "then"
            } else {
                "else"
            };
            if let Some(part) = schema.get(branch) {
                self.schema(part, value, path);
            }
        }
    }

    fn fits(&mut self, schema: &'v Value, value: &Value) -> bool {
        let before = (self.probing, self.failed);
        (self.probing, self.failed) = (true, false);
        self.schema(schema, value, "");
        let fits = !self.failed;
        (self.probing, self.failed) = before;
        fits
    }

    fn pattern_fits(&self, pattern: &str, text: &str) -> Option<bool> {
        let compiled = self.validator.patterns.get(pattern)?.as_ref()?;
        Some(compiled.is_match(text))
    }
}

fn fits_fixed(schema: &Value, value: &Value) -> bool {
    let constant = schema.get("const").is_none_or(|fixed| equal(fixed, value));
    let listed = match schema.get("enum") {
        Some(Value::Array(values)) => values.iter().any(|fixed| equal(fixed, value)),
        _ => true,
    };
    constant && listed
}
