//! Tests of `walk`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::any_schema;

fn walked(schema: &Value) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for_each_parameter(schema, &WalkLimits::default(), &mut |parameter| {
        let mut text = parameter.name.to_owned();
        for part in parameter.title.into_iter().chain(parameter.description) {
            text.push_str(&format!(" ({part})"));
        }
        for value in parameter.values {
            text.push_str(&format!(" ={value}"));
        }
        found.push((parameter.depth, text));
    });
    found
}

fn pairs(expected: &[(usize, &str)]) -> Vec<(usize, String)> {
    expected
        .iter()
        .map(|(depth, text)| (*depth, (*text).to_owned()))
        .collect()
}

#[test]
fn parameters_are_found_in_all_the_places_where_schemas_hide_them() {
    let schema = json!({
        "properties": {
            "title": {"type": "string", "description": "short name"},
            "state": {"enum": ["open", "closed", 3]},
            "rows": {"type": "array", "items": {"properties": {"cell": {"title": "Cell"}}}},
            "by": {"$ref": "#/$defs/Person"},
            "kinds": {"type": "array", "items": {"enum": ["a"]}},
            "required": ["title"]},
        "anyOf": [{"properties": {"left": {}}}, {"allOf": [{"properties": {"right": true}}]}],
        "$defs": {"Person": {"description": "who did it", "properties": {"mail": {"const": "x@y"}}}},
    });
    assert_eq!(
        walked(&schema),
        pairs(&[
            (1, "title (short name)"),
            (1, "state =open =closed"),
            (1, "rows"),
            (2, "cell (Cell)"),
            (1, "by (who did it)"),
            (2, "mail =x@y"),
            (1, "kinds =a"),
            (1, "left"),
            (1, "right")
        ]),
    );
}

#[test]
fn depth_cycles_and_size_are_bounded() {
    let mut deep = json!({});
    for level in 0..8 {
        deep = json!({"properties": {format!("l{level}"): deep}});
    }
    assert_eq!(walked(&deep).len(), 4);
    let circular = json!({"properties": {"child": {"$ref": "#"}, "name": {}}});
    assert_eq!(
        walked(&circular),
        pairs(&[(1, "child"), (2, "child"), (2, "name"), (1, "name")])
    );
    let wide: serde_json::Map<String, Value> =
        (0..5_000).map(|n| (format!("p{n}"), json!({}))).collect();
    assert!(walked(&json!({"properties": wide})).len() <= 2_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_schema_can_be_walked(schema in any_schema()) {
        let limits = WalkLimits { max_nodes: 100, ..WalkLimits::default() };
        let mut count = 0;
        for_each_parameter(&schema, &limits, &mut |parameter| {
            count += 1;
            assert!(parameter.depth <= 4 && !parameter.name.is_empty());
        });
        prop_assert!(count <= 100);
    }
}
