//! What counts as a program, and what it says.

use super::*;

#[test]
fn the_three_lines_of_the_manual() {
    value(
        "const hits = await openclaw.tools.search('create an issue');
         const tool = await openclaw.tools.describe(hits[0].id);
         return await openclaw.tools.call(tool.id, { a: 2, b: 3 });",
        json!({ "tool": { "id": "t" }, "result": { "structuredContent": { "sum": 5 } } }),
    );
}

#[test]
fn forms_of_a_program() {
    let call = "const r = await tools.call('t:add', { a: 2, b: 3 });";
    for source in [
        format!("```js\n{call}\nreturn r.sum;\n```\n"),
        format!("```\r\n{call}\r\nreturn r.sum;\r\n```\r\n"),
        format!("export default async () => {{\n{call}\nreturn r.sum;\n}};"),
        format!("async () => {{\n{call}\nreturn r.sum;\n}}"),
        format!("(async () => {{\n{call}\nreturn r.sum;\n}})();"),
        format!("return (async () => {{ {call} return r.sum; }})();"),
        format!("export default async function main() {{ {call} return r.sum; }}"),
        format!("async function main() {{ {call} return r.sum; }}"),
        format!("async function main() {{ {call} return r.sum; }}\nmain();"),
        format!("async function () {{ {call} return r.sum; }}"),
        format!("module.exports = async () => {{ {call} return r.sum; }}"),
        format!("async ({{ tools }}) => {{ {call} return r.sum; }}"),
        "async (openclaw) => (await openclaw.tools.call('x', { a: 4, b: 1 })).sum".to_owned(),
        format!("{call}\nr.sum"),
        format!(
            "const openclaw = globalThis.openclaw, tools = openclaw.tools;\n{call}\nreturn r.sum"
        ),
        format!("const {{ tools }} = openclaw; {call} return r.sum;"),
    ] {
        value(&source, json!(5));
    }
    value("({ ok: true, n: 1 })", json!({ "ok": true, "n": 1 }));
    value(
        "const a = 1;\nconst o = { k: a ? { x: 1 } : { y: 2 }, 'b:c': 3 };\nlabel: for (;;) { break label; }\nreturn o;",
        json!({ "k": { "x": 1 }, "b:c": 3 }),
    );
    value("x = 5; return x", json!(5));
}

#[test]
fn nothing_returned_is_said() {
    for source in [
        "return undefined;",
        "console.log('total', 5);",
        "",
        "const a = 1",
    ] {
        let GuestOutcome::Nothing { hints } = run(source) else {
            panic!("{source}")
        };
        assert!(hints[0].contains("no value returned"), "{hints:?}");
    }
    let (_, seen) = run_with("console.log('total', 5);", &Limits::default(), false);
    assert_eq!(seen.logs, ["total 5"]);
}

#[test]
fn the_console_has_its_usual_functions() {
    let (_, seen) = run_with(
        "console.error('e'); console.warn('w'); console.info({ a: [1, { b: 2 }] }); console.table([[1]]); console.debug(undefined, null, 1n); console.log(new TypeError('t'), () => 1, [undefined]); console.group('g'); console.groupEnd(); console.assert(false, 'no')",
        &Limits::default(),
        false,
    );
    assert_eq!(
        seen.logs,
        [
            "e",
            "w",
            "{\"a\":[1,{\"b\":2}]}",
            "[[1]]",
            "undefined null \"1\"",
            "TypeError: t \"[Function]\" [null]",
            "g",
            "Assertion failed: no"
        ]
    );
}
