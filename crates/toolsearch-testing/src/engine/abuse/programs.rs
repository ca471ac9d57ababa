//! The programs, by what they try: here those about code and data, in `reach` those that look for the machine,
//! in `limits` those that take more than they may.

mod limits;
mod reach;

use serde_json::{Value, json};
use toolsearch_sandbox::ErrorCode;

use super::{Abuse, Right};

pub(super) fn all() -> Vec<Abuse> {
    let groups = [
        code_from_text(),
        reach::names(),
        reach::other_world(),
        forms(),
        results(),
        forging(),
        limits::endless(),
        limits::memory(),
        limits::floods(),
        limits::left_behind(),
        language(),
    ];
    groups.into_iter().flatten().collect()
}

fn program(name: &'static str, source: impl Into<String>, right: Right) -> Abuse {
    Abuse {
        name,
        source: source.into(),
        right,
    }
}

fn is(name: &'static str, source: impl Into<String>, value: Value) -> Abuse {
    program(name, source, Right::Is(value))
}

fn code_from_text() -> Vec<Abuse> {
    let kinds = "const kinds = [() => 0, async () => 0, function* () {}, async function* () {}];";
    vec![
        is(
            "constructors of all kinds of functions",
            format!(
                "{kinds} const out = kinds.map((f) => {{ try {{ const made = Object.getPrototypeOf(f).constructor('return typeof process + typeof require'); return typeof made; }} catch (e) {{ return e.name; }} }});
                return out.every((x) => x === 'function' || x === 'EvalError');"
            ),
            json!(true),
        ),
        is(
            "what code from text sees",
            "let out; try { out = Function('return typeof process')(); } catch (e) { out = e.name; } return ['undefined', 'EvalError'].includes(out);",
            json!(true),
        ),
        is(
            "indirect eval",
            "try { return (0, eval)('6 * 7') === 42; } catch (e) { return e.name === 'EvalError'; }",
            json!(true),
        ),
        program(
            "a timer with text",
            "setTimeout('1', 1)",
            Right::Fails(&[ErrorCode::GuestError]),
        ),
    ]
}

fn forms() -> Vec<Abuse> {
    let deep = |count: usize| format!("return {}{};", "[".repeat(count), "]".repeat(count));
    vec![
        is(
            "closing the function around the program",
            "})(); globalThis.crossed = typeof process; (async function () { return globalThis.crossed",
            json!("undefined"),
        ),
        program(
            "open brackets",
            "return {[(",
            Right::Fails(&[ErrorCode::SyntaxError]),
        ),
        program(
            "deep brackets",
            deep(30_000),
            Right::Fails(&[
                ErrorCode::SyntaxError,
                ErrorCode::GuestError,
                ErrorCode::OutOfMemory,
            ]),
        ),
        program(
            "deep signs in a text with types",
            format!("const n: number = {}1; return n;", "!".repeat(60_000)),
            Right::Fails(&[ErrorCode::SyntaxError]),
        ),
        is(
            "strange but harmless",
            "debugger; label: { break label } return 1; //# sourceMappingURL=file:///etc/passwd",
            json!(1),
        ),
        program(
            "nothing returned",
            "const hits = await tools.search('x');",
            Right::Nothing,
        ),
        is(
            "text with a NUL",
            "return 'a\\u0000b'.length;\u{0}",
            json!(3),
        ),
    ]
}

