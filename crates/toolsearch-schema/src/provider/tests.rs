//! Tests of `provider`.

use proptest::prelude::*;

use super::*;
use crate::testing::any_schema;

fn form(schema: Value) -> ProviderSchema {
    let before = schema.clone();
    let form = provider_form(&schema);
    assert_eq!(schema, before);
    form
}

fn check(schema: Value, expected: Value) {
    let found = form(schema);
    assert_eq!(found.schema, expected);
    assert!(found.changes.is_empty(), "{:?}", found.changes);
}

fn check_repaired(schema: Value, expected: Value, change: &str) {
    let found = form(schema);
    assert_eq!(found.schema, expected);
    assert!(
        found.changes.iter().any(|c| c.contains(change)),
        "{:?}",
        found.changes
    );
}

#[test]
fn what_is_missing_is_added_without_a_word() {
    let empty = json!({"type": "object", "properties": {}});
    for schema in [
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": null}),
        json!(true),
    ] {
        check(schema, empty.clone());
    }
    check(
        json!({"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"type": "array"}, "b": true}, "description": null}),
        json!({"type": "object", "properties": {"a": {"type": "array", "items": {}}, "b": {}}}),
    );
}

#[test]
fn a_good_schema_stays_as_it_is() {
    let schema = json!({"type": "object", "properties": {
        "q": {"type": "string", "description": "words", "minLength": 1},
        "id": {"type": ["integer", "null"], "default": null},
        "by": {"$ref": "#/$defs/Person"}},
        "required": ["q"], "additionalProperties": false,
        "$defs": {"Person": {"type": "object", "properties": {"boss": {"$ref": "#/$defs/Person"}}}}});
    check(schema.clone(), schema);
}

#[test]
fn alternatives_at_the_root_are_merged_and_told() {
    let found = form(
        json!({"type": "object", "description": "Add a note.", "properties": {"body": {"type": "string"}}, "anyOf": [
        {"required": ["ticket"], "properties": {"ticket": {"type": "string"}}},
        {"required": ["person"], "properties": {"person": {"type": "integer"}}}]}),
    );
    assert_eq!(
        found.schema,
        json!({
        "type": "object",
        "description": "Add a note.\nGive at least one of: ticket; or person.",
        "properties": {"body": {"type": "string"}, "person": {"type": "integer"}, "ticket": {"type": "string"}}})
    );
    assert_eq!(found.changes.len(), 1);
    let merged = form(
        json!({"allOf": [{"$ref": "#/$defs/A"}, {"$ref": "#/$defs/B"}], "$defs": {
        "A": {"properties": {"left": {"type": "string"}}, "required": ["left"]},
        "B": {"properties": {"right": {"$ref": "#/$defs/C"}}, "required": ["right"]},
        "C": {"type": "boolean"}}}),
    );
    assert_eq!(
        merged.schema,
        json!({
        "type": "object", "properties": {"left": {"type": "string"}, "right": {"$ref": "#/$defs/C"}},
        "required": ["left", "right"], "$defs": {"C": {"type": "boolean"}}})
    );
    let both = form(
        json!({"oneOf": [{"properties": {"x": {"type": "string"}}}, {"properties": {"x": {"type": "null"}}}]}),
    );
    assert_eq!(
        both.schema["properties"]["x"],
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]})
    );
}

#[test]
fn malformed_schemas_are_repaired_with_a_note() {
    check_repaired(
        json!({"type": "object", "properties": {"coin": {"type": "string"}, "required": ["coin"]}}),
        json!({"type": "object", "properties": {"coin": {"type": "string"}}, "required": ["coin"]}),
        "moved out of `properties`",
    );
    check_repaired(
        json!({"type": "object", "properties": {"n": {"type": "int"}}}),
        json!({"type": "object", "properties": {"n": {"type": "integer"}}}),
        "`int` read as `integer`",
    );
    check_repaired(
        json!({"type": "string", "description": "the title"}),
        json!({"type": "object", "description": "the title", "properties": {}}),
        "read as object",
    );
    check_repaired(
        json!({"properties": {"never": false}}),
        json!({"type": "object", "properties": {"never": {"not": {}}}}),
        "`false`",
    );
    check_repaired(
        json!({"properties": {"a": {"type": "string", "required": true}, "b": {"type": "shape", "enum": []}}}),
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a"]}),
        "unknown type `shape`",
    );
    check_repaired(
        json!([]),
        json!({"type": "object", "properties": {}}),
        "an array",
    );
}

#[test]
fn references_become_local_definitions() {
    check_repaired(
        json!({"properties": {"from": {"type": "string"}, "to": {"$ref": "#/properties/from", "description": "end"},
            "ghost": {"$ref": "#/$defs/Gone"}, "far": {"$ref": "https://far.test/x.json"}}}),
        json!({"type": "object", "properties": {"from": {"type": "string"},
            "to": {"description": "end", "$ref": "#/$defs/from"}, "ghost": {}, "far": {}},
            "$defs": {"from": {"type": "string"}}}),
        "leads nowhere",
    );
    check(
        json!({"properties": {"root": {"$ref": "#/definitions/Node"}}, "definitions": {"Unused": {},
            "Node": {"properties": {"children": {"type": "array", "items": {"$ref": "#/definitions/Node"}}}}}}),
        json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "$defs": {
            "Node": {"properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}}}),
    );
}

#[test]
fn absent_null_and_boolean_schemas_are_read_and_others_named() {
    let empty = json!({"type": "object", "properties": {}});
    assert_eq!(read_input_schema(None), Ok(empty.clone()));
    assert_eq!(read_input_schema(Some(&Value::Null)), Ok(empty));
    assert_eq!(read_input_schema(Some(&json!(true))), Ok(json!(true)));
    assert_eq!(
        read_input_schema(Some(&json!({"x": 1}))),
        Ok(json!({"x": 1}))
    );
    let fault = read_input_schema(Some(&json!([]))).unwrap_err();
    assert_eq!(fault.to_string(), "the schema is an array, not an object");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_schema_gets_a_form_that_providers_accept(schema in any_schema()) {
        let found = provider_form(&schema).schema;
        prop_assert_eq!(&found["type"], "object");
        prop_assert!(found["properties"].is_object());
        for keyword in ["anyOf", "oneOf", "allOf", "not", "enum", "const", "$ref", "if"] {
            prop_assert!(found.get(keyword).is_none(), "{} in {}", keyword, found);
        }
        prop_assert!(references_are_local(&found, &found), "{}", found);
        prop_assert_eq!(&provider_form(&found).schema, &found);
    }
}

fn references_are_local(root: &Value, part: &Value) -> bool {
    match part {
        Value::Object(members) => members.iter().all(|(keyword, value)| match value.as_str() {
            Some(text) if keyword == "$ref" => {
                text.starts_with("#/$defs/") && root.pointer(&text[1..]).is_some()
            }
            _ => references_are_local(root, value),
        }),
        Value::Array(items) => items.iter().all(|item| references_are_local(root, item)),
        _ => true,
    }
}
