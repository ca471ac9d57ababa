//! Tests of `arguments`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::{any_schema, any_value, small_value, standard_schema};

fn object(value: Value) -> Map {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is an object"),
    }
}

fn is_tool(name: &str) -> bool {
    ["read", "exec", "rename_user", "list_regions", "core:read"].contains(&name)
}

fn check_shape(input: Value, id: &str, args: Value, repairs: &[RepairKind]) {
    let shape =
        unwrap_call(object(input.clone()), &is_tool).unwrap_or_else(|e| panic!("{input}: {e}"));
    assert_eq!(
        (shape.id.as_str(), Value::Object(shape.args)),
        (id, args),
        "{input}"
    );
    let found: Vec<RepairKind> = shape.repairs.iter().map(|repair| repair.kind).collect();
    assert_eq!(found, repairs, "{input}");
}

fn shape_error(input: Value) -> ShapeError {
    match unwrap_call(object(input.clone()), &is_tool) {
        Err(error) => error,
        Ok(shape) => panic!("{input} gave {shape:?}"),
    }
}

#[test]
fn the_nested_form_is_taken_as_it_is() {
    check_shape(
        json!({"id": "read", "args": {"path": "a"}}),
        "read",
        json!({"path": "a"}),
        &[],
    );
    check_shape(
        json!({"id": " read ", "arguments": {"path": "a"}}),
        "read",
        json!({"path": "a"}),
        &[],
    );
    check_shape(
        json!({"name": "read", "input": {"path": "a"}}),
        "read",
        json!({"path": "a"}),
        &[],
    );
    check_shape(
        json!({"toolId": "gone", "args": {"path": "a"}}),
        "gone",
        json!({"path": "a"}),
        &[],
    );
    check_shape(
        json!({"id": "list_regions"}),
        "list_regions",
        json!({}),
        &[],
    );
    check_shape(
        json!({"id": "list_regions", "args": {}}),
        "list_regions",
        json!({}),
        &[],
    );
    check_shape(
        json!({"id": "read", "name": "core:read", "args": {"path": "a"}}),
        "core:read",
        json!({"path": "a"}),
        &[],
    );
}

#[test]
fn flat_fields_are_arguments() {
    use RepairKind::{DottedKey, EmptyWrapper, Flattened};
    check_shape(
        json!({"id": "exec", "command": "ls -la", "timeout_ms": 5000}),
        "exec",
        json!({"command": "ls -la", "timeout_ms": 5000}),
        &[Flattened, Flattened],
    );
    for wrapper in ["args", "input", "arguments"] {
        for empty in [
            json!({}),
            json!(null),
            json!(""),
            json!("  "),
            json!("{}"),
            json!("null"),
        ] {
            check_shape(
                json!({"id": "read", wrapper: empty, "path": "README.md"}),
                "read",
                json!({"path": "README.md"}),
                &[Flattened, EmptyWrapper],
            );
        }
    }
    check_shape(
        json!({"id": "read", "args.path": "a", "args.limit": 3}),
        "read",
        json!({"path": "a", "limit": 3}),
        &[DottedKey, DottedKey],
    );
    check_shape(
        json!({"id": "exec", "input": "text of stdin"}),
        "exec",
        json!({"input": "text of stdin"}),
        &[Flattened],
    );
}

#[test]
fn the_targets_own_id_and_name_survive() {
    check_shape(
        json!({"id": "rename_user", "args": {"id": "u7", "name": "Ann"}}),
        "rename_user",
        json!({"id": "u7", "name": "Ann"}),
        &[],
    );
    check_shape(
        json!({"toolId": "rename_user", "id": "u7", "name": "Ann"}),
        "rename_user",
        json!({"id": "u7", "name": "Ann"}),
        &[RepairKind::Flattened, RepairKind::Flattened],
    );
    check_shape(
        json!({"id": 7, "name": "read"}),
        "read",
        json!({"id": 7}),
        &[RepairKind::Flattened],
    );
    check_shape(
        json!({"args": {"id": "read", "path": "a"}}),
        "read",
        json!({"path": "a"}),
        &[RepairKind::SelectorLifted],
    );
}

