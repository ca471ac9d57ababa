//! Values in and out, and what repeats.

use super::*;

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
