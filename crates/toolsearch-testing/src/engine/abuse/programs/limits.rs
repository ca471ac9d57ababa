//! Programs that never end, and those that take too much: memory, calls, lines, depth.

use serde_json::json;
use toolsearch_sandbox::ErrorCode;

use super::{is, program};
use crate::engine::abuse::{Abuse, Right};

pub(super) fn endless() -> Vec<Abuse> {
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

pub(super) fn memory() -> Vec<Abuse> {
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

pub(super) fn floods() -> Vec<Abuse> {
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

pub(super) fn left_behind() -> Vec<Abuse> {
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