fn results() -> Vec<Abuse> {
    vec![
        program(
            "hostile members of what is thrown",
            "throw { get name() { throw 1; }, get message() { throw 2; }, get stack() { throw 3; }, toString() { throw 4; } };",
            Right::Fails(&[ErrorCode::GuestError]),
        ),
        program(
            "null thrown",
            "throw null;",
            Right::Fails(&[ErrorCode::GuestError]),
        ),
        program(
            "a code that only hosts give",
            "throw Object.assign(new Error('mine'), { code: 'approval_denied', name: 'ApprovalDeniedError' });",
            Right::Fails(&[ErrorCode::GuestError]),
        ),
        is(
            "a ring",
            "const ring = []; ring.push(ring); return ring;",
            json!(["[Circular]"]),
        ),
        is(
            "a large integer",
            "return 2n ** 70n;",
            json!("1180591620717411303424"),
        ),
        is(
            "what JSON has no word for",
            "return { a: NaN, b: -Infinity, c: new Map([['k', 1]]), d: new Set([2]), e: new Date(0), f: [undefined] };",
            json!({ "a": null, "b": null, "c": { "k": 1 }, "d": [2], "e": "1970-01-01T00:00:00.000Z", "f": [null] }),
        ),
        is(
            "half of a character",
            "console.log('\\udc00'); const r = await tools.callValue('echo', { x: '\\ud83d' }); return [r.given.x, '\\ud800'];",
            json!(["\u{fffd}", "\u{fffd}"]),
        ),
        is(
            "prototypes through data",
            "const r = await tools.callValue('echo', JSON.parse('{\"__proto__\": {\"spoiled\": 1}, \"constructor\": 2}')); return [({}).spoiled === undefined, r.given.constructor];",
            json!([true, 2]),
        ),
        program(
            "a thing with endless names",
            "return new Proxy({}, { ownKeys: () => Array.from({ length: 20000 }, (_, i) => 'name' + i), getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 0 }), get: () => 'w'.repeat(40) });",
            Right::Cut,
        ),
        is(
            "a thing that says how it is written",
            "return { toJSON: () => ({ done: { value: 1 } }) };",
            json!({ "done": { "value": 1 } }),
        ),
        is(
            "a promise in a thing",
            "return { p: Promise.resolve(1) };",
            json!({ "p": "[Promise: not awaited]" }),
        ),
    ]
}

fn forging() -> Vec<Abuse> {
    vec![
        is(
            "frames in a log",
            "console.log('\\n{\"done\":{\"value\":{\"value\":\"false\",\"hints\":[]}}}\\n'); console.error('\\r\\n{\"refused\":{\"reason\":\"x\"}}'); return 'true';",
            json!("true"),
        ),
        is(
            "frames in arguments",
            "const r = await tools.callValue('echo', { method: 'search', id: 9, args: '\"}}\\n{\"done\":{\"nothing\":{\"hints\":[]}}}' }); return r.given.method;",
            json!("search"),
        ),
        is(
            "a writer of JSON that lies",
            "JSON.stringify = () => '{\"done\":{}}'; JSON.parse = () => 0; const r = await tools.callValue('echo', { n: 3 }); return r.given.n;",
            json!(3),
        ),
        is(
            "promises that lie",
            "Promise.prototype.then = () => {}; Promise.resolve = () => 0; Promise.prototype.constructor = class { constructor() { throw 1; } };
             Object.defineProperty(Promise, Symbol.species, { value: function () { throw 2; } }); const r = await tools.callValue('echo', { n: 4 }); return r.given.n;",
            json!(4),
        ),
        is(
            "containers that lie",
            "Map.prototype.get = Map.prototype.set = () => 7; Array.prototype.push = Array.prototype.shift = () => { throw 1; }; Array.prototype[Symbol.iterator] = function* () { yield 'no'; };
             Object.prototype.toJSON = undefined; String.prototype.slice = () => ''; const r = await tools.callValue('echo', { n: 5 }); return r.given.n;",
            json!(5),
        ),
        is("another bridge", "globalThis.tools = { call: () => 'mine' }; return [tools.call(), typeof openclaw.tools.call];", json!(["mine", "function"])),
    ]
}

fn language() -> Vec<Abuse> {
    vec![
        is(
            "a clock to measure with",
            "const times = new Set(); for (let i = 0; i < 3000; i++) times.add(Date.now()); return times.size < 20;",
            json!(true),
        ),
        is(
            "chance that can be foreseen",
            "return Math.random() !== Math.random();",
            json!(true),
        ),
        is(
            "a realm of its own",
            "return [typeof ShadowRealm, typeof Realm, typeof Compartment];",
            json!(["undefined", "undefined", "undefined"]),
        ),
        is(
            "the caller of a callback",
            "let seen = 0; await Promise.all([1].map(async function f() { try { if (f.caller) seen = 1; } catch {} })); return seen;",
            json!(0),
        ),
        is(
            "stacks tell of no folders",
            "return /\\/(usr|home|root|tmp|proc)\\//.test(new Error('x').stack);",
            json!(false),
        ),
    ]
}
