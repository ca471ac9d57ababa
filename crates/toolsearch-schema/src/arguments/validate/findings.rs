//! What a walk finds wrong, worked out for a message within a budget.

use serde_json::Value;

use super::super::{ArgumentErrors, MissingField, UnknownField, WrongValue};
use super::run::Run;
use crate::document::{Kind, Kinds, ObjectView};
use crate::names::{nearest, sanitise_label};
use crate::signature::type_text;

/// Findings of one check.
const MAX_FINDINGS: usize = 64;

/// Names suggested for an unknown field.
const MAX_NEAREST: usize = 3;

/// Types and views of objects that are worked out for one check.
const MAX_EXPLAINED: usize = 256;

/// Characters of an expected type.
pub(super) const MAX_TYPE: usize = 96;

/// Characters of a path.
const MAX_PATH: usize = 120;

impl<'v> Run<'v> {
    /// Tells what is wrong with the alternative that comes nearest, if one takes this kind of value.
    pub(super) fn none_fits(
        &mut self,
        schema: &'v Value,
        variants: &'v [Value],
        value: &Value,
        path: &str,
    ) {
        let kind = Kind::of_value(value);
        let nested = matches!(kind, Kind::Object | Kind::Array);
        let mut best: Option<ArgumentErrors> = None;
        for variant in variants {
            if nested && self.may_explain() && Kinds::accepted(self.document, variant).has(kind) {
                self.explained += 1;
                let before = std::mem::take(&mut self.errors);
                self.schema(variant, value, path);
                let errors = std::mem::replace(&mut self.errors, before);
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
            _ => self.wrong(path, value, |run| run.type_of(schema)),
        }
    }

    /// Whether there is somebody to explain to, and budget left for it.
    pub(super) fn may_explain(&self) -> bool {
        !self.probing && self.explained < MAX_EXPLAINED
    }

    pub(super) fn type_of(&mut self, schema: &Value) -> String {
        if !self.may_explain() {
            return "something else".to_owned();
        }
        self.explained += 1;
        type_text(self.document, schema, MAX_TYPE)
    }

    pub(super) fn wrong(
        &mut self,
        path: &str,
        value: &Value,
        expected: impl FnOnce(&mut Self) -> String,
    ) {
        if self.fails_with_room() {
            let expected = expected(self);
            let found = Kind::of_value(value).word().to_owned();
            self.errors.wrong.push(WrongValue {
                path: label(path),
                expected,
                found,
            });
        }
    }

    pub(super) fn missing(&mut self, schema: &'v Value, name: &str, path: &str) {
        if self.fails_with_room() {
            let expected = match self.object_at(schema, path) {
                Some(view) => match view.properties.get(name).and_then(|known| known.first()) {
                    Some(definition) => self.type_of(definition),
                    None => "unknown".to_owned(),
                },
                None => "unknown".to_owned(),
            };
            let path = label(&self.child(path, name));
            self.errors.missing.push(MissingField { path, expected });
        }
    }

    pub(super) fn unknown(&mut self, schema: &'v Value, name: &str, path: &str) {
        if self.fails_with_room() {
            let near = match self.object_at(schema, path) {
                Some(view) => nearest(name, view.properties.keys().copied(), MAX_NEAREST)
                    .into_iter()
                    .map(|name| sanitise_label(name, 64))
                    .collect(),
                None => Vec::new(),
            };
            let path = label(&self.child(path, name));
            self.errors.unknown.push(UnknownField {
                path,
                nearest: near,
            });
        }
    }

    /// The path of a field; empty while nobody reads it.
    pub(super) fn child(&self, path: &str, name: &str) -> String {
        match (self.probing, path) {
            (true, _) => String::new(),
            (false, "") => name.to_owned(),
            (false, path) => format!("{path}.{name}"),
        }
    }

    /// The path of an item; empty while nobody reads it.
    pub(super) fn item(&self, path: &str, index: usize) -> String {
        if self.probing {
            String::new()
        } else {
            format!("{path}[{index}]")
        }
    }

    /// The object that a finding is about: at the root all of the document, since a part of it may be
    /// what failed.
    fn object_at(&mut self, schema: &'v Value, path: &str) -> Option<ObjectView<'v>> {
        if !self.may_explain() {
            return None;
        }
        self.explained += 1;
        let schema = if path.is_empty() {
            self.document.root()
        } else {
            schema
        };
        Some(ObjectView::of(self.document, schema))
    }

    /// Notes a failure; answers whether it shall be described.
    fn fails_with_room(&mut self) -> bool {
        // Beyond the budget alternatives look as if they fitted, so nothing follows from them.
        if self.steps == 0 {
            return false;
        }
        self.failed = true;
        if self.probing {
            return false;
        }
        let room = count(&self.errors) < MAX_FINDINGS;
        self.errors.omitted += usize::from(!room);
        room
    }

    fn join(&mut self, errors: ArgumentErrors) {
        self.errors.missing.extend(errors.missing);
        self.errors.unknown.extend(errors.unknown);
        self.errors.wrong.extend(errors.wrong);
        self.errors.omitted += errors.omitted;
    }
}

fn count(errors: &ArgumentErrors) -> usize {
    errors.missing.len() + errors.unknown.len() + errors.wrong.len()
}

fn label(path: &str) -> String {
    sanitise_label(path, MAX_PATH)
}
