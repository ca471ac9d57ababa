//! Tests of `json5`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn value(text: &str) -> Value {
    match Document::parse(text, "t") {
        Ok(document) => document.root().to_json(),
        Err(error) => panic!("{text}: {error}"),
    }
}

fn fault(text: &str) -> String {
    Document::parse(text, "t").expect_err(text).to_string()
}

#[test]
fn json5_is_read() {
    let check = |text: &str, expected: Value| assert_eq!(value(text), expected, "{text}");
    check("", json!({}));
    check(" // nothing yet\n/* really */", json!({}));
    check("{}", json!({}));
    check("[1, 2, 3,]", json!([1, 2, 3]));
    check(
        "{a: 1, 'b c': 2, \"d\": 3, $e_1: 4, ü: 5,}",
        json!({"a":1,"b c":2,"d":3,"$e_1":4,"ü":5}),
    );
    check("{\\u0061b: 1, true: 2}", json!({"ab": 1, "true": 2}));
    check(
        "/* a */ { // b\n a /* c */ : /* d */ [ /* e */ ] // f\n } // g",
        json!({"a": []}),
    );
    check("'it\\'s \"fine\"'", json!("it's \"fine\""));
    check("'a\\\nb\\\r\nc'", json!("abc"));
    check(
        r#""\x41\u00fc\ud83d\ude00\0\b\f\n\r\t\v\a\/""#,
        json!("A\u{fc}😀\0\u{8}\u{c}\n\r\t\u{b}a/"),
    );
    check(r#""C:\\Users\\Ann\\""#, json!("C:\\Users\\Ann\\"));
    check(
        "[0, -1, +2, .5, 5., 1e3, -1.5E-2]",
        json!([0, -1, 2, 0.5, 5.0, 1000.0, -0.015]),
    );
    check(
        "[0xff, -0X10, 9223372036854775807]",
        json!([255, -16, i64::MAX]),
    );
    check("[18446744073709551615]", json!([18446744073709551615.0]));
    check(
        "[Infinity, -Infinity, NaN, +NaN]",
        json!([null, null, null, null]),
    );
    check("[true, false, null]", json!([true, false, null]));
    check("\u{feff}{\u{a0}a:\u{2028}1}", json!({"a": 1}));
}

#[test]
fn what_is_not_json5_says_where_and_why() {
    let check = |text: &str, place: &str, words: &str| {
        let message = fault(text);
        assert!(
            message.starts_with(&format!("t:{place}: ")),
            "{text:?}: {message}"
        );
        assert!(message.contains(words), "{text:?}: {message}");
    };
    check(
        "{a: tools}",
        "1:5",
        "`tools` is no value; a string needs quotes",
    );
    check(
        "{\n  a: 1\n  b: 2\n}",
        "3:3",
        "expected `,` or `}`, found `b`",
    );
    check("{a 1}", "1:4", "expected `:` after key `a`");
    check("{a-b: 1}", "1:3", "needs quotes");
    check("{,}", "1:2", "expected a key");
    check("[1,,2]", "1:4", "expected a value");
    check("{a: 'x\n'}", "1:5", "not closed");
    check("{a: \"x", "1:5", "not closed");
    check("{a: 1", "1:6", "the end of the file");
    check("{} {}", "1:4", "expected the end of the file");
    check("/* a", "1:1", "never closed");
    check("{a: '\\u12'}", "1:6", "4 hex digits");
    check("{a: 'C:\\users'}", "1:8", "double the backslash");
    check("'\\ud83d'", "1:2", "surrogate");
    check("'\\1'", "1:2", "digit");
    check("012", "1:1", "no number");
    check("1e", "1:1", "no number");
    check("0x", "1:1", "no number");
    check("1.2.3", "1:1", "no number");
    check("12px", "1:1", "no number");
    check("-", "1:1", "no number");
    check("ünï: 1", "1:1", "no value");
    check("\u{feff}\r\n\r\n{é: x}", "3:5", "no value");
}

#[test]
fn a_key_that_stands_twice_names_both_lines() {
    let message = fault("{\n  a: { b: 1,\n    'b': 2 },\n  a: 3 }");
    assert!(
        message.contains("t:3:5: a.b: key stands twice, on line 2 and on line 3"),
        "{message}"
    );
    assert!(
        message.contains("t:4:3: a: key stands twice, on line 2 and on line 4"),
        "{message}"
    );
}

#[test]
fn depth_and_size_are_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(Document::parse(&nested(MAX_DEPTH), "t").is_ok());
    assert!(fault(&nested(MAX_DEPTH + 1)).contains("64 levels"));
    assert!(fault(&"[".repeat(1_000_000)).contains("64 levels"));
    let large = " ".repeat(MAX_FILE_BYTES + 1);
    assert!(matches!(
        Document::parse(&large, "t"),
        Err(ConfigError::TooLarge { .. })
    ));
}

#[test]
fn spans_cover_what_was_written() {
    let text = "\u{feff}{ 'a' : [ 1, \"zwei\" ], }";
    let document = Document::parse(text, "t").expect("valid");
    let member = document.root().member("a").expect("a");
    assert_eq!(&text[member.key_span.clone()], "'a'");
    assert_eq!(&text[member.value.span.clone()], "[ 1, \"zwei\" ]");
    let word = member.value.item(1).expect("second");
    assert_eq!(&text[word.span.clone()], "\"zwei\"");
    assert_eq!(
        document.position(word.span.start),
        Position {
            line: 1,
            column: 14
        }
    );
    assert_eq!(document.position(usize::MAX).line, 1);
}

#[test]
fn a_document_does_not_print_its_text() {
    let document = Document::parse("{token: 'hunter2'}", "t").expect("valid");
    assert!(!format!("{document:?}").contains("hunter2"));
}

pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1_000_000i32..1_000_000).prop_map(|n| Value::from(f64::from(n) / 8.0 + 0.0625)),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn json_reads_as_itself(expected in any_value()) {
        prop_assert_eq!(value(&expected.to_string()), expected.clone());
        let pretty = serde_json::to_string_pretty(&expected).expect("json");
        prop_assert_eq!(value(&pretty), expected);
    }

    #[test]
    fn no_text_panics(text in any::<String>()) {
        let _ = Document::parse(&text, "t");
    }

    #[test]
    fn no_likely_text_panics(text in "[\\[\\]{},:'\"\\\\/*\n\r ua0x1.e+-]{0,40}") {
        if let Ok(document) = Document::parse(&text, "t") {
            document.root().to_json();
        }
    }
}
