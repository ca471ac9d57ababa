//! Programs that fail, and what they are told.

use super::*;

#[test]
fn reaching_for_what_is_not_there() {
    fails(
        "import fs from 'fs';\nreturn fs",
        ErrorCode::SyntaxError,
        &["import", "tools.search"],
    );
    fails(
        "const axios = require('axios');",
        ErrorCode::GuestError,
        &["require", "tools.search"],
    );
    fails(
        "const r = await fetch('http://x/');\nreturn r.status;",
        ErrorCode::GuestError,
        &["fetch", "tools.search", "tools.call"],
    );
    fails(
        "return Deno.readTextFileSync('/etc/passwd');",
        ErrorCode::GuestError,
        &["Deno", "tools.search"],
    );
    fails(
        "return process.env.HOME;",
        ErrorCode::GuestError,
        &["process", "tools.search"],
    );
    fails(
        "const m = await import('node:fs')",
        ErrorCode::GuestError,
        &["import", "tools.search"],
    );
    fails(
        "const h = await search('add');",
        ErrorCode::GuestError,
        &["tools.search"],
    );
    fails(
        "return await tools.create_issue({ a: 1 })",
        ErrorCode::GuestError,
        &["tools.call(\"create_issue\""],
    );
    fails(
        "setInterval(() => {}, 1)",
        ErrorCode::GuestError,
        &["setTimeout"],
    );
    value(
        "return [typeof process, typeof require, typeof fetch, typeof Deno, typeof Bun, typeof XMLHttpRequest, typeof SharedArrayBuffer, typeof std, typeof os]",
        json!(vec!["undefined"; 9]),
    );
    value(
        "return (() => {}).constructor.constructor('return typeof process')()",
        json!("undefined"),
    );
    for shell in [
        "ls -la /workspace",
        "pwd",
        "cat package.json | grep name",
        "npm run build && npm test",
        "#!/bin/bash\necho hi\n",
        "Get-ChildItem -Path C:\\",
        "dir C:\\Users",
    ] {
        fails(
            shell,
            ErrorCode::SyntaxError,
            &["JavaScript", "tools.search"],
        );
    }
    value(
        "const date = new Date(0);\nreturn date.getTime();",
        json!(0),
    );
}

#[test]
fn syntax_errors_point_into_the_models_text() {
    let at = |source: &str, hint: &str, lines: &[u32]| {
        let error = fails(source, ErrorCode::SyntaxError, &[hint]);
        assert!(
            lines.contains(&error.line.unwrap_or(0)),
            "{source}\n{error}"
        );
        assert!(error.excerpt.is_some(), "{source}\n{error:?}");
    };
    at("const a = 1;\nif (a) {\n  return a;", "SyntaxError", &[3]);
    at("return \u{201c}hello\u{201d};", "quotes", &[1]);
    at("return 1 &lt; 2 &amp;&amp; true;", "entities", &[1]);
    at(
        "[1].map(x => await tools.call('add', { a: x, b: 1 }));",
        "async",
        &[1],
    );
    at("enum Size { Small }\nreturn 1;", "TypeScript", &[1]);
    at(
        "class A { constructor(private x: number) {} }\nreturn 1;",
        "TypeScript",
        &[1],
    );
    at("```js\nconst a = ;\nreturn a\n```", "SyntaxError", &[2]);
    at("return 1;\nconst b = ;", "SyntaxError", &[2]);
    at("return (((", "not closed", &[1]);
    at("return { a: [1, 2", "not closed", &[1]);
    fails(
        "return tools.get-structured.v2;",
        ErrorCode::GuestError,
        &["structured"],
    );
}

#[test]
fn runtime_errors_name_the_line() {
    let error = fails(
        "const a = null;\n\nreturn a.b;",
        ErrorCode::GuestError,
        &["TypeError", "line 3", "return a.b;"],
    );
    assert_eq!(error.line, Some(3));
    let error = fails(
        "throw new RangeError('own');",
        ErrorCode::GuestError,
        &["RangeError: own"],
    );
    assert_eq!(error.line, Some(1));
    assert!(error.column.is_some());
    let error = fails(
        "if (1) return undefinedName;",
        ErrorCode::GuestError,
        &["undefinedName"],
    );
    assert_eq!(error.line, Some(1));
    fails(
        "throw { toString() { throw 1 }, get message() { throw 1 } }",
        ErrorCode::GuestError,
        &["without a readable message"],
    );
    fails("throw 'just text'", ErrorCode::GuestError, &["just text"]);
    fails("throw null", ErrorCode::GuestError, &["null"]);
    fails("JSON.parse('{')", ErrorCode::GuestError, &["SyntaxError"]);
}

#[test]
fn memory_and_stack_are_limited() {
    for bomb in [
        "const a = []; for (;;) a.push('x'.repeat(100000) + a.length)",
        "const a = []; for (;;) a.push(new Uint8Array(16 << 20).fill(1))",
        "return Array.from({ length: 3e7 }, (_, i) => -i).sort((a, b) => a - b).length",
        "const it = { [Symbol.iterator]() { return { next() { return { done: false, value: 1 } } } } }; return [...it].length",
        "let s = []; for (;;) s = [s, s.slice()]",
    ] {
        fails(bomb, ErrorCode::OutOfMemory, &["memory"]);
    }
    value(
        "let d = 0; function f() { d++; f() } try { f() } catch (e) { return e.name }",
        json!("RangeError"),
    );
    value(
        "try { return new RegExp('('.repeat(200000) + ')'.repeat(200000)).source.length } catch (e) { return e.name }",
        json!("SyntaxError"),
    );
    value(
        "try { return eval('['.repeat(100000) + ']'.repeat(100000)).length } catch (e) { return e.name }",
        json!("RangeError"),
    );
}

/// Raises the flag when the program logs.
#[derive(Debug)]
struct StopOnLog(StopFlag);

impl Bridge for StopOnLog {
    fn call(&mut self, _: &GuestCall<'_>) -> Result<(), BridgeClosed> {
        Err(BridgeClosed)
    }

    fn sleep(&mut self, _: u32, _: u64) -> Result<(), BridgeClosed> {
        Err(BridgeClosed)
    }

    fn log(&mut self, _: LogLine) -> Result<(), BridgeClosed> {
        self.0.raise();
        Ok(())
    }

    fn receive(&mut self) -> Result<GuestAnswer, BridgeClosed> {
        Err(BridgeClosed)
    }
}

#[test]
fn the_stop_flag_ends_a_busy_program() {
    for (source, line) in [
        ("console.log(1);\nwhile (true) {}", Some(1)),
        (
            "console.log(1);\nfor (;;) { try { for (;;) {} } catch {} finally { continue } }",
            Some(1),
        ),
        ("await null;\nconsole.log(1);\nwhile (true) {}", None),
        ("console.log(1); for (;;) await null", None),
        (
            "console.log(1); const f = () => Promise.resolve().then(f); await f()",
            None,
        ),
        (
            "console.log(1); return /^(a+)+$/.test('a'.repeat(40) + 'b')",
            Some(1),
        ),
        ("console.log(1); return { get x() { for (;;) {} } }", None),
    ] {
        let mut engine = QuickJs::new();
        engine.prepare().unwrap();
        let stop = StopFlag::new();
        let bridge = Box::new(StopOnLog(stop.clone()));
        let program = GuestProgram::new(source, 0, 0);
        let outcome = engine.run(&program, &Limits::default(), &stop, bridge);
        let GuestOutcome::Failed(error) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(error.code, ErrorCode::Timeout, "{source}");
        assert!(line.is_none() || error.line >= line, "{source}\n{error}");
    }
}
