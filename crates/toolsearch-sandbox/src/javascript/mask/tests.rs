//! What counts as code.

use super::*;

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    let code = Mask::new(text).code_only(text);
    assert_eq!(code.len(), text.len(), "{text}");
    assert_eq!(code.lines().count(), text.lines().count(), "{text}");
    assert_eq!(
        code.split_whitespace().collect::<Vec<_>>(),
        expected,
        "{text}"
    );
}

#[test]
fn strings_comments_templates_and_patterns_are_no_code() {
    check("a 'b' c", &["a", "c"]);
    check(r#"a "b\" x" c"#, &["a", "c"]);
    check("a // b\nc", &["a", "c"]);
    check("a /* b\n b */ c", &["a", "c"]);
    check("a `x ${ b + `${c}` } y` d", &["a", "b", "+", "c", "d"]);
    check("x = /a'b[/]/; y", &["x", "=", ";", "y"]);
    check("a / b / c", &["a", "/", "b", "/", "c"]);
    check("return /x/.test(y)", &["return", ".test(y)"]);
    check("#!/bin/sh\na", &["a"]);
    check("'open\na", &["a"]);
}

#[test]
fn brackets_are_counted_in_code_only() {
    let text = "f({ a: '}' }) x";
    let mask = Mask::new(text);
    assert_eq!(mask.depth(text.find('x').unwrap()), 0);
    assert_eq!(mask.depth(text.find('a').unwrap()), 2);
    let mask = Mask::new("}}} a");
    assert_eq!(mask.depth(4), 0);
}
