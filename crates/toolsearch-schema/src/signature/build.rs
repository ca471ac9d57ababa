//! From a schema to a small tree of types, within a node budget.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Names, SignatureOptions};
use crate::document::{Document, Kind, ObjectView, Rest, list, reference_name, reference_of};
use crate::names::{is_plain_identifier, is_safe_word, sanitise_label};

/// Types built for one property of the root, and for all of them together.
const PROPERTY_NODES: usize = 64;
const ALL_NODES: usize = 1_024;

/// Variants of a union.
const MAX_VARIANTS: usize = 4;

/// Values of a union of literals, and characters of all of them.
const MAX_LITERALS: usize = 8;
const MAX_LITERAL_CHARS: usize = 96;

/// Characters of a quoted property name.
const MAX_NAME_CHARS: usize = 128;

/// References that may stand inside one another.
const MAX_REFERENCES: usize = 32;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    Word(&'static str),
    /// The name of a type that stands where a cycle is cut.
    Name(String),
    Literals {
        values: Vec<String>,
        more: bool,
        base: &'static str,
    },
    List(Box<Type>),
    Record(Box<Type>),
    Union(Vec<Type>),
    Object(ObjectType),
}

pub(crate) const UNKNOWN: Type = Type::Word("unknown");

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ObjectType {
    pub(crate) required: Vec<(String, Type)>,
    pub(crate) optional: Vec<(String, Type)>,
    /// Required properties whose names may not be shown.
    pub(crate) unnamed_required: usize,
    /// Whether optional properties were left out.
    pub(crate) more: bool,
}

impl ObjectType {
    pub(crate) fn is_empty(&self) -> bool {
        self.required.is_empty()
            && self.optional.is_empty()
            && self.unnamed_required == 0
            && !self.more
    }
}

/// Builds types and remembers whether something was left out.
pub(crate) struct Builder<'a> {
    document: Document<'a>,
    options: &'a SignatureOptions,
    all_nodes: usize,
    nodes: usize,
    /// Targets of references, and objects, that are being built, to notice cycles.
    references: Vec<&'a Value>,
    objects: Vec<&'a Value>,
    pub(crate) lossy: bool,
}

impl<'a> Builder<'a> {
    pub(crate) fn new(document: Document<'a>, options: &'a SignatureOptions) -> Self {
        Self {
            document,
            options,
            all_nodes: ALL_NODES,
            nodes: PROPERTY_NODES,
            references: Vec::new(),
            objects: Vec::new(),
            lossy: false,
        }
    }

    /// The arguments of a tool as one object, alternatives merged.
    pub(crate) fn root(&mut self, schema: &'a Value) -> Type {
        if schema == &Value::Bool(false) {
            return Type::Word("never");
        }
        self.objects.push(schema);
        let view = ObjectView::of(self.document, schema);
        if view.properties.is_empty() && view.required.is_empty() {
            self.lossy |= view.cut || view.patterns;
            if let Rest::Schema(rest) = view.rest {
                return self.record(rest, 1);
            }
            return Type::Object(ObjectType::default());
        }
        Type::Object(self.object(view, 0))
    }

    /// The root as alternatives, where it consists of nothing else.
    pub(crate) fn root_union(&mut self, schema: &'a Value) -> Option<Type> {
        let members = schema.as_object()?;
        let variants = [list(schema, "anyOf"), list(schema, "oneOf")];
        let ([variants, []] | [[], variants]) = variants else {
            return None;
        };
        let bare = [
            "properties",
            "required",
            "allOf",
            "$ref",
            "then",
            "else",
            "dependentSchemas",
        ]
        .iter()
        .all(|keyword| !members.contains_key(*keyword));
        if !bare || !(2..=MAX_VARIANTS).contains(&variants.len()) {
            return None;
        }
        let views: Vec<ObjectView<'a>> = variants
            .iter()
            .map(|variant| ObjectView::of(self.document, variant))
            .collect();
        if views.iter().any(|view| view.properties.is_empty()) {
            return None;
        }
        self.objects.push(schema);
        let types = views
            .into_iter()
            .map(|view| Type::Object(self.object(view, 0)))
            .collect();
        Some(Type::Union(types))
    }

    /// Any value.
    pub(crate) fn value(&mut self, schema: &'a Value) -> Type {
        self.schema(schema, 0)
    }

    fn object(&mut self, view: ObjectView<'a>, depth: usize) -> ObjectType {
        self.lossy |= view.cut || view.patterns || view.alternatives;
        self.lossy |= matches!(view.rest, Rest::Schema(_));
        let mut object = ObjectType::default();
        for name in &view.required {
            match self.property_name(name) {
                Some(label) => {
                    let schemas = view.properties.get(name).map_or(&[][..], Vec::as_slice);
                    object.required.push((label, self.property(schemas, depth)));
                }
                None => object.unnamed_required += 1,
            }
        }
        let room = self
            .options
            .max_properties
            .saturating_sub(view.required.len());
        let optional = view
            .properties
            .iter()
            .filter(|(name, _)| !view.required.contains(*name));
        for (name, schemas) in optional {
            match self.property_name(name) {
                Some(label) if object.optional.len() < room => {
                    object.optional.push((label, self.property(schemas, depth)));
                }
                _ => object.more = true,
            }
        }
        self.lossy |= object.more || object.unnamed_required > 0;
        object
    }

