//! One flat view of an object schema whose properties are spread over references and combinators.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{Document, list, reference_of};

/// Properties that a view holds.
const MAX_PROPERTIES: usize = 4_096;

/// Sub-schemas visited for one view.
const MAX_NODES: usize = 512;

/// Depth of combinators and references that is followed.
const MAX_DEPTH: usize = 12;

/// Definitions of one property that are kept.
const MAX_DEFINITIONS: usize = 4;

/// What an object schema says about names that it does not list.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) enum Rest<'a> {
    /// Nothing: they are allowed.
    #[default]
    Open,
    /// They are not allowed.
    Closed,
    /// They must fit this schema.
    Schema(&'a Value),
}

/// The properties of an object schema and of all that it refers to and is combined with.
#[derive(Debug, Default)]
pub(crate) struct ObjectView<'a> {
    /// Every property with the different schemas that it is given.
    pub(crate) properties: BTreeMap<&'a str, Vec<&'a Value>>,
    /// Those of the definitions that hold in any case, whichever alternative does.
    pub(crate) certain: BTreeMap<&'a str, Vec<&'a Value>>,
    /// Names that every fitting object has.
    pub(crate) required: BTreeSet<&'a str>,
    /// What is said about other names.
    pub(crate) rest: Rest<'a>,
    /// Whether names are also matched by patterns.
    pub(crate) patterns: bool,
    /// Whether the schema has alternatives, which the flat view cannot tell apart.
    pub(crate) alternatives: bool,
    /// Whether a limit or an unreadable part left something out.
    pub(crate) cut: bool,
}

impl<'a> ObjectView<'a> {
    /// The view of `schema`, read against its `document`.
    pub(crate) fn of(document: Document<'a>, schema: &'a Value) -> Self {
        let mut collector = Collector {
            document,
            nodes: MAX_NODES,
            path: Vec::new(),
        };
        collector.view(schema)
    }

    fn absorb(&mut self, other: Self) {
        for (name, schemas) in other.properties {
            for schema in schemas {
                self.define(name, schema);
            }
        }
        self.patterns |= other.patterns;
        self.alternatives |= other.alternatives;
        self.cut |= other.cut;
    }

    fn define(&mut self, name: &'a str, schema: &'a Value) {
        if self.properties.len() >= MAX_PROPERTIES && !self.properties.contains_key(name) {
            self.cut = true;
            return;
        }
        let definitions = self.properties.entry(name).or_default();
        if definitions.iter().any(|known| std::ptr::eq(*known, schema)) {
            return;
        }
        if definitions.len() < MAX_DEFINITIONS {
            definitions.push(schema);
        } else {
            self.cut = true;
        }
    }

    fn require(&mut self, names: impl IntoIterator<Item = &'a str>) {
        for name in names {
            if self.required.len() >= MAX_PROPERTIES {
                self.cut = true;
                return;
            }
            self.required.insert(name);
        }
    }
}

struct Collector<'a> {
    document: Document<'a>,
    nodes: usize,
    path: Vec<&'a Value>,
}

impl<'a> Collector<'a> {
    fn view(&mut self, schema: &'a Value) -> ObjectView<'a> {
        let mut view = ObjectView::default();
        let Value::Object(members) = schema else {
            return view;
        };
        let circular = self.path.iter().any(|above| std::ptr::eq(*above, schema));
        if circular || self.path.len() >= MAX_DEPTH || self.nodes == 0 {
            view.cut = true;
            return view;
        }
        self.nodes -= 1;
        self.path.push(schema);
        own_members(members, &mut view);
        self.add_reference(schema, &mut view);
        for part in list(schema, "allOf") {
            let part = self.view(part);
            self.narrow(part, &mut view);
        }
        for keyword in ["anyOf", "oneOf"] {
            self.add_alternatives(list(schema, keyword), &mut view);
        }
        self.add_conditionals(members, &mut view);
        self.path.pop();
        view
    }

    fn add_reference(&mut self, schema: &'a Value, view: &mut ObjectView<'a>) {
        let Some(reference) = reference_of(schema) else {
            return;
        };
        match self.document.resolve(reference) {
            Some(target) => {
                let target = self.view(target);
                self.narrow(target, view);
            }
            None => view.cut = true,
        }
    }

    /// Joins a part that holds as well.
    fn narrow(&self, part: ObjectView<'a>, view: &mut ObjectView<'a>) {
        view.require(part.required.iter().copied());
        for (name, schemas) in &part.certain {
            let known = view.certain.entry(name).or_default();
            known.extend(
                schemas
                    .iter()
                    .take(MAX_DEFINITIONS.saturating_sub(known.len())),
            );
        }
        if matches!(view.rest, Rest::Open) {
            view.rest = part.rest;
        }
        view.absorb(part);
    }

    /// Joins parts of which one holds: a name is required when all of them require it.
    fn add_alternatives(&mut self, variants: &'a [Value], view: &mut ObjectView<'a>) {
        let mut common: Option<BTreeSet<&'a str>> = None;
        for variant in variants {
            if is_never_an_object(variant) {
                continue;
            }
            let variant = self.view(variant);
            common = Some(match common {
                None => variant.required.clone(),
                Some(names) => names.intersection(&variant.required).copied().collect(),
            });
            view.absorb(variant);
            view.alternatives |= variants.len() > 1;
        }
        view.require(common.into_iter().flatten());
    }

    fn add_conditionals(&mut self, members: &'a Map<String, Value>, view: &mut ObjectView<'a>) {
        let dependent = members.get("dependentSchemas").and_then(Value::as_object);
        let parts = ["then", "else"]
            .iter()
            .filter_map(|keyword| members.get(*keyword));
        for part in parts.chain(dependent.into_iter().flat_map(Map::values)) {
            let part = self.view(part);
            view.absorb(part);
            view.alternatives = true;
        }
    }
}

fn own_members<'a>(members: &'a Map<String, Value>, view: &mut ObjectView<'a>) {
    if let Some(Value::Object(properties)) = members.get("properties") {
        for (name, schema) in properties {
            // A list is no schema: `required` was written one level too deep.
            if name == "required" && schema.is_array() {
                view.require(strings(schema));
                continue;
            }
            // Draft 3 marks the property itself.
            if schema.get("required") == Some(&Value::Bool(true)) {
                view.require([name.as_str()]);
            }
            view.define(name, schema);
            view.certain.insert(name, vec![schema]);
        }
    }
    if let Some(required) = members.get("required") {
        view.require(strings(required));
    }
    view.patterns |= members.contains_key("patternProperties");
    view.rest = match members.get("additionalProperties") {
        Some(Value::Bool(false)) => Rest::Closed,
        Some(schema @ Value::Object(_)) => Rest::Schema(schema),
        _ => Rest::Open,
    };
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn is_never_an_object(schema: &Value) -> bool {
    match schema {
        Value::Bool(allowed) => !allowed,
        Value::Object(members) => members
            .get("type")
            .and_then(Value::as_str)
            .is_some_and(|word| word != "object"),
        _ => false,
    }
}
