//! Programs in the engine alone, with a host that answers from a table.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use serde_json::{Value, json};
use toolsearch_sandbox::*;

use crate::QuickJs;

/// What the fake host saw.
#[derive(Debug, Default)]
struct Seen {
    calls: Vec<(String, Value)>,
    logs: Vec<String>,
    most_open: usize,
}

#[derive(Debug, Default)]
struct Table {
    seen: Rc<RefCell<Seen>>,
    open: VecDeque<GuestAnswer>,
    reverse: bool,
}

impl Bridge for Table {
    fn call(&mut self, call: &GuestCall<'_>) -> Result<(), BridgeClosed> {
        let args: Value = serde_json::from_str(call.args).unwrap();
        let answer = reply(call.method, &args);
        let mut seen = self.seen.borrow_mut();
        seen.calls.push((call.method.to_owned(), args));
        self.open
            .push_back(GuestAnswer::new(call.id, 0, answer.map(|v| v.to_string())));
        seen.most_open = seen.most_open.max(self.open.len());
        Ok(())
    }

    fn sleep(&mut self, id: u32, ms: u64) -> Result<(), BridgeClosed> {
        self.open
            .push_back(GuestAnswer::new(id, ms, Ok("null".into())));
        Ok(())
    }

    fn log(&mut self, line: LogLine) -> Result<(), BridgeClosed> {
        self.seen.borrow_mut().logs.push(line.text);
        Ok(())
    }

    fn receive(&mut self) -> Result<GuestAnswer, BridgeClosed> {
        let next = if self.reverse {
            self.open.pop_back()
        } else {
            self.open.pop_front()
        };
        next.ok_or(BridgeClosed)
    }
}

fn reply(method: &str, args: &Value) -> Result<Value, HostError> {
    match (method, args["id"].as_str()) {
        ("search", _) => Ok(json!([{ "id": "t:add", "name": "add" }])),
        ("describe", Some(id)) => Ok(json!({ "id": id })),
        (_, Some("fail")) => Err(HostError::new(ErrorCode::ToolError, "disk full")),
        (_, Some("denied")) => Err(HostError::new(ErrorCode::PolicyDenied, "not allowed")),
        (_, Some("text")) => Ok(wrap(
            json!({ "content": [{ "type": "text", "text": "plain words" }] }),
        )),
        (_, Some("json")) => Ok(wrap(
            json!({ "content": [{ "type": "text", "text": "{\"items\":[1,2]}" }] }),
        )),
        (_, Some("bad")) => Ok(wrap(
            json!({ "isError": true, "content": [{ "type": "text", "text": "E42" }] }),
        )),
        (_, Some("echo")) => Ok(wrap(json!({ "structuredContent": args["args"].clone() }))),
        _ => {
            let sum =
                args["args"]["a"].as_i64().unwrap_or(0) + args["args"]["b"].as_i64().unwrap_or(0);
            Ok(wrap(json!({ "structuredContent": { "sum": sum } })))
        }
    }
}

fn wrap(result: Value) -> Value {
    json!({ "tool": { "id": "t" }, "result": result })
}

fn run_with(source: &str, limits: &Limits, reverse: bool) -> (GuestOutcome, Seen) {
    let mut engine = QuickJs::new();
    engine.prepare().unwrap();
    let seen = Rc::new(RefCell::new(Seen::default()));
    let bridge = Table {
        seen: seen.clone(),
        reverse,
        ..Table::default()
    };
    let program = GuestProgram::new(source, 7, 1_700_000_000_000);
    let outcome = engine.run(&program, limits, &StopFlag::new(), Box::new(bridge));
    drop(engine);
    (outcome, Rc::into_inner(seen).unwrap().into_inner())
}

fn run(source: &str) -> GuestOutcome {
    run_with(source, &Limits::default(), false).0
}

#[track_caller]
fn value(source: &str, expected: Value) {
    match run(source) {
        GuestOutcome::Value { json, .. } => {
            assert_eq!(
                serde_json::from_str::<Value>(&json).unwrap(),
                expected,
                "{source}"
            );
        }
        other => panic!("{source}\n{other:?}"),
    }
}

#[track_caller]
fn error(source: &str) -> RunError {
    match run(source) {
        GuestOutcome::Failed(error) => error,
        other => panic!("{source}\n{other:?}"),
    }
}

