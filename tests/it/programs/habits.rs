//! How models write programs, and what they reach for.

use serde_json::json;

use super::world::World;

/// COD-01, COD-03: what stands around a program.
#[test]
fn wrappings_are_taken_off() {
    let world = World::new();
    let body =
        "const { sum } = await tools.callValue('add_numbers', { a: 40, b: 2 });\nreturn sum;";
    for info in ["js", "javascript", "ts", "typescript", ""] {
        for (newline, end) in [("\n", ""), ("\r\n", "\r\n"), ("\n", "\n\n")] {
            let fenced = format!("```{info}\n{body}\n```{end}").replace('\n', newline);
            assert_eq!(world.value(&fenced), 42, "{fenced:?}");
        }
    }
    let inner = "const reply = await tools.call('add_numbers', { a: 40, b: 2 }); return reply.sum;";
    for code in [
        format!("async () => {{ {inner} }}"),
        format!("async function run() {{ {inner} }}"),
        format!("export default async () => {{ {inner} }};"),
        format!("export default async function main() {{ {inner} }}"),
        format!("module.exports = async () => {{ {inner} }}"),
        format!("(async () => {{ {inner} }})();"),
        format!("return (async () => {{ {inner} }})();"),
        format!("const openclaw = globalThis.openclaw;\n{inner}"),
    ] {
        assert_eq!(world.value(&code), 42, "{code}");
    }
}

/// COD-05: a forgotten `return`.
#[test]
fn a_last_expression_is_taken_and_nothing_is_said() {
    let world = World::new();
    for (code, value) in [
        ("const n = 41;\nn + 1", json!(42)),
        ("({ fine: true, n: 1 })", json!({ "fine": true, "n": 1 })),
        (
            "await tools.callValue('add_numbers', { a: 1, b: 1 });",
            json!({ "sum": 2 }),
        ),
    ] {
        let ran = world.run(code);
        assert_eq!(ran.answer["value"], value, "{code}");
        assert!(
            ran.answer.to_string().contains("return"),
            "{:#}",
            ran.answer
        );
    }
    for code in ["console.log('in all', 5);", "return undefined;"] {
        let ran = world.run(code);
        assert!(!ran.is_error, "{:#}", ran.answer);
        assert!(
            ran.answer.to_string().contains("no value returned"),
            "{:#}",
            ran.answer
        );
    }
    assert_eq!(
        world.run("console.log('in all', 5)").answer["logs"],
        json!(["in all 5"])
    );
}

/// COD-06: a call that failed and that nobody looked at.
#[test]
fn a_failed_call_cannot_be_overlooked() {
    let world = World::new();
    world.error_mentions(
        "tools.call('break', { why: 'no paper' });\nreturn 'printed';",
        &["no paper", "await"],
    );
    world.error_mentions(
        "tools.callValue('break', { why: 'torn' }).then((x) => x); return 1;",
        &["torn"],
    );
    for (code, value) in [
        (
            "const all = await Promise.allSettled([tools.call('break', {}), tools.call('greeting', {})]); return all.map((one) => one.status);",
            json!(["rejected", "fulfilled"]),
        ),
        (
            "const p = tools.call('break', {}); await tools.call('greeting', {}); try { await p; } catch { return 'seen'; }",
            json!("seen"),
        ),
        (
            "try { await tools.call('break', { why: 'jam' }); } catch (e) { return e.message.includes('jam'); }",
            json!(true),
        ),
        (
            "const p = tools.call('break', {}).catch(() => 'handled'); await tools.call('greeting', {}); return p;",
            json!("handled"),
        ),
    ] {
        assert_eq!(world.value(code), value, "{code}");
    }
}

/// COD-08: types.
#[test]
fn types_are_taken_out_and_colons_stay() {
    let world = World::new();
    for (code, value) in [
        (
            "const price: number = 3;\nconst twice = (n: number): number => n * 2;\nreturn twice(price);",
            6,
        ),
        (
            "const shoe = (await tools.callValue('stock', {})) as { left: number };\nreturn shoe!.left;",
            7,
        ),
        (
            "interface Shoe { left: number }\ntype Maybe = Shoe | null;\nconst one: Maybe = { left: 1 };\nreturn one.left;",
            1,
        ),
        (
            "```ts\nasync function main(): Promise<number> {\n  return 4;\n}\n```",
            4,
        ),
    ] {
        assert_eq!(world.value(code), value, "{code}");
    }
    let late = world.error("const n: number = 1;\ntype T = string;\nnull.x as T;");
    assert_eq!(
        (&late["line"], &late["column"]),
        (&json!(3), &json!(1)),
        "{late:?}"
    );
    world.error_mentions("enum Size { Small }\nreturn Size.Small;", &["TypeScript"]);
    let colons = "const on = true;\nconst o = { k: on ? { x: 1 } : { y: 2 }, 'a:b': 3 };\nouter: for (;;) { break outer; }\nreturn o;";
    assert_eq!(world.value(colons), json!({ "k": { "x": 1 }, "a:b": 3 }));
}

