//! Tests of `document`.

use serde_json::json;

use super::*;

#[test]
fn references_resolve_anywhere_in_the_document_and_nowhere_else() {
    let schema = json!({
        "$id": "https://example.test/s.json",
        "properties": {"from": {"type": "string"}, "a/b": {"type": "object"}, "a b": {"type": "null"},
            "t~x": true, "list": {"items": [{"type": "integer"}]}},
        "$defs": {"Named": {"$anchor": "named", "type": "boolean"}},
    });
    let document = Document::new(&schema);
    let found = |reference: &str| document.resolve(reference).cloned();
    assert_eq!(found("#/properties/from"), Some(json!({"type": "string"})));
    assert_eq!(found("#/properties/a~1b"), Some(json!({"type": "object"})));
    assert_eq!(found("#/properties/a%20b"), Some(json!({"type": "null"})));
    assert_eq!(found("#/properties/t~0x"), Some(json!(true)));
    assert_eq!(
        found("#/properties/list/items/0"),
        Some(json!({"type": "integer"}))
    );
    assert_eq!(found("#named"), Some(schema["$defs"]["Named"].clone()));
    assert_eq!(
        found("https://example.test/s.json#/properties/from"),
        Some(json!({"type": "string"}))
    );
    assert_eq!(found("#"), Some(schema.clone()));
    for nothing in [
        "#/$defs/Missing",
        "https://other.test/x.json",
        "x.json#/a",
        "#/%ff",
        "#/%",
        "#gone",
        "#/properties/list/items/9",
    ] {
        assert_eq!(found(nothing), None, "{nothing}");
    }
    assert_eq!(document.resolve(&format!("#{}", "/a".repeat(2_000))), None);
}

#[test]
fn chains_end_and_circles_are_noticed() {
    let schema = json!({"$defs": {
        "A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/C"}, "C": {"type": "string"},
        "X": {"$ref": "#/$defs/Y"}, "Y": {"$ref": "#/$defs/X"}}});
    let document = Document::new(&schema);
    let follow = |name: &str| document.follow(&schema["$defs"][name]);
    assert_eq!(follow("A"), Some(&schema["$defs"]["C"]));
    assert_eq!(follow("X"), None);
    assert_eq!(reference_name("#/$defs/Filter"), Some("Filter"));
    assert_eq!(reference_name("#"), None);
}

#[test]
fn kinds_are_those_that_may_fit() {
    let check = |schema: Value, fits: &[Kind]| {
        let kinds = Kinds::accepted(Document::new(&schema), &schema);
        let all = [
            Kind::Null,
            Kind::Boolean,
            Kind::Integer,
            Kind::Number,
            Kind::String,
            Kind::Array,
            Kind::Object,
        ];
        let found: Vec<Kind> = all.into_iter().filter(|kind| kinds.has(*kind)).collect();
        assert_eq!(found, fits, "{schema}");
    };
    let any = [
        Kind::Null,
        Kind::Boolean,
        Kind::Integer,
        Kind::Number,
        Kind::String,
        Kind::Array,
        Kind::Object,
    ];
    check(json!({"type": "integer"}), &[Kind::Integer]);
    check(json!({"type": "number"}), &[Kind::Integer, Kind::Number]);
    check(json!({"type": "INT"}), &[Kind::Integer]);
    check(
        json!({"type": ["boolean", "null"]}),
        &[Kind::Null, Kind::Boolean],
    );
    check(
        json!({"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
        &[Kind::Null, Kind::Boolean],
    );
    check(
        json!({"type": "string", "nullable": true}),
        &[Kind::Null, Kind::String],
    );
    check(json!({"enum": [1, 2, "x"]}), &[Kind::Integer, Kind::String]);
    check(json!({"const": 1.5}), &[Kind::Integer, Kind::Number]);
    check(
        json!({"allOf": [{"type": ["string", "array"]}, {"type": "array"}]}),
        &[Kind::Array],
    );
    check(json!({"type": "shape"}), &any);
    check(json!({"$ref": "#/missing"}), &any);
    check(json!({"$ref": "#"}), &any);
    check(json!({}), &any);
    check(json!(true), &any);
    check(json!(false), &[]);
}

#[test]
fn an_object_view_unites_parts_and_keeps_what_all_require() {
    let schema = json!({
        "properties": {"body": {"type": "string"}, "required": ["body"], "old": {"required": true}},
        "allOf": [{"$ref": "#/$defs/A"}],
        "anyOf": [
            {"required": ["ticket", "kind"], "properties": {"ticket": {}, "kind": {}}},
            {"required": ["person", "kind"], "properties": {"person": {}, "kind": {}}},
            {"type": "null"}],
        "$defs": {"A": {"properties": {"left": {"type": "string"}}, "required": ["left"], "additionalProperties": false}},
    });
    let view = ObjectView::of(Document::new(&schema), &schema);
    let names: Vec<&str> = view.properties.keys().copied().collect();
    assert_eq!(names, ["body", "kind", "left", "old", "person", "ticket"]);
    assert_eq!(
        view.required.into_iter().collect::<Vec<_>>(),
        ["body", "kind", "left", "old"]
    );
    assert!(matches!(view.rest, Rest::Closed));
    assert!(view.alternatives && !view.cut);
}

#[test]
fn a_view_of_a_circular_or_exploding_schema_ends() {
    let circular = json!({"allOf": [{"$ref": "#"}], "anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
    assert!(ObjectView::of(Document::new(&circular), &circular).cut);
    let mut defs = serde_json::Map::new();
    for level in 0..12 {
        let next = format!("#/$defs/L{}", level + 1);
        defs.insert(
            format!("L{level}"),
            json!({"anyOf": vec![json!({"$ref": next}); 8]}),
        );
    }
    let exploding = json!({"$ref": "#/$defs/L0", "$defs": defs});
    assert!(ObjectView::of(Document::new(&exploding), &exploding).cut);
}
