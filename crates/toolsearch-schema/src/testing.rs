//! Schemas and values made up for property tests: well-formed, malformed, circular.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Names that occur in generated schemas and arguments, so that they meet.
pub(crate) const NAMES: [&str; 8] = [
    "path",
    "file-path",
    "id",
    "limit",
    "where",
    "größe",
    "a b\u{202e}",
    "required",
];

/// Any schema, good or bad, with references that may be circular, dangling or remote.
pub(crate) fn any_schema() -> impl Strategy<Value = Value> {
    (
        sub_schema(),
        sub_schema(),
        sub_schema(),
        prop::sample::subsequence(NAMES.to_vec(), 0..4),
    )
        .prop_map(|(root, a, b, required)| {
            let Value::Object(mut members) = root else {
                return root;
            };
            members.insert("$defs".to_owned(), json!({"A": a, "B": b}));
            members.insert("required".to_owned(), json!(required));
            Value::Object(members)
        })
}

fn sub_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        4 => prop::sample::select(vec!["string", "integer", "number", "boolean", "null", "array", "object", "int", "shape"])
            .prop_map(|word| json!({"type": word})),
        2 => prop::sample::select(vec!["#", "#/$defs/A", "#/$defs/B", "#/properties/path", "#/$defs/Gone", "https://far.test/", "#x"])
            .prop_map(|reference| json!({"$ref": reference})),
        1 => prop::sample::select(vec![json!(true), json!(false), json!(null), json!([]), json!("text"), json!(3), json!({})]),
        1 => prop::collection::vec(any_value(), 0..5).prop_map(|values| json!({"enum": values})),
        1 => any_value().prop_map(|value| json!({"const": value})),
        1 => Just(json!({"type": ["string", "null"], "minLength": 1, "pattern": "^\\d+$"})),
        1 => Just(json!({"type": "integer", "minimum": 0, "maximum": 10, "multipleOf": 2})),
    ];
    leaf.prop_recursive(4, 48, 5, |inner| {
        let parts = prop::collection::vec(inner.clone(), 0..4);
        let properties = prop::collection::vec((prop::sample::select(NAMES.to_vec()), inner.clone()), 0..5)
            .prop_map(|pairs| pairs.into_iter().map(|(n, s)| (n.to_owned(), s)).collect::<Map<_, _>>());
        prop_oneof![
            3 => (properties, inner.clone(), any::<bool>()).prop_map(|(properties, rest, closed)| {
                let rest = if closed { json!(false) } else { rest };
                json!({"type": "object", "properties": properties, "additionalProperties": rest})
            }),
            1 => inner.clone().prop_map(|items| json!({"type": "array", "items": items})),
            1 => parts.clone().prop_map(|parts| json!({"anyOf": parts})),
            1 => parts.clone().prop_map(|parts| json!({"oneOf": parts, "nullable": true})),
            1 => parts.clone().prop_map(|parts| json!({"allOf": parts})),
            1 => (inner.clone(), inner.clone(), inner).prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c, "not": {"const": 1}})),
        ]
    })
}

/// Any small JSON value.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "",
            "x",
            "3",
            "0.5",
            "true",
            "null",
            "{\"a\":1}",
            "[1]",
            "-7",
            "{"
        ])
        .prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        (-1000i32..1000).prop_map(|n| json!(f64::from(n) / 8.0)),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        let members =
            prop::collection::vec((prop::sample::select(NAMES.to_vec()), inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|m| Value::Object(
                m.into_iter().map(|(n, v)| (n.to_owned(), v)).collect()
            )),
        ]
    })
}

/// Names of [`standard_schema`] and [`small_value`].
const FEW: [&str; 3] = ["a", "b", "ab"];

/// A schema in the words of the standard, without circles, so that another validator can judge it too.
pub(crate) fn standard_schema() -> impl Strategy<Value = Value> {
    (standard_part(), standard_leaf(), standard_leaf()).prop_map(|(root, a, b)| match root {
        Value::Object(mut members) => {
            members.insert("$defs".to_owned(), json!({"A": a, "B": b}));
            Value::Object(members)
        }
        other => other,
    })
}

fn standard_leaf() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "string", "integer", "number", "boolean", "null", "array", "object",
    ]);
    prop_oneof![
        3 => word.clone().prop_map(|word| json!({"type": word})),
        1 => prop::collection::vec(word, 2).prop_map(|words| {
            if words[0] == words[1] { json!({"type": words[0]}) } else { json!({"type": words}) }
        }),
        1 => prop::collection::vec(small_value(), 1..4).prop_map(|values| json!({"enum": values})),
        1 => small_value().prop_map(|value| json!({"const": value})),
        1 => prop::sample::select(vec![
            json!(true), json!(false), json!({}), json!({"minLength": 1}), json!({"maxLength": 1}),
            json!({"pattern": "^\\w$"}), json!({"minimum": 1}), json!({"maximum": 1}),
            json!({"exclusiveMinimum": 0}), json!({"exclusiveMaximum": 1}), json!({"multipleOf": 2}),
            json!({"multipleOf": 0.5}), json!({"minItems": 1}), json!({"maxItems": 1}),
            json!({"uniqueItems": true}), json!({"minProperties": 1}), json!({"maxProperties": 1}),
            json!({"propertyNames": {"maxLength": 1}}), json!({"dependentRequired": {"a": ["b"]}}),
        ]),
    ]
}

fn standard_part() -> impl Strategy<Value = Value> {
    let reference = prop::sample::select(vec!["#/$defs/A", "#/$defs/B"])
        .prop_map(|reference| json!({"$ref": reference}));
    prop_oneof![4 => standard_leaf(), 1 => reference].prop_recursive(3, 24, 4, |inner| {
        let parts = prop::collection::vec(inner.clone(), 1..4);
        let name = prop::sample::select(FEW.to_vec());
        let properties = prop::collection::btree_map(name.clone(), inner.clone(), 0..3);
        let required = prop::sample::subsequence(FEW.to_vec(), 0..2);
        prop_oneof![
            4 => (properties, required, inner.clone(), any::<bool>()).prop_map(|(properties, required, rest, patterns)| {
                let named = if patterns { json!({"^a": {"type": "integer"}}) } else { json!({}) };
                json!({"properties": properties, "required": required, "additionalProperties": rest, "patternProperties": named})
            }),
            1 => (parts.clone(), inner.clone()).prop_map(|(firsts, items)| json!({"prefixItems": firsts, "items": items})),
            1 => inner.clone().prop_map(|item| json!({"contains": item})),
            1 => inner.clone().prop_map(|part| json!({"not": part})),
            2 => parts.clone().prop_map(|parts| json!({"anyOf": parts})),
            2 => parts.clone().prop_map(|parts| json!({"oneOf": parts})),
            1 => parts.prop_map(|parts| json!({"allOf": parts})),
            1 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| json!({"if": a, "then": b, "else": c})),
            1 => (name, inner).prop_map(|(name, part)| json!({"dependentSchemas": {name: part}})),
        ]
    })
}

/// A value of the kind that [`standard_schema`] asks for.
pub(crate) fn small_value() -> impl Strategy<Value = Value> {
    let leaf = prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(1.0),
        json!(2),
        json!(0.5),
        json!(""),
        json!("a"),
        json!("ab"),
        json!("é"),
        json!([]),
        json!({}),
    ]);
    leaf.prop_recursive(2, 8, 3, |inner| {
        let name = prop::sample::select(FEW.to_vec());
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            2 => prop::collection::btree_map(name, inner, 0..3).prop_map(|members| json!(members)),
        ]
    })
}