#[track_caller]
fn fails(source: &str, code: ErrorCode, mentions: &[&str]) -> RunError {
    let error = error(source);
    let text = error.to_string();
    assert_eq!(error.code, code, "{source}\n{text}");
    for word in mentions {
        assert!(text.contains(word), "{word:?} is not in {text:?}");
    }
    error
}

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
fn every_form_of_the_helpers() {
    value("return (await tools.search('add')).length", json!(1));
    value(
        "return (await tools.search({ query: 'add', limit: 2 })).length",
        json!(1),
    );
    value(
        "const h = await tools.search('x', { limit: 3 }); return (await tools.describe(h[0])).id",
        json!("t:add"),
    );
    value(
        "return (await tools.call({ id: 'add', args: { a: 1, b: 1 } })).sum",
        json!(2),
    );
    value("return await tools.callValue('text')", json!("plain words"));
    value(
        "return await tools.callValue('json')",
        json!({ "items": [1, 2] }),
    );
    value("return (await tools.call('json')).items.length", json!(2));
    value(
        "const r = await tools.call('text', {}); return r.text ?? r.content?.[0]?.text",
        json!("plain words"),
    );
    value(
        "return Object.keys(await tools.call('add', {}))",
        json!(["tool", "result"]),
    );
    value(
        "return (await servers.github.create_issue({ a: 1, b: 2 })).sum",
        json!(3),
    );
    value(
        "try { await tools.callValue('bad') } catch (e) { return [e.name, e.message, e.code] }",
        json!(["ToolError", "E42", "tool_error"]),
    );
    value(
        "try { await tools.call('denied') } catch (e) { return [e.name, e.message, e.code] }",
        json!(["PolicyDeniedError", "not allowed", "policy_denied"]),
    );
    value(
        "return [await tools.call(5).catch(e => e.message.includes('tools.call(id')), typeof tools.nope]",
        json!([true, "undefined"]),
    );
    let (_, seen) = run_with(
        "await tools.search('q', { limit: 2 }); await servers.a.b(); await tools.call('x', { n: 9007199254740993n })",
        &Limits::default(),
        false,
    );
    assert_eq!(
        seen.calls,
        [
            ("search".into(), json!({ "limit": 2, "query": "q" })),
            ("call".into(), json!({ "id": "a:b", "args": {} })),
            (
                "call".into(),
                json!({ "id": "x", "args": { "n": 9_007_199_254_740_993_u64 } })
            ),
        ]
    );
}

#[test]
fn failures_of_calls() {
    fails(
        "await tools.call('fail');",
        ErrorCode::ToolError,
        &["disk full", "line 1"],
    );
    let lost = fails(
        "\ntools.call('fail', { msg: 1 });\nreturn 'CLAIMED_SUCCESS';",
        ErrorCode::ToolError,
        &["disk full", "await"],
    );
    assert_eq!(lost.line, Some(2));
    fails(
        "(async () => { await tools.call('fail') })(); return 1",
        ErrorCode::ToolError,
        &["disk full"],
    );
    fails(
        "tools.call(); return 1",
        ErrorCode::GuestError,
        &["tools.call(id"],
    );
    fails(
        "await tools.call('denied')",
        ErrorCode::PolicyDenied,
        &["not allowed"],
    );
    value(
        "const r = await Promise.allSettled([tools.call('fail'), tools.call('add', {})]); return r.map(x => x.status)",
        json!(["rejected", "fulfilled"]),
    );
    value(
        "const p = tools.call('fail');\nawait tools.call('add', {});\ntry { await p; } catch (e) { return 'caught'; }",
        json!("caught"),
    );
    value(
        "await Promise.race([tools.call('add', {}), tools.call('fail')]); return 'won'",
        json!("won"),
    );
    value(
        "try { await Promise.all([tools.call('add', {}), tools.call('fail')]); } catch { return 'rejected' }",
        json!("rejected"),
    );
    let GuestOutcome::Value { hints, .. } =
        run("Promise.reject(new Error('late')); return 'returned'")
    else {
        panic!("no value")
    };
    assert!(hints[0].contains("late"), "{hints:?}");
}

#[test]
fn many_calls_are_queued_ordered_drained_and_counted() {
    let all = "const rs = await Promise.all(Array.from({ length: 100 }, (_, i) => tools.call('echo', { i }))); return rs.every((r, i) => r.i === i) ? rs.length : 'order'";
    for reverse in [false, true] {
        let (outcome, seen) = run_with(all, &Limits::default(), reverse);
        assert!(
            matches!(&outcome, GuestOutcome::Value { json, .. } if json == "100"),
            "{outcome:?}"
        );
        assert_eq!((seen.calls.len(), seen.most_open), (100, 16));
    }
    let (outcome, seen) = run_with(
        "for (let i = 0; i < 40; i++) tools.call('add', { i }); return 'x'",
        &Limits::default(),
        false,
    );
    assert!(matches!(outcome, GuestOutcome::Value { .. }));
    assert_eq!(seen.calls.len(), 40);
    for source in [
        "for (let i = 0; i < 300; i++) await tools.call('add', {});",
        "await Promise.all(Array.from({ length: 300 }, () => tools.call('add', {})))",
        "for (let i = 0; i < 300; i++) { try { await tools.call('add', {}) } catch {} } return 'survived'",
    ] {
        let (outcome, seen) = run_with(source, &Limits::default(), false);
        let GuestOutcome::Failed(error) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(error.code, ErrorCode::TooManyCalls);
        assert!(seen.calls.len() <= 256, "{}", seen.calls.len());
    }
}

