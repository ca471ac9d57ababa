//! The walk over schema and value together.

use serde_json::{Map, Value};

use super::super::{ArgumentErrors, MissingField, UnknownField, WrongValue};
use super::Validator;
use super::scalar::{broken_bound, broken_count, equal, has_repetition};
use crate::document::{Document, Kind, Kinds, ObjectView, Rest, list, reference_of};
use crate::names::{nearest, sanitise_label};
use crate::signature::type_text;

/// Pairs of schema and value that are looked at; what lies beyond is taken as fitting.
const MAX_STEPS: usize = 200_000;

/// Schemas inside one another, references included.
const MAX_DEPTH: usize = 96;

/// Findings of one check.
const MAX_FINDINGS: usize = 64;

/// Names suggested for an unknown field.
const MAX_NEAREST: usize = 3;

/// Characters of an expected type.
const MAX_TYPE: usize = 96;

/// All that is wrong with `value`, without the signature.
pub(super) fn check(validator: &Validator, value: &Value) -> ArgumentErrors {
    let document = Document::new(&validator.schema);
    let mut run = Run {
        validator,
        document,
        steps: MAX_STEPS,
        depth: 0,
        errors: ArgumentErrors::default(),
    };
    run.schema(&validator.schema, value, "");
    run.errors
}

struct Run<'v> {
    validator: &'v Validator,
    document: Document<'v>,
    steps: usize,
    depth: usize,
    errors: ArgumentErrors,
}

impl<'v> Run<'v> {
    fn schema(&mut self, schema: &'v Value, value: &Value, path: &str) {
        if self.steps == 0 || self.depth >= MAX_DEPTH {
            return;
        }
        self.steps -= 1;
        self.depth += 1;
        match schema {
            Value::Bool(false) => self.wrong(path, "nothing".to_owned(), value),
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
            self.wrong(path, self.type_of(schema), value);
            return;
        }
        match value {
            Value::Number(number) => {
                if let Some(expected) = broken_bound(schema, number) {
                    self.wrong(path, expected, value);
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
            self.wrong(path, expected, value);
        }
        if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
            && self.pattern_fits(pattern, text) == Some(false)
        {
            self.wrong(
                path,
                format!("text like {}", sanitise_label(pattern, MAX_TYPE)),
                value,
            );
        }
    }

    fn items(&mut self, schema: &'v Value, items: &[Value], value: &Value, path: &str) {
        if let Some(expected) = broken_count(schema, "Items", items.len()) {
            self.wrong(path, expected, value);
        }
        if schema.get("uniqueItems") == Some(&Value::Bool(true)) && has_repetition(items) {
            self.wrong(path, "items that all differ".to_owned(), value);
        }
        let (firsts, rest) = match schema.get("items") {
            Some(Value::Array(firsts)) => (firsts.as_slice(), schema.get("additionalItems")),
            rest => (list(schema, "prefixItems"), rest),
        };
        for (index, item) in items.iter().enumerate() {
            if let Some(part) = firsts.get(index).or(rest) {
                self.schema(part, item, &format!("{path}[{index}]"));
            }
        }
        if let Some(part) = schema.get("contains")
            && schema.get("minContains").is_none()
            && !items.iter().any(|item| self.fits(part, item))
        {
            let expected = format!("an item of {}", self.type_of(part));
            self.wrong(path, expected, value);
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
            self.wrong(path, expected, value);
        }
        let properties = schema.get("properties").and_then(Value::as_object);
        let patterns = schema.get("patternProperties").and_then(Value::as_object);
        let rest = schema.get("additionalProperties");
        let names = schema.get("propertyNames");
        for (name, field) in fields {
            let at = child(path, name);
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
                _ => self.wrong(path, "exactly one of the alternatives".to_owned(), value),
            }
        }
        if let Some(part) = schema.get("not")
            && self.fits(part, value)
        {
            self.wrong(path, format!("anything but {}", self.type_of(part)), value);
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

    /// Tells what is wrong with the alternative that comes nearest, if one takes this kind of value.
    fn none_fits(&mut self, schema: &'v Value, variants: &'v [Value], value: &Value, path: &str) {
        let kind = Kind::of_value(value);
        let nested = matches!(kind, Kind::Object | Kind::Array);
        let mut best: Option<ArgumentErrors> = None;
        for variant in variants {
            if nested && Kinds::accepted(self.document, variant).has(kind) {
                let errors = self.apart(|run| run.schema(variant, value, path));
                if best
                    .as_ref()
                    .is_none_or(|known| count(&errors) < count(known))
                {
                    best = Some(errors);
                }
            }
        }
        match best {
            Some(errors) if count(&errors) > 0 => self.join(errors),
            _ => self.wrong(path, self.type_of(schema), value),
        }
    }

    fn fits(&mut self, schema: &'v Value, value: &Value) -> bool {
        self.apart(|run| run.schema(schema, value, "")).is_empty()
    }

    /// What `work` finds, kept apart from the other findings.
    fn apart(&mut self, work: impl FnOnce(&mut Self)) -> ArgumentErrors {
        let before = std::mem::take(&mut self.errors);
        work(self);
        std::mem::replace(&mut self.errors, before)
    }

    fn join(&mut self, errors: ArgumentErrors) {
        self.errors.missing.extend(errors.missing);
        self.errors.unknown.extend(errors.unknown);
        self.errors.wrong.extend(errors.wrong);
        self.errors.omitted += errors.omitted;
    }

    fn pattern_fits(&self, pattern: &str, text: &str) -> Option<bool> {
        let compiled = self.validator.patterns.get(pattern)?.as_ref()?;
        Some(compiled.is_match(text))
    }

    fn type_of(&self, schema: &Value) -> String {
        type_text(self.document, schema, MAX_TYPE)
    }

    fn has_room(&mut self) -> bool {
        let room = count(&self.errors) < MAX_FINDINGS;
        self.errors.omitted += usize::from(!room);
        room
    }

    fn wrong(&mut self, path: &str, expected: String, value: &Value) {
        if self.has_room() {
            let found = Kind::of_value(value).word().to_owned();
            self.errors.wrong.push(WrongValue {
                path: label(path),
                expected,
                found,
            });
        }
    }

    fn missing(&mut self, schema: &'v Value, name: &str, path: &str) {
        if self.has_room() {
            let root = if path.is_empty() {
                self.document.root()
            } else {
                schema
            };
            let view = ObjectView::of(self.document, root);
            let definition = view
                .properties
                .get(name)
                .and_then(|schemas| schemas.first());
            let expected = definition.map_or("unknown".to_owned(), |part| self.type_of(part));
            self.errors.missing.push(MissingField {
                path: label(&child(path, name)),
                expected,
            });
        }
    }

    fn unknown(&mut self, schema: &'v Value, name: &str, path: &str) {
        if self.has_room() {
            let view = ObjectView::of(self.document, schema);
            let near = nearest(name, view.properties.keys().copied(), MAX_NEAREST);
            let near = near
                .into_iter()
                .map(|name| sanitise_label(name, 64))
                .collect();
            self.errors.unknown.push(UnknownField {
                path: label(&child(path, name)),
                nearest: near,
            });
        }
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

fn count(errors: &ArgumentErrors) -> usize {
    errors.missing.len() + errors.unknown.len() + errors.wrong.len()
}

fn child(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn label(path: &str) -> String {
    sanitise_label(path, 120)
}
