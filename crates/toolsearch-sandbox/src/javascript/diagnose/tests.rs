//! Habits, one line each.

use super::{habits::*, *};
use crate::javascript::normalize;

#[test]
fn shell_text_is_recognised_and_programs_are_not() {
    for text in [
        "ls -la /x",
        "pwd",
        "cat a | grep b",
        "npm run build && npm test",
        "#!/bin/bash\necho hi",
        "Get-ChildItem -Path C:\\",
        "dir C:\\Users",
        "$ git status",
        "\n\necho hi",
    ] {
        assert!(is_shell(text), "{text}");
    }
    for text in [
        "const date = 1",
        "find(x)",
        "type = 1",
        "head = {}",
        "return 1",
        "find.me()",
        "",
        "a-b",
    ] {
        assert!(!is_shell(text), "{text}");
    }
}

#[test]
fn types_are_recognised_and_colons_are_not() {
    for line in [
        "const n: number = 4;",
        "const f = (x: number): number => x",
        "(await x) as { sum: number };",
        "return r!.sum;",
        "interface A {",
        "type A = string",
        "let m: Foo = x",
        "private x = 1",
    ] {
        assert!(is_typescript(line), "{line}");
    }
    for line in [
        "a ? b : c",
        "{ a: 1, b: x }",
        "x != y",
        "if (!a) b",
        "a < b",
        "!(x)",
    ] {
        assert!(!is_typescript(line), "{line}");
    }
}

#[test]
fn awaits_outside_async_functions() {
    assert!(awaits_outside_async("[1].map(x => await f(x))"));
    assert!(awaits_outside_async("function f() { await g() }"));
    assert!(!awaits_outside_async("[1].map(async x => await f(x))"));
    assert!(!awaits_outside_async("const r = await f("));
}

#[test]
fn the_place_is_the_models_own() {
    assert_eq!(place("at program.js:3:7\n", 14), Some((3, Some(7))));
    assert_eq!(
        place("at <anonymous> (program.js:1:20)", 14),
        Some((1, Some(6)))
    );
    assert_eq!(place("at native", 0), None);
    assert_eq!(excerpt("a\n  b c \n", 2).as_deref(), Some("b c"));
    let thrown = Thrown {
        name: "SyntaxError".into(),
        message: "x".into(),
        stack: "at program.js:9:1".into(),
        why: Why::Parsing,
        ..Thrown::default()
    };
    let error = read(&thrown, &normalize("a\nb {"), 0);
    assert_eq!(
        (error.line, error.excerpt.as_deref()),
        (Some(2), Some("b {"))
    );
}

#[test]
fn unknown_helpers_are_named() {
    assert!(
        unknown_helper("await tools.create_issue({})")
            .unwrap()
            .contains("create_issue")
    );
    assert!(
        unknown_helper("tools['get-x.v2']({})")
            .unwrap()
            .contains("tools.call(\"get-x.v2\"")
    );
    assert_eq!(unknown_helper("tools[name]()"), None);
    assert_eq!(unknown_helper("await tools.search(x)"), None);
}
