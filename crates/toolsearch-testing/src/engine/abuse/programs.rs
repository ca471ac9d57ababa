//! The programs, by what they try.

use serde_json::{Value, json};
use toolsearch_sandbox::ErrorCode;

use super::{Abuse, Right};

pub(super) fn all() -> Vec<Abuse> {
    let groups = [
        code_from_text(),
        reach(),
        other_world(),
        forms(),
        results(),
        forging(),
        endless(),
        memory(),
        floods(),
        left_behind(),
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

/// Finds words of the machine from an object by every way that leads on from it.
const SEARCH: &str = "
const words = ['process', 'require', 'module', 'Buffer', 'fetch', 'Deno', 'Bun', 'std', 'os', 'scriptArgs'];
const found = new Set(), seen = new Set([servers]);
function look(thing, depth) {
  if ((typeof thing !== 'object' && typeof thing !== 'function') || thing === null || depth > 5 || seen.has(thing)) return;
  seen.add(thing);
  for (const word of words) { try { if (thing[word] !== undefined) found.add(word); } catch {} }
  if (typeof thing === 'function') {
    try { look(thing.constructor('return this')(), depth + 1); } catch {}
  }
  for (const key of Reflect.ownKeys(thing)) { try { look(thing[key], depth + 1); } catch {} }
  look(Reflect.getPrototypeOf(thing), depth + 1);
}
";

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

fn reach() -> Vec<Abuse> {
    let from = |name, start: &str| {
        is(
            name,
            format!("{SEARCH} {start} return [...found];"),
            json!([]),
        )
    };
    let names = "['process', 'require', 'module', 'exports', 'fetch', 'XMLHttpRequest', 'WebSocket', 'EventSource', 'Buffer', 'setInterval',
        'setImmediate', 'WebAssembly', 'Worker', 'SharedArrayBuffer', 'Atomics', 'Deno', 'Bun', 'std', 'os', 'bjson', 'print', 'scriptArgs',
        'gc', 'navigator', 'importScripts', 'global', 'window', 'document', 'crypto', 'Intl', '__dirname', 'native', 'control']";
    vec![
        from("from the global object", "look(globalThis, 0);"),
        from(
            "from the objects of the bridge",
            "for (const start of [tools, openclaw, console, servers.a.b, setTimeout, Date, performance]) look(start, 0);",
        ),
        from(
            "from an answer",
            "look(await tools.call('echo', { a: [1] }), 0); look(await tools.search('x'), 0);",
        ),
        from(
            "from an error of the host",
            "try { await tools.call('fail', {}); } catch (e) { look(e, 0); look(e.stack, 0); }",
        ),
        from(
            "from the promise of a call",
            "const p = tools.call('echo', {}); look(p, 0); await p;",
        ),
        from("from `this` and its callers", "look(this, 0); look(arguments, 0); (function () { look(this, 0); try { look(arguments.callee.caller, 0); } catch {} })();"),
        is(
            "names of machines",
            format!("return {names}.filter((name) => typeof globalThis[name] !== 'undefined');"),
            json!([]),
        ),
        is(
            "modules",
            "let loaded = 0; for (const name of ['fs', 'node:fs', 'std', 'os', 'qjs:os', './a.mjs', '/etc/passwd', 'data:text/javascript,export default 1', 'file:///etc/passwd']) {
               try { await import(name); loaded++; } catch {} } return loaded;",
            json!(0),
        ),
        is(
            "the machine's time zone and language",
            "return [new Date(0).getTimezoneOffset(), new Date(0).getHours(), new Date(2024, 6, 1).toISOString().slice(11, 13)];",
            json!([0, 0, "00"]),
        ),
    ]
}