#[test]
fn what_cannot_be_told_is_refused_with_the_way_to_write_it() {
    let error = shape_error(json!({"id": "rename_user", "name": "exec"}));
    assert!(matches!(&error.kind, ShapeErrorKind::AmbiguousId { named } if named.len() == 2));
    let text = error.to_string();
    assert!(
        text.contains("rename_user") && text.contains("exec") && text.contains("\"args\""),
        "{text}"
    );

    let error = shape_error(json!({"id": "read", "args": {"path": "a"}, "limit": 3}));
    assert_eq!(
        error.kind,
        ShapeErrorKind::Misplaced {
            fields: vec!["limit".to_owned()]
        }
    );
    assert!(error.to_string().contains("inside args"));

    for missing in [
        json!({}),
        json!({"id": "", "args": {}}),
        json!({"args": {"path": "a"}}),
        json!({"id": 3}),
        json!({"args": {"id": "u7"}}),
    ] {
        assert_eq!(
            shape_error(missing.clone()).kind,
            ShapeErrorKind::MissingId,
            "{missing}"
        );
    }
    assert_eq!(
        shape_error(json!({"id": "read", "args": {"a": 1}, "input": {"a": 2}})).kind,
        ShapeErrorKind::GivenTwice
    );
    assert_eq!(
        shape_error(json!({"id": "read", "args": {"path": "a"}, "args.path": "b"})).kind,
        ShapeErrorKind::GivenTwice
    );
}

#[test]
fn text_of_arguments_is_read_once() {
    check_shape(
        json!({"id": "read", "args": "{\"path\":\"x\"}"}),
        "read",
        json!({"path": "x"}),
        &[RepairKind::TextParsed],
    );
    check_shape(
        json!({"id": "read", "args": "```json\n{\"path\":\"x\"}\n```"}),
        "read",
        json!({"path": "x"}),
        &[RepairKind::TextParsed],
    );
    let error = shape_error(json!({"id": "read", "args": "{\"path\": \"x\""}));
    assert_eq!(
        error.kind,
        ShapeErrorKind::InvalidJson {
            line: 1,
            column: 12
        }
    );
    assert!(
        error
            .to_string()
            .starts_with("args: invalid JSON at line 1 column 12; expected a JSON object"),
        "{error}"
    );
    let error = shape_error(json!({"id": "read", "args": "[1]"}));
    assert!(
        error
            .to_string()
            .contains("object expected, found an array"),
        "{error}"
    );
    assert!(matches!(
        shape_error(json!({"id": "read", "args": 5})).kind,
        ShapeErrorKind::NotAnObject { .. }
    ));

    for empty in ["", "  ", "null", "{}", "```\n```"] {
        assert_eq!(parse_arguments_text(empty), Ok(Map::new()), "{empty:?}");
    }
    assert_eq!(
        parse_arguments_text("```{\"a\":1}```"),
        Ok(object(json!({"a": 1})))
    );
    assert!(parse_arguments_text("\"{}\"").is_err() && parse_arguments_text("x").is_err());
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_ARGUMENT_BYTES));
    assert_eq!(
        parse_arguments_text(&long).unwrap_err().kind,
        ShapeErrorKind::TooLarge
    );
    assert_eq!(read_arguments(None), Ok(Map::new()));
    assert_eq!(read_arguments(Some(Value::Null)), Ok(Map::new()));
    assert!(
        read_arguments(Some(json!([])))
            .unwrap_err()
            .to_string()
            .contains("an array")
    );
}

fn check_repair(schema: Value, args: Value, expected: Value) {
    let (found, repairs) = repair(object(args.clone()), &schema);
    assert_eq!(Value::Object(found), expected, "{schema}");
    assert_eq!(repairs.is_empty(), args == expected, "{repairs:?}");
}

#[test]
fn texts_become_what_the_schema_asks_for() {
    let schema = json!({"type": "object", "properties": {
        "depth": {"type": "integer"}, "full": {"type": "boolean"}, "ratio": {"type": "number"},
        "sheet": {"type": "string"}, "any": {}, "level": {"enum": [1, 2]}, "by": {"$ref": "#/$defs/Page"},
        "flag": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "filter": {"type": "object", "properties": {"max": {"type": "integer"}}},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "either": {"type": ["integer", "string"]}},
        "$defs": {"Page": {"type": "integer"}}});
    check_repair(
        schema.clone(),
        json!({"depth": "3", "full": "true", "ratio": "0.5", "flag": "false", "level": "2", "by": " 7 ",
            "filter": "{\"max\": \"9\"}", "ids": "[1, \"2\"]"}),
        json!({"depth": 3, "full": true, "ratio": 0.5, "flag": false, "level": 2, "by": 7,
            "filter": {"max": 9}, "ids": [1, 2]}),
    );
    let untouched = json!({"depth": "3.7", "full": "yes", "ratio": "abc", "sheet": "3", "any": "true", "either": "5",
        "flag": "", "filter": "[]", "ids": "1", "other": "4"});
    check_repair(schema, untouched.clone(), untouched);
}

