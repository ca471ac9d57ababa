//! Programs that look for something of the machine, by every way that leads on from an object.

use serde_json::json;

use super::is;
use crate::engine::abuse::Abuse;

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

pub(super) fn names() -> Vec<Abuse> {
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
            "let loaded = 0; for (const name of ['fs', 'node:fs', 'std', 'os', 'qjs:os', './a.mjs', '/etc/passwd', 'data:text/javascript,export default 1', 'file:///etc/passwd', 'prelude', 'program.js']) {
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

pub(super) fn other_world() -> Vec<Abuse> {
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
