//! What a model reads of a result.

use std::sync::Arc;

use serde_json::{Value, json};
use toolsearch::mode::Rendered;

use crate::answer::text;

fn check(content: Value, structured: Option<Value>, is_error: bool, expected: &str) {
    let mut rendered = Rendered::default();
    rendered.content = content.as_array().expect("a list").clone();
    rendered.structured = structured.map(Arc::new);
    rendered.is_error = is_error;
    assert_eq!(text(&rendered), expected);
}

#[test]
fn content_wins_and_structure_stands_in_for_it() {
    let words = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    check(words.clone(), Some(json!({"c": 1})), false, "a\nb");
    check(json!([]), Some(json!({"c": 1})), false, "{\"c\":1}");
    check(json!([]), None, false, "(no output)");
    check(words, None, true, "Error: a\nb");
    check(
        json!([]),
        None,
        true,
        "Error: the call failed and says no more.",
    );
    let told = json!([{"type": "text", "text": "Error: no"}]);
    check(told, None, true, "Error: no");
}

#[test]
fn what_is_no_text_is_noted_with_kind_and_size() {
    let cases = [
        (
            json!({"type": "image", "mimeType": "image/png", "data": "aGVsbG8="}),
            "[image image/png, 5 bytes]",
        ),
        (json!({"type": "audio", "data": ""}), "[audio, 0 bytes]"),
        (
            json!({"type": "resource_link", "name": "plan", "uri": "file:///plan.md"}),
            "[resource plan file:///plan.md]",
        ),
        (
            json!({"type": "resource", "resource": {"text": "inside"}}),
            "inside",
        ),
        (
            json!({"type": "resource", "resource": {"uri": "x:y", "blob": "aGk="}}),
            "[resource x:y, 2 bytes]",
        ),
        (json!({"type": "hologram"}), "[hologram]"),
        (json!(7), "[unreadable content]"),
    ];
    for (block, expected) in cases {
        check(json!([block]), None, false, expected);
    }
}