#[test]
fn repair_keeps_every_digit() {
    let schema = json!({"properties": {"id": {"type": "integer"}}});
    let (args, _) = repair(object(json!({"id": "1917043659912705296"})), &schema);
    assert_eq!(args["id"].to_string(), "1917043659912705296");
    let (args, _) = repair(
        object(json!({"id": "123456789012345678901234567890"})),
        &schema,
    );
    let digits = args["id"].to_string();
    assert_eq!(digits.trim_matches('"'), "123456789012345678901234567890");
}

#[test]
fn a_text_that_fits_one_alternative_stays() {
    let schema = json!({"anyOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"type": "integer"}}}],
        "properties": {"c": {"type": "integer"}}, "patternProperties": {}});
    let args = json!({"a": "1", "b": "2"});
    check_repair(schema, args.clone(), args);
}

fn errors(schema: Value, args: Value) -> String {
    let validator = Validator::compile(&schema).expect("a good schema");
    match validate(&object(args), &validator) {
        Ok(()) => String::new(),
        Err(errors) => errors.to_string(),
    }
}

fn read_schema() -> Value {
    json!({"type": "object", "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}},
        "required": ["path"], "additionalProperties": false})
}

#[test]
fn errors_name_fields_and_the_signature() {
    let expected = "expected { path: string; limit?: integer }";
    assert_eq!(errors(read_schema(), json!({"path": "a", "limit": 3})), "");
    assert_eq!(
        errors(read_schema(), json!({"file_path": "a"})),
        format!("missing path: string; unknown file_path (did you mean path?); {expected}"),
    );
    assert_eq!(
        errors(read_schema(), json!({"path": "a", "pth": "b"})),
        format!("unknown pth (did you mean path?); {expected}")
    );
    assert_eq!(
        errors(read_schema(), json!({"path": 5, "limit": "x"})),
        format!(
            "limit: integer expected, found string; path: string expected, found integer; {expected}"
        )
    );
    assert_eq!(
        errors(read_schema(), json!({"path": "a", "limit": 0})),
        format!("limit: a number of at least 1 expected, found integer; {expected}")
    );
    let open = json!({"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]});
    assert_eq!(
        errors(open.clone(), json!({})),
        "missing command: string; expected { command: string }"
    );
    assert_eq!(
        errors(open.clone(), json!({"comand": "x"})),
        "missing command: string; unknown comand (did you mean command?); expected { command: string }"
    );
    assert_eq!(errors(open, json!({"command": "x", "extra": 1})), "");
}

#[test]
fn nested_and_alternative_values_are_told_by_path() {
    let schema = json!({"type": "object", "properties": {
        "issue": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}},
        "by": {"oneOf": [{"type": "string"}, {"type": "object", "properties": {"mail": {"type": "string"}}, "required": ["mail"]}]}}});
    let text = errors(
        schema,
        json!({"issue": {"titel": "x"}, "tags": ["a", "c"], "by": {"mial": 1}}),
    );
    for part in [
        "missing issue.title: string",
        "unknown issue.titel (did you mean title?)",
        "tags[1]: \"a\" | \"b\" expected, found string",
        "missing by.mail: string",
        "unknown by.mial (did you mean mail?)",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn root_alternatives_and_references_are_checked_against_the_original() {
    let schema = json!({"type": "object", "properties": {"body": {"type": "string"}}, "anyOf": [
        {"required": ["ticket"], "properties": {"ticket": {"$ref": "#/$defs/Id"}}},
        {"required": ["person"], "properties": {"person": {"$ref": "#/$defs/Id"}}}], "$defs": {"Id": {"type": "string", "pattern": "^[a-z]\\d+$"}}});
    assert_eq!(errors(schema.clone(), json!({"ticket": "t1"})), "");
    assert!(errors(schema.clone(), json!({"body": "x"})).contains("missing ticket"));
    assert!(
        errors(schema, json!({"ticket": "T-1"})).contains("ticket: text like ^[a-z]\\d+$ expected")
    );
    let open = json!({"properties": {"ghost": {"$ref": "#/$defs/Gone"}, "far": {"$ref": "https://far.test/"}, "any": true}});
    assert_eq!(
        errors(open, json!({"ghost": 1, "far": [], "any": {"a": null}})),
        ""
    );
    let circular = json!({"$ref": "#", "properties": {"a": {"type": "null"}}});
    assert!(errors(circular, json!({"a": 1})).contains("a: null expected"));
}

#[test]
fn numbers_are_compared_by_their_digits() {
    let schema = json!({"properties": {"n": {"type": "integer", "maximum": 9_007_199_254_740_993_u64}, "x": {"const": 1}, "m": {"multipleOf": 0.1}}});
    assert_eq!(
        errors(
            schema.clone(),
            json!({"n": 9_007_199_254_740_993_u64, "x": 1.0, "m": 0.3})
        ),
        ""
    );
    assert!(
        errors(schema.clone(), json!({"n": 9_007_199_254_740_994_u64}))
            .contains("at most 9007199254740993")
    );
    assert!(errors(schema, json!({"n": 1.5})).contains("integer expected, found number"));
}

#[test]
fn faults_say_where_and_why() {
    for (schema, text) in [
        (
            json!({"properties": {"n": {"type": "int"}}}),
            "malformed schema at #/properties/n: unknown type \"int\"",
        ),
        (
            json!({"properties": {"required": ["a"]}}),
            "malformed schema at #/properties/required: an array in place of a schema",
        ),
        (
            json!({"type": "string"}),
            "malformed schema at #: arguments are an object, which this schema does not take",
        ),
        (
            json!({"anyOf": []}),
            "malformed schema at #: anyOf is not a list of schemas",
        ),
        (json!([]), "the schema is an array, not an object"),
    ] {
        assert_eq!(
            Validator::compile(&schema)
                .map(|_| ())
                .unwrap_err()
                .to_string(),
            text
        );
    }
    let mut deep = json!({});
    for _ in 0..80 {
        deep = json!({"items": deep});
    }
    assert!(matches!(
        Validator::compile(&deep),
        Err(crate::SchemaFault::TooLarge { .. })
    ));
}

#[test]
fn messages_are_bounded_and_stable() {
    let properties: serde_json::Map<String, Value> = (0..500)
        .map(|n| (format!("p{n:03}"), json!({"type": "string"})))
        .collect();
    let required: Vec<&String> = properties.keys().collect();
    let schema = json!({"properties": properties, "required": required});
    let text = errors(schema.clone(), json!({"x": "y".repeat(100_000)}));
    assert!(
        text.contains("more; ") && text.len() < 8_000,
        "{}",
        text.len()
    );
    assert_eq!(text, errors(schema, json!({"x": "y".repeat(100_000)})));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn repair_leaves_alone_what_fits_and_validation_never_panics(schema in any_schema(), args in any_value()) {
        let args = match args { Value::Object(members) => members, other => object(json!({"path": other})) };
        let (repaired, repairs) = repair(args.clone(), &schema);
        if let Ok(validator) = Validator::compile(&schema) {
            if validate(&args, &validator).is_ok() {
                prop_assert_eq!(&repaired, &args);
            }
            let _ = validate(&repaired, &validator);
        }
        prop_assert_eq!(repairs.is_empty(), repaired == args);
        let (again, _) = repair(repaired.clone(), &schema);
        prop_assert_eq!(again, repaired);
    }

    #[test]
    fn any_call_is_taken_apart_or_refused(input in any_value(), id in prop::option::of(prop::sample::select(vec!["read", "exec", "gone", ""])), text in "\\PC{0,30}") {
        let mut input = match input { Value::Object(members) => members, other => object(json!({"args": other})) };
        if let Some(id) = id {
            input.insert("id".to_owned(), json!(id));
        }
        match unwrap_call(input, &is_tool) {
            Ok(shape) => prop_assert!(!shape.id.is_empty()),
            Err(error) => prop_assert!(error.to_string().len() < 2_000),
        }
        let _ = parse_arguments_text(&text);
    }

    #[test]
    fn the_verdict_is_that_of_a_full_validator((schema, values) in (standard_schema(), prop::collection::vec(small_value(), 12))) {
        let ours = Validator::compile_value(&schema).expect("standard schemas compile");
        let theirs = jsonschema::draft202012::new(&schema).expect("standard schemas compile");
        for value in values {
            prop_assert_eq!(ours.check(&value).is_ok(), theirs.is_valid(&value), "{} against {}", value, schema);
        }
    }
}
