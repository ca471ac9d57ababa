//! Values that were written as text although the schema asks for something else.

use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use super::{Map, Repair, RepairKind};
use crate::document::{Document, Kind, Kinds, ObjectView, Rest, list};
use crate::number;

/// Levels of objects and lists that are repaired.
const MAX_DEPTH: usize = 8;

/// Values looked at for one call.
const MAX_VALUES: usize = 20_000;

/// Repairs that are made for one call.
const MAX_REPAIRS: usize = 1_000;

/// Repairs that are reported.
const MAX_REPORTED: usize = 32;

/// Reads texts as the numbers, booleans, nulls, objects and lists that `schema` asks for.
///
/// A text is read only where the schema takes no string at all and where exactly one reading fits:
/// `"3"` for an integer, `"true"` for a boolean, `"{…}"` for an object. Everything else is left as it
/// is, for the check to tell or for the tool to take. Integers keep all their digits.
pub fn repair(args: Map, schema: &Value) -> (Map, Vec<Repair>) {
    let mut repairer = Repairer {
        document: Document::new(schema),
        values: MAX_VALUES,
        made: 0,
        views: HashMap::new(),
        kinds: HashMap::new(),
        repairs: Vec::new(),
    };
    let args = repairer.object(args, &[schema], "", MAX_DEPTH);
    (args, repairer.repairs)
}

struct Repairer<'a> {
    document: Document<'a>,
    values: usize,
    made: usize,
    /// What was found out about a schema, by its address: items of a list share theirs.
    views: HashMap<*const Value, Rc<ObjectView<'a>>>,
    kinds: HashMap<*const Value, Kinds>,
    repairs: Vec<Repair>,
}

impl<'a> Repairer<'a> {
    fn object(&mut self, members: Map, schemas: &[&'a Value], path: &str, depth: usize) -> Map {
        let views: Vec<Rc<ObjectView<'a>>> =
            schemas.iter().map(|schema| self.view(schema)).collect();
        // A view that is not whole may lack the part that takes a string.
        if views.iter().any(|view| view.cut) {
            return members;
        }
        members
            .into_iter()
            .map(|(name, value)| {
                let at = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                let value = match definitions(&views, &name) {
                    Some(schemas) => self.value(value, &schemas, &at, depth),
                    None => value,
                };
                (name, value)
            })
            .collect()
    }

    fn value(&mut self, value: Value, schemas: &[&'a Value], path: &str, depth: usize) -> Value {
        if depth == 0 || self.values == 0 || schemas.is_empty() {
            return value;
        }
        self.values -= 1;
        let value = match value {
            Value::String(text) => self.text(text, schemas, path),
            other => other,
        };
        match value {
            Value::Object(members) => Value::Object(self.object(members, schemas, path, depth - 1)),
            Value::Array(items) => {
                let Some(item_schemas) = self.item_schemas(schemas) else {
                    return Value::Array(items);
                };
                let items = items.into_iter().enumerate().map(|(index, item)| {
                    self.value(item, &item_schemas, &format!("{path}[{index}]"), depth - 1)
                });
                Value::Array(items.collect())
            }
            scalar => scalar,
        }
    }

    fn text(&mut self, text: String, schemas: &[&'a Value], path: &str) -> Value {
        let accepted: Vec<Kinds> = schemas.iter().map(|schema| self.accepted(schema)).collect();
        let string_fits = accepted.iter().any(|kinds| kinds.has(Kind::String));
        if string_fits || self.made >= MAX_REPAIRS {
            return Value::String(text);
        }
        let Some(value) = reading(&text) else {
            return Value::String(text);
        };
        let kind = Kind::of_value(&value);
        if !accepted.iter().all(|kinds| kinds.has(kind)) {
            return Value::String(text);
        }
        self.made += 1;
        if self.repairs.len() < MAX_REPORTED {
            let nested = value.is_object() || value.is_array();
            let kind = if nested {
                RepairKind::TextParsed
            } else {
                RepairKind::Coerced
            };
            self.repairs.push(Repair::new(kind, path));
        }
        value
    }

    fn view(&mut self, schema: &'a Value) -> Rc<ObjectView<'a>> {
        let document = self.document;
        let known = self.views.entry(std::ptr::from_ref(schema));
        Rc::clone(known.or_insert_with(|| Rc::new(ObjectView::of(document, schema))))
    }

    fn accepted(&mut self, schema: &'a Value) -> Kinds {
        let document = self.document;
        let known = self.kinds.entry(std::ptr::from_ref(schema));
        *known.or_insert_with(|| Kinds::accepted(document, schema))
    }

    /// The schema of all items, where there is one for all of them.
    fn item_schemas(&self, schemas: &[&'a Value]) -> Option<Vec<&'a Value>> {
        schemas
            .iter()
            .map(|schema| {
                let target = self.document.follow(schema)?;
                let combined = ["anyOf", "oneOf", "allOf", "prefixItems"]
                    .iter()
                    .any(|keyword| !list(target, keyword).is_empty());
                let items = target.get("items").filter(|items| items.is_object());
                items.filter(|_| !combined)
            })
            .collect()
    }
}

/// The schemas that the value of `name` has to fit in any case; `None` where there may be none.
fn definitions<'a>(views: &[Rc<ObjectView<'a>>], name: &str) -> Option<Vec<&'a Value>> {
    let mut schemas = Vec::new();
    for view in views.iter().filter(|view| !view.patterns) {
        if let Some(certain) = view.certain.get(name) {
            schemas.extend(certain.iter().copied());
        } else if let (false, Rest::Schema(rest)) = (view.properties.contains_key(name), view.rest)
        {
            schemas.push(rest);
        }
    }
    (!schemas.is_empty()).then_some(schemas)
}

/// The value that a text spells in JSON without doubt, other than a string.
fn reading(text: &str) -> Option<Value> {
    let text = text.trim();
    match text {
        "null" => return Some(Value::Null),
        "true" | "True" => return Some(Value::Bool(true)),
        "false" | "False" => return Some(Value::Bool(false)),
        _ => {}
    }
    if text.starts_with(['{', '[']) {
        return serde_json::from_str(text)
            .ok()
            .filter(|v: &Value| v.is_object() || v.is_array());
    }
    number::exact(text).map(Value::Number)
}
