//! JSON Schemas of parameters and results, in draft 2020-12 vocabulary.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::field::{Field, Kind, Range};
use crate::plan::{Entity, Param, Tool};
use crate::spec::Op;
use crate::store::{MAX_BATCH, MAX_ITEMS};

/// The schema of a tool's arguments.
pub(crate) fn input(tool: &Tool) -> Value {
    let mut properties = Map::new();
    for param in &tool.params {
        properties.insert(param.name.to_string(), parameter(param));
    }
    let required = tool
        .params
        .iter()
        .filter(|param| param.required)
        .map(|param| &*param.name);
    object(properties, required.collect(), false)
}

/// The schema of one record.
pub(crate) fn record(entity: &Entity) -> Arc<Value> {
    let mut properties = Map::new();
    properties.insert("id".to_owned(), json!({"type": "string"}));
    for field in &entity.fields {
        properties.insert(
            field.name.to_owned(),
            described(&field.kind, field.description, false),
        );
    }
    let required = vec!["id", entity.created_at, entity.updated_at];
    Arc::new(object(properties, required, true))
}

/// The schema of a tool's structured result.
pub(crate) fn output(tool: &Tool, entity: &Entity, record: &Arc<Value>) -> Arc<Value> {
    let many = || json!({"type": "array", "items": Value::clone(record)});
    let count = || json!({"type": "integer", "minimum": 0});
    let parts: Vec<(&str, Value)> = match tool.op {
        Op::Delete => vec![("id", string()), ("deleted", json!({"const": true}))],
        Op::List | Op::Search => vec![
            (entity.plural, many()),
            ("total", count()),
            ("has_more", json!({"type": "boolean"})),
        ],
        Op::Set if tool.options.many => vec![
            (entity.plural, many()),
            ("not_found", json!({"type": "array", "items": string()})),
        ],
        Op::Count => vec![("count", count()), ("groups", json!({"type": "array"}))],
        Op::Sum => vec![
            ("total", json!({"type": "number"})),
            ("count", count()),
            ("groups", json!({"type": "array"})),
        ],
        Op::Field => {
            let name = tool.options.field.unwrap_or_default();
            vec![("id", string()), (name, json!({"type": "array"}))]
        }
        _ => return Arc::clone(record),
    };
    let required = parts.iter().map(|(name, _)| *name).collect();
    let properties = parts
        .into_iter()
        .map(|(name, part)| (name.to_owned(), part))
        .collect();
    Arc::new(object(properties, required, true))
}

fn string() -> Value {
    json!({"type": "string"})
}

fn parameter(param: &Param) -> Value {
    let mut schema = described(&param.kind, &param.description, true);
    if let Value::Object(schema) = &mut schema {
        if let Some(default) = &param.default {
            schema.insert("default".to_owned(), default.clone());
        }
        if let Some(id) = &param.example {
            let example = match param.kind {
                Kind::List(_) => json!([id]),
                _ => Value::from(id.as_str()),
            };
            schema.insert("examples".to_owned(), Value::Array(vec![example]));
        }
        if param.role == crate::plan::Role::Ids {
            schema.insert("minItems".to_owned(), Value::from(1));
            schema.insert("maxItems".to_owned(), Value::from(MAX_BATCH));
        }
    }
    schema
}

fn described(kind: &Kind, description: &str, input: bool) -> Value {
    let mut schema = type_of(kind, input);
    if !description.is_empty() {
        schema.insert("description".to_owned(), Value::from(description));
    }
    Value::Object(schema)
}

fn type_of(kind: &Kind, input: bool) -> Map<String, Value> {
    let (word, format) = match kind {
        Kind::Text | Kind::Choice(_) | Kind::Ref(_) => ("string", None),
        Kind::Date => ("string", Some("date")),
        Kind::Time => ("string", Some("date-time")),
        Kind::Email => ("string", Some("email")),
        Kind::Url => ("string", Some("uri")),
        Kind::Int(_) => ("integer", None),
        Kind::Num(_) => ("number", None),
        Kind::Bool => ("boolean", None),
        Kind::List(_) => ("array", None),
        Kind::Map => ("object", None),
        Kind::Object(fields) => return nested(fields, input),
    };
    let mut schema = Map::new();
    schema.insert("type".to_owned(), Value::from(word));
    if let Some(format) = format {
        schema.insert("format".to_owned(), Value::from(format));
    }
    match kind {
        Kind::Choice(options) => {
            let options = options.iter().map(|option| Value::from(*option)).collect();
            schema.insert("enum".to_owned(), Value::Array(options));
        }
        Kind::Int(range) | Kind::Num(range) => bounds(&mut schema, *range),
        Kind::List(element) => {
            schema.insert("items".to_owned(), Value::Object(type_of(element, input)));
            schema.insert("maxItems".to_owned(), Value::from(MAX_ITEMS));
        }
        _ => {}
    }
    schema
}

fn bounds(schema: &mut Map<String, Value>, range: Range) {
    for (word, bound) in [("minimum", range.min), ("maximum", range.max)] {
        if let Some(bound) = bound {
            schema.insert(word.to_owned(), crate::number::from_f64(bound));
        }
    }
}

fn nested(fields: &[Field], input: bool) -> Map<String, Value> {
    let shown = |field: &&Field| !(input && field.read_only);
    let mut properties = Map::new();
    for field in fields.iter().filter(shown) {
        let mut schema = described(&field.kind, field.description, input);
        if let (Some(default), Value::Object(schema)) = (&field.default, &mut schema) {
            schema.insert("default".to_owned(), default.clone());
        }
        properties.insert(field.name.to_owned(), schema);
    }
    let required = fields
        .iter()
        .filter(|field| input && field.required && !field.read_only);
    match object(
        properties,
        required.map(|field| field.name).collect(),
        !input,
    ) {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn object(properties: Map<String, Value>, required: Vec<&str>, open: bool) -> Value {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), Value::from("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::from(required));
    }
    if !open {
        schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    Value::Object(schema)
}