#[test]
fn values_become_readable_json() {
    value(
        "return { id: 1917043659912705296n }",
        json!({ "id": "1917043659912705296" }),
    );
    value(
        "const a = { n: 1 }; a.self = a; return a",
        json!({ "n": 1, "self": "[Circular]" }),
    );
    value(
        "const a = { n: 1 }; return [a, a]",
        json!([{ "n": 1 }, { "n": 1 }]),
    );
    value(
        "return { f: () => 1, g: function go() {}, s: Symbol('x'), u: undefined, ok: 1 }",
        json!({ "f": "[Function: f]", "g": "[Function: go]", "s": "Symbol(x)", "ok": 1 }),
    );
    value(
        "return [undefined, NaN, Infinity, new Date(0), new Date(NaN), /a/g]",
        json!([null, null, null, "1970-01-01T00:00:00.000Z", null, "/a/g"]),
    );
    value(
        "return [new Map([['a', 1]]), new Map([[1, 2]]), new Set([1, 'b'])]",
        json!([{ "a": 1 }, [[1, 2]], [1, "b"]]),
    );
    value(
        "return new Error('x', { cause: 3 })",
        json!({ "name": "Error", "message": "x", "cause": 3 }),
    );
    value(
        "class P { constructor() { this.x = 1 } get y() { return 2 } } return new P()",
        json!({ "x": 1 }),
    );
    value(
        "return { get x() { throw new Error('no') }, y: 1 }",
        json!({ "x": "[Throws: no]", "y": 1 }),
    );
    value(
        "return { toJSON() { return { a: 1, t: 'done' } } }",
        json!({ "a": 1, "t": "done" }),
    );
    value(
        "return ['\\ud800x', new Uint8Array([1, 2]), Promise.resolve(1), new String('s')]",
        json!(["\u{fffd}x", [1, 2], "[Promise: not awaited]", "s"]),
    );
    value(
        "let a = []; for (let i = 0; i < 200; i++) a = [a]; return JSON.stringify(a).length > 0",
        json!(true),
    );
    value("return null", json!(null));
    let GuestOutcome::Value { json, .. } =
        run("let a = []; for (let i = 0; i < 200; i++) a = [a]; return a")
    else {
        panic!("no value")
    };
    assert!(json.contains("[Too deep]"));
    assert!(serde_json::from_str::<Value>(&json).is_ok());
}

#[test]
fn arguments_are_checked() {
    for (source, word) in [
        (
            "const a = {}; a.a = a; await tools.call('x', { k: a })",
            "args.args.k.a is circular",
        ),
        ("await tools.call('x', { n: 2n ** 70n })", "args.args.n"),
        (
            "await tools.call('x', { p: tools.call('add', {}) })",
            "await it",
        ),
    ] {
        fails(source, ErrorCode::GuestError, &[word]);
    }
    value(
        "return (await tools.call('echo', { u: undefined, f() {}, d: new Date(0), m: new Map([['k', 1]]) })).result.structuredContent",
        json!({ "d": "1970-01-01T00:00:00.000Z", "m": { "k": 1 } }),
    );
}