fn other_world() -> Vec<Abuse> {
    let error = "let alien; try { await import('nowhere'); } catch (e) { alien = e; }";
    vec![
        is(
            "an error of the module loader",
            format!("{error} {SEARCH} look(alien, 0); return [...found];"),
            json!([]),
        ),
        is(
            "code from text in the loader's world",
            format!("{error} let out; try {{ out = alien.constructor.constructor('return typeof process')(); }} catch (e) {{ out = e.name; }} return ['undefined', 'EvalError'].includes(out);"),
            json!(true),
        ),
        is(
            "hooks of stack traces",
            format!("{error} const got = []; let E = alien.constructor; while (E.name !== 'Error') E = Object.getPrototypeOf(E);
              for (const target of [E, Error]) try {{ target.prepareStackTrace = (_, sites) => {{ for (const site of sites ?? []) for (const f of ['getThis', 'getFunction']) {{ try {{ const v = site[f](); if (v !== undefined) got.push(v); }} catch {{}} }} return ''; }}; }} catch {{}}
              try {{ await import('elsewhere'); }} catch (e) {{ void e.stack; }}
              try {{ await tools.call('fail', {{}}); }} catch (e) {{ void e.stack; }}
              const o = {{}}; try {{ E.captureStackTrace(o); void o.stack; }} catch {{}}
              const mine = String(arguments.callee); return got.filter((f) => typeof f === 'function' && !mine.includes(String(f))).length;"),
            json!(0),
        ),
        is(
            "traps on prototypes of the loader's world",
            format!("{error} let P = alien; while (Object.getPrototypeOf(P)) P = Object.getPrototypeOf(P); let leaked = 0;
              const mine = P === Object.prototype;
              for (const name of ['then', 'toJSON', 'answer', 'run', 'id', 'ok', 'text', 'value', 'code', 'length', 'get', 'set', 'signal', 'cause', 'level']) try {{
                Object.defineProperty(P, name, {{ configurable: true, get() {{ if (!mine) leaked++; return undefined; }}, set() {{ if (!mine) leaked++; }} }}); }} catch {{}}
              const first = Object.keys(await tools.search('x')[0] ?? {{ id: 1 }}).length;
              for (const name of Object.getOwnPropertyNames(P)) if (!['constructor'].includes(name) && mine) {{ const d = Object.getOwnPropertyDescriptor(P, name); if (d.get && d.set && name !== '__proto__') delete P[name]; }}
              const reply = await tools.callValue('echo', {{ n: 1 }}); return [leaked, first > 0, reply.given.n];"),
            json!([0, true, 1]),
        ),
        is(
            "functions of the loader's world, replaced",
            format!("{error} let hooked = 0; const F = Object.getPrototypeOf(alien.constructor.constructor);
              for (const name of ['call', 'apply', 'bind']) try {{ const old = F[name]; F[name] = function (...args) {{ hooked++; return Reflect.apply(old, this, args); }}; }} catch {{}}
              const reply = await tools.callValue('echo', {{ n: 2 }}); return [reply.given.n, F === Function.prototype || hooked === 0];"),
            json!([2, true]),
        ),
        is(
            "errors of a full stack",
            "let alien = 0, tries = 0; function dig() { try { dig(); } catch { if (tries++ < 60) {
               try { console.log('.'); } catch (e) { if (!(e instanceof Error)) alien++; }
               try { tools.search(1).catch((e) => { if (!(e instanceof Error)) alien++; }); } catch (e) { if (!(e instanceof Error)) alien++; } } } }
             dig(); await null; return alien;",
            json!(0),
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

fn endless() -> Vec<Abuse> {
    let sources = [
        ("a loop", "for (;;);"),
        (
            "a loop after a call",
            "await tools.search('x'); for (let i = 0; ; i++) globalThis.i = i;",
        ),
        ("jobs without end", "for (;;) await undefined;"),
        (
            "jobs that make jobs",
            "const again = () => { Promise.resolve().then(again); }; again(); await new Promise(() => {});",
        ),
        (
            "a loop that catches",
            "function spin() { try { for (;;); } catch { spin(); } finally { spin(); } } spin();",
        ),
        (
            "a pattern",
            "return /^(\\w+\\s?)*$/.test('word '.repeat(8) + 'w'.repeat(40) + '!');",
        ),
        (
            "a getter of the value",
            "return { get late() { while (true); } };",
        ),
        (
            "a getter of the error",
            "throw { get message() { while (true); } };",
        ),
        (
            "slow native code, often",
            "const hay = 'n'.repeat(4e6); for (let i = 0; ; i++) hay.lastIndexOf('ne'.repeat(900));",
        ),
        (
            "a sort that never agrees",
            "Array.from({ length: 5e5 }, (_, i) => i).sort(() => { for (let i = 0; i < 1e5; i++); return 1; }); for (;;);",
        ),
        (
            "large integers",
            "let n = 3n; for (;;) { try { n = (n * n) % (2n ** 300000n) + 3n; } catch { n = 3n; } }",
        ),
        (
            "JSON again and again",
            "const rows = Array.from({ length: 4e4 }, (_, i) => ({ i })); for (;;) JSON.parse(JSON.stringify(rows));",
        ),
        (
            "an argument that never ends",
            "await tools.call('echo', new Proxy({}, { ownKeys() { for (;;); } }));",
        ),
        (
            "a call that never answers",
            "await Promise.all([tools.call('never', {}), tools.call('never', {})]);",
        ),
        (
            "a timer beyond the end",
            "await new Promise((done) => setTimeout(done, 86400000));",
        ),
        (
            "timers that start timers",
            "const tick = () => setTimeout(tick, 400); tick(); await new Promise(() => {});",
        ),
    ];
    sources
        .into_iter()
        .map(|(name, source)| program(name, source, Right::Endless))
        .chain([
            program(
                "waiting for nothing",
                "await new Promise(() => {});",
                Right::Fails(&[ErrorCode::GuestError]),
            ),
            program(
                "a thenable that never calls back",
                "return { then() {} };",
                Right::Fails(&[ErrorCode::GuestError]),
            ),
        ])
        .collect()
}

fn memory() -> Vec<Abuse> {
    let sources = [
        (
            "strings",
            "const kept = []; for (let i = 0; ; i++) kept.push(String(i).padStart(90000, '.'));",
        ),
        (
            "buffers",
            "const kept = []; for (;;) kept.push(new Uint8Array(8 << 20).fill(7));",
        ),
        ("one buffer", "return new Uint8Array(9e9).length;"),
        ("one array", "return new Array(2 ** 32 - 2).fill(0).length;"),
        ("doubling", "let text = 'abc'; for (;;) text = text + text;"),
        (
            "maps",
            "const kept = new Map(); for (let i = 0; ; i++) kept.set({ i }, [i]);",
        ),
        (
            "caught and tried again",
            "for (;;) try { const kept = []; for (;;) kept.push(new Array(2e5).fill(0)); } catch {}",
        ),
        (
            "spreading without end",
            "return [...{ [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }) }) }].length;",
        ),
        (
            "a large sort",
            "return Array.from({ length: 4e7 }, (_, i) => -i).sort().length;",
        ),
        (
            "closures",
            "let chain = () => 0; for (;;) { const before = chain, pad = new Array(64).fill(0); chain = () => before() + pad.length; }",
        ),
    ];
    sources
        .into_iter()
        .map(|(name, source)| program(name, source, Right::Bomb))
        .collect()
}

fn floods() -> Vec<Abuse> {
    const CALLS: Right = Right::Fails(&[ErrorCode::TooManyCalls]);
    vec![
        program(
            "calls at once",
            "for (let i = 0; i < 200000; i++) tools.call('echo', { i }); return 1;",
            CALLS,
        ),
        program(
            "calls one by one",
            "for (;;) await tools.call('echo', {});",
            CALLS,
        ),
        program(
            "calls after the end",
            "(async () => { for (;;) await tools.call('echo', {}); })(); return 1;",
            CALLS,
        ),
        program(
            "lines",
            "for (let i = 0; i < 30000; i++) console.warn('line', i); return 1;",
            Right::Cut,
        ),
        program(
            "a long line",
            "console.log('long'.repeat(4e6)); return 1;",
            Right::Is(json!(1)),
        ),
        program("a long value", "return ['v'.repeat(9e6)];", Right::Cut),
        program(
            "a long argument",
            "await tools.call('echo', { x: 'a'.repeat(17e6) });",
            Right::Fails(&[ErrorCode::GuestError, ErrorCode::OutOfMemory]),
        ),
        program(
            "timers",
            "for (let i = 0; i < 3000; i++) setTimeout(() => {}, 1); return 1;",
            Right::Fails(&[ErrorCode::GuestError]),
        ),
        program(
            "rejections",
            "for (let i = 0; i < 5000; i++) Promise.reject(new Error('r' + i)); return 1;",
            Right::Is(json!(1)),
        ),
        is(
            "deep calls",
            "let depth = 0; const down = () => { depth++; down(); }; try { down(); } catch (e) { return [e.name, depth > 100]; }",
            json!(["RangeError", true]),
        ),
        is(
            "deep data",
            "try { JSON.parse('['.repeat(300000)); return 'parsed'; } catch (e) { return ['RangeError', 'SyntaxError'].includes(e.name); }",
            json!(true),
        ),
        is(
            "deep data, written",
            "let nest = {}; for (let i = 0; i < 200000; i++) nest = { nest }; try { return JSON.stringify(nest).length > 0; } catch (e) { return e.name === 'RangeError'; }",
            json!(true),
        ),
        is(
            "a deep pattern",
            "try { return new RegExp('(?:'.repeat(150000) + ')'.repeat(150000)).source.length > 0; } catch (e) { return ['SyntaxError', 'RangeError'].includes(e.name); }",
            json!(true),
        ),
    ]
}

fn left_behind() -> Vec<Abuse> {
    vec![
        is(
            "rejections that nobody handles",
            "Promise.reject(new Error('late')); (async () => { throw new Error('later'); })(); return 'fine';",
            json!("fine"),
        ),
        is(
            "an error in a job that nobody waits for",
            "Promise.resolve().then(() => { throw new Error('in a job'); }); await tools.search('x'); return 'fine';",
            json!("fine"),
        ),
        program(
            "a failed call that nobody waits for",
            "tools.call('fail', {}).then((x) => x); await tools.search('x'); return 'claimed';",
            Right::Fails(&[ErrorCode::ToolError]),
        ),
        is(
            "something after the last object is gone",
            "new FinalizationRegistry(() => console.log('gone')).register({}, 0); return 'fine';",
            json!("fine"),
        ),
        is(
            "shared memory and blocking",
            "const out = []; try { Atomics.wait(new Int32Array(8), 0, 0); out.push('blocked'); } catch (e) { out.push(e.name); } try { new WebAssembly.Memory({ initial: 1 }); out.push('wasm'); } catch (e) { out.push(e.name); } return out.map((x) => x.endsWith('Error'));",
            json!([true, true]),
        ),
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