/// COD-10: what is not there.
#[test]
fn what_is_missing_is_named() {
    let world = World::new();
    for (code, word) in [
        ("import path from 'node:path';\nreturn path.sep;", "import"),
        (
            "const { readFile } = await import('node:fs/promises');\nreturn 1;",
            "import",
        ),
        ("const os = require('os');\nreturn os.cpus();", "require"),
        (
            "return (await fetch('http://127.0.0.1:1/')).status;",
            "fetch",
        ),
        ("return Deno.cwd();", "Deno"),
        ("return process.env.PATH;", "process"),
        ("return Buffer.from('x').length;", "Buffer"),
    ] {
        world.error_mentions(code, &[word, "tools."]);
    }
    let kinds = "return [typeof process, typeof require, typeof fetch, typeof Deno, typeof Bun, typeof Buffer];";
    assert_eq!(world.value(kinds), json!(vec!["undefined"; 6]));
    assert_eq!(
        world.value("await new Promise((go) => setTimeout(go, 15)); return 'rested';"),
        "rested"
    );
}

/// COD-12: commands for a shell.
#[test]
fn commands_are_refused_in_words() {
    let world = World::new();
    for code in [
        "ls -l /var",
        "pwd",
        "cat notes.txt | grep shoe",
        "npm install && npm run lint",
        "#!/bin/sh\necho hello",
        "Get-ChildItem -Recurse",
        "dir C:\\Temp",
    ] {
        let error = world.error_mentions(code, &["JavaScript", "tools.search"]);
        assert!(
            !error["message"].as_str().unwrap().contains("program.js"),
            "{error:?}"
        );
    }
    assert_eq!(
        world.value("const date = new Date(5);\nreturn date.getTime();"),
        5
    );
}

/// COD-18, COD-19: names of tools and of the helpers.
#[test]
fn tools_and_helpers_are_found_by_every_name() {
    let world = World::new();
    let id = "return (await tools.callValue('read-report.v2/page', { page: 3 })).page;";
    assert_eq!(world.value(id), 3);
    let server = "return (await servers.kit['read-report.v2/page']({ page: 4 })).page;";
    assert_eq!(world.value(server), 4);
    world.error_mentions(
        "return tools['read-report.v2/page']({ page: 3 });",
        &["tools.call"],
    );
    for code in [
        "const hits = await tools.search('add numbers'); return hits.length > 0 && typeof hits[0].id === 'string';",
        "const hits = await tools.search({ query: 'add', limit: 1 }); return hits.length === 1;",
        "const hits = await openclaw.tools.search('add', { limit: 2 }); return hits.length <= 2;",
    ] {
        assert_eq!(world.value(code), true, "{code}");
    }
    world.error_mentions("return search('add');", &["tools.search"]);
    let chain = "const [hit] = await tools.search('add two numbers');\nconst tool = await tools.describe(hit.id);\nreturn (await tools.call(tool.id, { a: 19, b: 23 })).sum;";
    assert_eq!(world.value(chain), 42);
}

/// COD-19: the printed example is a program.
#[test]
fn the_example_of_the_description_runs() {
    let world = World::new();
    let description = world.description();
    let (_, example) = description.split_once("Example:\n").unwrap();
    let example = example.split("\nTools of:").next().unwrap();
    let code = example
        .replace("create github issue", "take a photo")
        .replace("title: \"Crash\"", "");
    assert_ne!(code, example, "the example changed");
    let value = world.value(&code);
    assert_eq!(value[0]["text"], "a photo");
}

/// COD-24: errors point into the model's own text.
#[test]
fn syntax_errors_name_line_and_cause() {
    let world = World::new();
    let brace = world.error("const n = 1;\nif (n) {\n  return n;");
    assert_eq!(
        (&brace["code"], &brace["line"]),
        (&json!("syntax_error"), &json!(3))
    );
    let curly = world.error_mentions("return “soon”;", &["quotes"]);
    assert_eq!(curly["line"], 1);
    world.error_mentions("return 3 &gt; 2 &amp;&amp; true;", &["entities"]);
    world.error_mentions(
        "[1, 2].map((n) => await tools.call('greeting', { n }));",
        &["async"],
    );
    let thrown = world.error("const n = 1;\n\nnull.x;");
    assert_eq!(thrown["line"], 3);
}