#[test]
fn big_output_is_cut_before_it_is_copied() {
    for source in [
        "return 'x'.repeat(5_000_000)",
        "return 'x'.repeat(20e6)",
        "return Array.from({ length: 100000 }, (_, i) => i)",
    ] {
        let GuestOutcome::Cut { head, .. } = run(source) else {
            panic!("{source}")
        };
        assert!(head.len() <= 64 << 10, "{}", head.len());
    }
    let (outcome, seen) = run_with(
        "console.log('y'.repeat(5e6)); return 1",
        &Limits::default(),
        false,
    );
    assert!(matches!(outcome, GuestOutcome::Value { .. }));
    assert!(seen.logs[0].len() < 20_000);
    let error = fails(
        "throw new Error('start ' + 'y'.repeat(5_000_000));",
        ErrorCode::GuestError,
        &["start"],
    );
    assert!(error.message.len() < 20_000);
}

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
    at("const n: number = 4;\nreturn n;", "TypeScript", &[1]);
    at(
        "const r = (await tools.call('add', {})) as { sum: number };\nreturn r!.sum;",
        "TypeScript",
        &[1],
    );
    at("```js\nconst a = ;\nreturn a\n```", "SyntaxError", &[2]);
    at("return 1;\nconst b = ;", "SyntaxError", &[2]);
    at("return (((", "SyntaxError", &[1]);
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
fn waiting_for_nothing_fails_at_once() {
    fails(
        "await new Promise(() => {})",
        ErrorCode::GuestError,
        &["never settle"],
    );
    fails(
        "return { then() {} }",
        ErrorCode::GuestError,
        &["never settle"],
    );
    fails(
        "await tools.call('add', {}); await new Promise(() => {})",
        ErrorCode::GuestError,
        &["never settle"],
    );
    fails(
        "const t = setTimeout(() => {}, 5); clearTimeout(t); await new Promise(() => {})",
        ErrorCode::GuestError,
        &["never settle"],
    );
}

#[test]
fn timers_wait_and_do_not_outlive() {
    value(
        "await new Promise(r => setTimeout(r, 20)); return 'slept'",
        json!("slept"),
    );
    value(
        "const t0 = Date.now(); await new Promise(r => setTimeout(r, 250)); return Date.now() - t0 >= 250",
        json!(true),
    );
    value(
        "setTimeout(() => { throw new Error('late') }, 5); return 1",
        json!(1),
    );
    fails(
        "for (let i = 0; i < 5000; i++) setTimeout(() => {}, 1)",
        ErrorCode::GuestError,
        &["1024 timers"],
    );
    fails(
        "setTimeout('alert(1)', 1)",
        ErrorCode::GuestError,
        &["needs a function"],
    );
}

#[test]
fn clock_and_randomness_repeat() {
    let source = "return [Math.random(), Math.random(), Date.now(), new Date().toISOString(), new Date() instanceof Date, Date().length > 10, new Date(2020, 1, 1).getTimezoneOffset()]";
    let (first, second) = (run(source), run(source));
    assert_eq!(first, second);
    value(
        "return [new Date().getUTCFullYear(), Date.now() >= 1700000000000, Date.name, typeof performance.now()]",
        json!([2023, true, "Date", "number"]),
    );
    value(
        "const t = []; for (let i = 0; i < 2000; i++) t.push(Date.now()); return new Set(t).size < 50",
        json!(true),
    );
    value(
        "const r = Array.from({ length: 1000 }, () => Math.random()); const m = r.reduce((a, b) => a + b) / 1000; return r.every(x => x >= 0 && x < 1) && m > 0.45 && m < 0.55 && new Set(r).size === 1000",
        json!(true),
    );
    value(
        "const t = Date.now(); while (Date.now() < t + 20); return 'waited'",
        json!("waited"),
    );
}

#[test]
fn a_program_that_overwrites_the_language_confuses_only_itself() {
    value(
        "JSON.stringify = () => 'evil'; JSON.parse = () => ({}); Promise.prototype.then = () => {}; Array.prototype.toJSON = () => 'x'; Object.prototype.t = 'evil'; const r = await tools.call('echo', { n: 1 }); return { r: typeof r }",
        json!({ "r": "object" }),
    );
    value(
        "Array.prototype[Symbol.iterator] = function* () { yield 'evil' }; Array.prototype.push = () => { throw 1 }; const r = await tools.callValue('echo', { n: 1 }); return r",
        json!({ "n": 1 }),
    );
    value(
        "class X extends Promise {} Promise.prototype.constructor = X; Object.defineProperty(Promise, Symbol.species, { value: function (ex) { ex(() => {}, () => {}); return new X(() => {}) } }); const r = await tools.callValue('echo', { n: 1 }); return r",
        json!({ "n": 1 }),
    );
    value(
        "Map.prototype.get = () => { throw 1 }; String.prototype.slice = () => { throw 1 }; Math.floor = () => 9; Error = 5; console.log('still', { a: 1 }); return (await tools.callValue('add', { a: 1, b: 1 })).sum",
        json!(2),
    );
    value(
        "const r = await tools.call('echo', JSON.parse('{\"__proto__\":{\"polluted\":1}}')); return [({}).polluted === undefined, typeof r]",
        json!([true, "object"]),
    );
    value(
        "}); globalThis.pwn = typeof process; (async () => { return globalThis.pwn"
            .replace("}); ", "")
            .replace("(async () => { ", "")
            .as_str(),
        json!("undefined"),
    );
    value(
        "console.log = 5; globalThis.openclaw = 1; return typeof openclaw",
        json!("number"),
    );
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