    /// The type of one property, with a budget of its own under the root, so that an early large one
    /// does not starve the later ones.
    fn property(&mut self, schemas: &[&'a Value], depth: usize) -> Type {
        if depth == 0 {
            self.nodes = PROPERTY_NODES.min(self.all_nodes);
        }
        let variants: Vec<Type> = schemas
            .iter()
            .map(|schema| self.schema(schema, depth + 1))
            .collect();
        if depth == 0 {
            self.all_nodes -= PROPERTY_NODES.min(self.all_nodes) - self.nodes;
        }
        if variants.is_empty() {
            UNKNOWN
        } else {
            self.union(variants)
        }
    }

    fn schema(&mut self, schema: &'a Value, depth: usize) -> Type {
        let members = match schema {
            Value::Bool(true) => return UNKNOWN,
            Value::Bool(false) => return Type::Word("never"),
            Value::Object(members) => members,
            _ => return self.lost(UNKNOWN),
        };
        if members.is_empty() {
            return UNKNOWN;
        }
        if self.nodes == 0 {
            return self.lost(UNKNOWN);
        }
        self.nodes -= 1;
        let shape = self.shape(schema, depth);
        if members.get("nullable") == Some(&Value::Bool(true)) {
            return self.union(vec![shape, Type::Word("null")]);
        }
        shape
    }

    fn shape(&mut self, schema: &'a Value, depth: usize) -> Type {
        if let Some(reference) = reference_of(schema)
            && list(schema, "allOf").is_empty()
            && schema.get("properties").is_none()
        {
            return self.reference(reference, depth);
        }
        if let Some(value) = schema.get("const") {
            return self.literals(std::slice::from_ref(value));
        }
        if let Some(Value::Array(values)) = schema.get("enum")
            && !values.is_empty()
        {
            return self.literals(values);
        }
        let own = self.typed(schema, depth);
        if own != UNKNOWN && !matches!(own, Type::Word("object")) {
            return own;
        }
        for keyword in ["anyOf", "oneOf"] {
            let variants = list(schema, keyword);
            if !variants.is_empty() {
                let types = self.variants(variants, depth);
                return if types == UNKNOWN { own } else { types };
            }
        }
        let parts = list(schema, "allOf");
        let told = parts
            .iter()
            .map(|part| self.schema(part, depth))
            .find(|part| *part != UNKNOWN);
        self.lossy |= parts.len() > 1;
        told.unwrap_or(own)
    }

    fn reference(&mut self, reference: &str, depth: usize) -> Type {
        let Some(target) = self.document.resolve(reference) else {
            return self.lost(UNKNOWN);
        };
        if self.is_open(target) || self.references.len() >= MAX_REFERENCES {
            return self.cut(reference_name(reference));
        }
        self.references.push(target);
        let shape = self.schema(target, depth);
        self.references.pop();
        shape
    }

    /// What the `type` keyword, or the keywords that go with one type, say.
    fn typed(&mut self, schema: &'a Value, depth: usize) -> Type {
        match schema.get("type") {
            Some(Value::Array(words)) if !words.is_empty() => {
                let shown = words.iter().take(MAX_VARIANTS * 2);
                let types = shown
                    .map(|word| self.word(word.as_str(), schema, depth))
                    .collect();
                self.union(types)
            }
            Some(Value::String(word)) => self.word(Some(word), schema, depth),
            _ => {
                let has = |keyword: &str| schema.get(keyword).is_some();
                if has("properties") || has("additionalProperties") || self.merges(schema) {
                    self.word(Some("object"), schema, depth)
                } else if has("items") || has("prefixItems") {
                    self.word(Some("array"), schema, depth)
                } else {
                    UNKNOWN
                }
            }
        }
    }

    /// Whether combined parts give an object.
    fn merges(&self, schema: &'a Value) -> bool {
        !list(schema, "allOf").is_empty()
            && !ObjectView::of(self.document, schema).properties.is_empty()
    }

    fn word(&mut self, word: Option<&str>, schema: &'a Value, depth: usize) -> Type {
        match word.and_then(Kind::of_word) {
            Some(Kind::Object) => self.object_value(schema, depth),
            Some(Kind::Array) => self.list_value(schema, depth),
            Some(kind) => Type::Word(kind.word()),
            None => self.lost(UNKNOWN),
        }
    }

    fn object_value(&mut self, schema: &'a Value, depth: usize) -> Type {
        let own = schema.get("properties").is_some() || self.merges(schema);
        if !own {
            return match schema.get("additionalProperties") {
                Some(rest @ Value::Object(_)) => self.record(rest, depth + 1),
                Some(Value::Bool(false)) => Type::Object(ObjectType::default()),
                _ => Type::Word("object"),
            };
        }
        if depth >= self.options.max_depth {
            return self.lost(Type::Word("object"));
        }
        if self.objects.iter().any(|open| std::ptr::eq(*open, schema)) {
            return self.cut(None);
        }
        self.objects.push(schema);
        let view = ObjectView::of(self.document, schema);
        let open = !matches!(view.rest, Rest::Closed);
        let object = self.object(view, depth.max(1));
        self.objects.pop();
        if open && object.is_empty() {
            Type::Word("object")
        } else {
            Type::Object(object)
        }
    }

    fn list_value(&mut self, schema: &'a Value, depth: usize) -> Type {
        if depth > self.options.max_depth {
            return self.lost(Type::List(Box::new(UNKNOWN)));
        }
        let item = match schema.get("items") {
            Some(Value::Array(items)) => self.variants(items, depth + 1),
            Some(items) => self.schema(items, depth + 1),
            None => self.variants(list(schema, "prefixItems"), depth + 1),
        };
        let tuple = schema.get("items").is_some_and(Value::is_array);
        self.lossy |= tuple || schema.get("prefixItems").is_some();
        Type::List(Box::new(item))
    }

    fn record(&mut self, rest: &'a Value, depth: usize) -> Type {
        let value = self.schema(rest, depth);
        Type::Record(Box::new(value))
    }

    fn variants(&mut self, schemas: &'a [Value], depth: usize) -> Type {
        if schemas.is_empty() {
            return UNKNOWN;
        }
        let types = schemas
            .iter()
            .take(MAX_VARIANTS * 4)
            .map(|s| self.schema(s, depth))
            .collect();
        self.union(types)
    }

    /// A union without repetitions; `unknown` takes all the others in.
    fn union(&mut self, types: Vec<Type>) -> Type {
        let mut flat: Vec<Type> = Vec::new();
        for one in types {
            let parts = match one {
                Type::Union(parts) => parts,
                other => vec![other],
            };
            for part in parts {
                if !flat.contains(&part) {
                    flat.push(part);
                }
            }
        }
        if flat.contains(&UNKNOWN) {
            return UNKNOWN;
        }
        // `null` stays even when variants are many, since it tells that the value may be left empty.
        if flat.len() > MAX_VARIANTS {
            let null = flat.contains(&Type::Word("null"));
            flat.truncate(MAX_VARIANTS - usize::from(null));
            if null {
                flat.retain(|part| *part != Type::Word("null"));
                flat.push(Type::Word("null"));
            }
            flat.push(Type::Name("…".to_owned()));
            self.lossy = true;
        }
        match flat.len() {
            1 => flat.remove(0),
            _ => Type::Union(flat),
        }
    }

    fn literals(&mut self, values: &[Value]) -> Type {
        let base = base_word(values);
        let mut shown: Vec<String> = Vec::new();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut chars = 0;
        let mut more = false;
        for value in values {
            let Some(text) = self.literal(value) else {
                return self.lost(Type::Word(base));
            };
            if !seen.insert(text.clone()) {
                continue;
            }
            chars += text.chars().count();
            if shown.len() >= MAX_LITERALS || (chars > MAX_LITERAL_CHARS && !shown.is_empty()) {
                more = true;
                break;
            }
            shown.push(text);
        }
        self.lossy |= more;
        Type::Literals {
            values: shown,
            more,
            base,
        }
    }

    fn literal(&self, value: &Value) -> Option<String> {
        match value {
            Value::Null | Value::Bool(_) => Some(value.to_string()),
            Value::Number(number) => Some(number.to_string()).filter(|text| text.len() <= 32),
            Value::String(text) => {
                let shown = match self.options.names {
                    Names::IdentifierSafeOnly => is_safe_word(text) || text.is_empty(),
                    Names::AsIs => sanitise_label(text, MAX_LITERAL_CHARS) == *text,
                };
                shown.then(|| Value::from(text.as_str()).to_string())
            }
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    fn property_name(&mut self, name: &str) -> Option<String> {
        if is_plain_identifier(name) {
            return Some(name.to_owned());
        }
        if is_safe_word(name) {
            return Some(format!("\"{name}\""));
        }
        if self.options.names == Names::IdentifierSafeOnly {
            return None;
        }
        let label = sanitise_label(name, MAX_NAME_CHARS);
        self.lossy |= label != name;
        Some(Value::from(label).to_string())
    }

    fn cut(&mut self, name: Option<&str>) -> Type {
        let name = name.filter(|name| is_plain_identifier(name)).unwrap_or("…");
        self.lost(Type::Name(name.to_owned()))
    }

    fn lost(&mut self, shape: Type) -> Type {
        self.lossy = true;
        shape
    }

    fn is_open(&self, schema: &Value) -> bool {
        self.references
            .iter()
            .chain(&self.objects)
            .any(|open| std::ptr::eq(*open, schema))
    }
}

fn base_word(values: &[Value]) -> &'static str {
    let mut kinds = values.iter().map(Kind::of_value);
    let first = kinds.next();
    match first {
        Some(kind) if kinds.all(|other| other == kind) => kind.word(),
        _ => "unknown",
    }
}
