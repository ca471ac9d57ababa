//! The table as JSON Schema, for editors and for `config schema`.

use serde_json::{Map, Value, json};

use super::{Field, Kind, Shape, table};

/// The JSON Schema (2020-12) of `toolsearch.json5`.
pub fn schema_json() -> Value {
    let mut definitions = Map::new();
    let root = object(&table::ROOT, &mut definitions);
    definitions.sort_keys();
    let mut schema = Map::new();
    schema.insert(
        "$schema".to_owned(),
        "https://json-schema.org/draft/2020-12/schema".into(),
    );
    schema.insert("title".to_owned(), "toolsearch.json5".into());
    if let Value::Object(root) = root {
        schema.extend(root);
    }
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    Value::Object(schema)
}

fn object(shape: &'static Shape, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for field in shape.fields {
        properties.insert(field.key.to_owned(), property(field, definitions));
    }
    let mut schema = json!({
        "type": "object",
        "description": shape.help,
        "properties": properties,
        "additionalProperties": false,
    });
    let required: Vec<&str> = shape
        .fields
        .iter()
        .filter(|field| field.required)
        .map(|field| field.key)
        .collect();
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn property(field: &'static Field, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = of_kind(&field.kind, definitions);
    schema["description"] = field.help.into();
    if let Some(default) = field.default {
        schema["default"] = serde_json::from_str(default).unwrap_or(Value::Null);
    }
    schema
}

fn of_kind(kind: &'static Kind, definitions: &mut Map<String, Value>) -> Value {
    match kind {
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::Text | Kind::Template => json!({ "type": "string" }),
        Kind::Word(word) => json!({ "type": "string", "pattern": word.pattern }),
        Kind::Choice(values) => json!({ "enum": values }),
        Kind::Count(count) => {
            let mut schema =
                json!({ "type": "integer", "minimum": count.min, "maximum": count.max });
            if let Some(default) = count.default {
                schema["default"] = default.into();
            }
            schema
        }
        Kind::List(inner) => json!({ "type": "array", "items": of_kind(inner, definitions) }),
        Kind::Map(inner) => {
            json!({ "type": "object", "additionalProperties": of_kind(inner, definitions) })
        }
        Kind::Object(shape) => {
            if !definitions.contains_key(shape.name) {
                definitions.insert(shape.name.to_owned(), Value::Null);
                let schema = object(shape, definitions);
                definitions.insert(shape.name.to_owned(), schema);
            }
            json!({ "$ref": format!("#/$defs/{}", shape.name) })
        }
        Kind::Either(kinds) => {
            let branches: Vec<Value> = kinds
                .iter()
                .map(|kind| of_kind(kind, definitions))
                .collect();
            json!({ "anyOf": branches })
        }
    }
}
