//! The words of a schema for indexing: names, descriptions and fixed values of its parameters.
//!
//! Texts are handed on as they are; how they are split and weighted is decided by the index.

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::document::{Document, list, reference_of};

/// Bounds of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WalkLimits {
    /// Levels of parameters inside parameters; those of the root are level 1.
    pub max_depth: usize,
    /// Sub-schemas visited.
    pub max_nodes: usize,
    /// Fixed values told of one parameter.
    pub max_values: usize,
}

impl Default for WalkLimits {
    fn default() -> Self {
        Self {
            max_depth: 4,
            max_nodes: 2_000,
            max_values: 16,
        }
    }
}

/// The words of one parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterText<'a> {
    /// The name as the schema spells it.
    pub name: &'a str,
    /// A title, where one is given.
    pub title: Option<&'a str>,
    /// The description, taken from the referenced type where the parameter has none of its own.
    pub description: Option<&'a str>,
    /// The texts among its fixed values.
    pub values: Vec<&'a str>,
    /// 1 for parameters of the root.
    pub depth: usize,
}

/// Calls `f` for every parameter of `schema`, in the order of the document.
///
/// Goes through `properties`, `items`, `prefixItems`, `additionalProperties`, `anyOf`, `oneOf`,
/// `allOf` and local references. A referenced type is entered once, so circular and doubling schemas
/// cost no more than their size.
pub fn for_each_parameter<'a>(
    schema: &'a Value,
    limits: &WalkLimits,
    f: &mut dyn FnMut(ParameterText<'a>),
) {
    let document = Document::new(schema);
    let mut walk = Walk {
        document,
        limits,
        nodes: limits.max_nodes,
        entered: Vec::new(),
        f,
    };
    walk.schema(schema, 0, 0);
}

/// Combinators and references between two levels of parameters.
const MAX_NESTING: usize = 16;

struct Walk<'a, 'w> {
    document: Document<'a>,
    limits: &'w WalkLimits,
    nodes: usize,
    entered: Vec<&'a Value>,
    f: &'w mut dyn FnMut(ParameterText<'a>),
}

impl<'a> Walk<'a, '_> {
    fn schema(&mut self, schema: &'a Value, depth: usize, nesting: usize) {
        let Value::Object(members) = schema else {
            return;
        };
        if self.nodes == 0 || nesting > MAX_NESTING {
            return;
        }
        self.nodes -= 1;
        if let Some(target) = reference_of(schema).and_then(|text| self.document.resolve(text)) {
            self.enter(target, depth, nesting);
        }
        if let Some(Value::Object(properties)) = members.get("properties")
            && depth < self.limits.max_depth
        {
            for (name, property) in properties {
                if self.nodes == 0 {
                    return;
                }
                self.parameter(name, property, depth + 1);
                self.schema(property, depth + 1, 0);
            }
        }
        for keyword in ["items", "additionalProperties"] {
            match members.get(keyword) {
                Some(Value::Array(items)) => self.parts(items, depth, nesting),
                Some(item) => self.schema(item, depth, nesting + 1),
                None => {}
            }
        }
        for keyword in ["anyOf", "oneOf", "allOf", "prefixItems"] {
            self.parts(list(schema, keyword), depth, nesting);
        }
    }

    fn parts(&mut self, parts: &'a [Value], depth: usize, nesting: usize) {
        for part in parts {
            self.schema(part, depth, nesting + 1);
        }
    }

    fn enter(&mut self, target: &'a Value, depth: usize, nesting: usize) {
        if !self
            .entered
            .iter()
            .any(|known| std::ptr::eq(*known, target))
        {
            self.entered.push(target);
            self.schema(target, depth, nesting + 1);
        }
    }

    fn parameter(&mut self, name: &'a str, schema: &'a Value, depth: usize) {
        // A list under this name is the `required` keyword written one level too deep.
        if name == "required" && schema.is_array() {
            return;
        }
        let target = self.document.follow(schema).unwrap_or(schema);
        let text = |keyword: &str| {
            [schema, target]
                .into_iter()
                .find_map(|place| place.get(keyword)?.as_str())
        };
        let parameter = ParameterText {
            name,
            title: text("title"),
            description: text("description"),
            values: self.values(target),
            depth,
        };
        (self.f)(parameter);
    }

    fn values(&self, schema: &'a Value) -> Vec<&'a str> {
        let items = schema
            .get("items")
            .map_or(&[][..], |items| list(items, "enum"));
        let constant = schema.get("const").into_iter();
        let values = list(schema, "enum").iter().chain(items).chain(constant);
        values
            .filter_map(Value::as_str)
            .take(self.limits.max_values)
            .collect()
    }
}
