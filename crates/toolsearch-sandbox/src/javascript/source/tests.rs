//! What models send, and what the engine gets.

use super::*;

fn check(source: &str, expected: &str) {
    let normalized = normalize(source);
    assert_eq!(normalized.text, expected, "from {source:?}");
    assert_eq!(normalized.original, source);
}

#[test]
fn a_fence_around_everything_goes_and_lines_stay() {
    check("```js\nreturn 1;\n```", "\nreturn 1;");
    check("```javascript\r\nreturn 1;\r\n```\r\n", "\nreturn 1;\r");
    check("```\nreturn 1;\n```\n", "\nreturn 1;");
    check("\n  ~~~ts\nreturn 1\n~~~", "\n  \nreturn 1");
    check("```js\nreturn 1;", "\nreturn 1;");
    check("return '```';", "return '```';");
    check("const s = `a`;\nreturn s", "const s = `a`;\nreturn s");
}

#[test]
fn module_forms_become_expressions_of_the_same_length() {
    check(
        "export default async () => 5;",
        ";0,            async () => 5;",
    );
    check(
        "const x = 1\nexport default { x }",
        "const x = 1\n;0,            { x }",
    );
    check(
        "module.exports = async () => 5",
        ";0,              async () => 5",
    );
    check("module.exports == 1", "module.exports == 1");
    check(
        "export const a = 1;\nreturn a",
        "       const a = 1;\nreturn a",
    );
    check("exported = 1", "exported = 1");
    check(
        "const t = `\nexport default x\n`",
        "const t = `\nexport default x\n`",
    );
}

#[test]
fn a_lone_function_is_the_value_of_the_program() {
    check(
        "async function main() { return 5 }",
        "async function main() { return 5 }\n;main",
    );
    let named = "async function main() {}";
    check(
        &format!("export default {named}"),
        &format!("{:14} {named}\n;main", ""),
    );
    check(
        "// note\nfunction go() {\n  return 1;\n}\n",
        "// note\nfunction go() {\n  return 1;\n}\n\n;go",
    );
    check(
        "async function () { return 5 }",
        "0,async function () { return 5 }",
    );
    check(
        "function a() {}\nfunction b() {}",
        "function a() {}\nfunction b() {}",
    );
    check(
        "function a() { return 1 }\nreturn a()",
        "function a() { return 1 }\nreturn a()",
    );
    check("function a() {", "function a() {");
}

#[test]
fn nothing_panics_on_odd_text() {
    for text in [
        "",
        "}",
        "`${",
        "/",
        "'",
        "export",
        "export default",
        "```",
        "~~~\n",
        "é".repeat(9).as_str(),
        "\u{feff}return 1",
        "async function é() {}",
    ] {
        let normalized = normalize(text);
        assert!(normalized.text.lines().count() <= text.lines().count() + 1);
    }
}
