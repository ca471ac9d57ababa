// Runs one program inside Node and speaks with the host. Started with `-e`, because it may read no file.
//
// The program lives in a context of its own. What crosses between the two worlds is text and numbers; what
// this world needs is captured and frozen before the program is known, so that a program which got hold of an
// object of this world has nothing to pollute. That is no boundary: the walls around the process are.
(function runner(preludeText, FILE, VERSION) {
  'use strict';
  const { readSync, writeSync } = require('fs');
  const vm = require('vm');
  const { parse, stringify } = JSON;
  const { Buffer, setImmediate } = globalThis;
  const concat = Buffer.concat, allocate = Buffer.alloc, bytesOf = Buffer.byteLength, toBytes = Buffer.from;
  const exit = process.reallyExit.bind(process);
  const { Script } = vm;

  // ---- the pipe -------------------------------------------------------------------------------

  const chunk = allocate(1 << 16);
  let pending = allocate(0);

  // Blocks until a whole line is there. The host is trusted; its end is the end of this process.
  function nextLine() {
    let scanned = 0;
    for (;;) {
      const end = pending.indexOf(10, scanned);
      if (end >= 0) {
        const line = pending.toString('utf8', 0, end);
        pending = pending.subarray(end + 1);
        return line;
      }
      scanned = pending.length;
      const parts = [pending];
      let count = 0;
      try { count = readSync(0, chunk, 0, chunk.length); } catch (error) { if (error.code !== 'EAGAIN') exit(0); else continue; }
      if (count === 0) exit(0);
      parts[1] = toBytes(chunk.subarray(0, count));
      pending = concat(parts);
    }
  }
  const hasLine = () => pending.indexOf(10) >= 0;

  function sendText(text) {
    const bytes = toBytes(`${text}\n`, 'utf8');
    let at = 0;
    while (at < bytes.length) {
      try { at += writeSync(1, bytes, at, bytes.length - at); } catch (error) { if (error.code !== 'EAGAIN') exit(0); }
    }
  }
  const send = (frame) => sendText(stringify(frame));

  // ---- the conversation -----------------------------------------------------------------------

  const LEVELS = ['debug', 'info', 'warn', 'error'];
  let seen = 0, openCalls = 0, limits, over = false;
  const sleeps = { __proto__: null };

  // Log lines within the budget: the head as it comes, the last ones at the end.
  const logs = { budget: 0, head: 0, tail: [], first: 0, tailBytes: 0, skipped: 0 };
  function log(level, text) {
    const cost = bytesOf(text) + 1;
    if (logs.tail.length === 0 && logs.skipped === 0 && logs.head + cost <= logs.budget) {
      logs.head += cost;
      send({ log: { level: LEVELS[level] ?? 'info', text } });
      return;
    }
    logs.tail[logs.tail.length] = { level: LEVELS[level] ?? 'info', text, cost };
    logs.tailBytes += cost;
    while (logs.tailBytes > logs.budget && logs.first < logs.tail.length) {
      logs.tailBytes -= logs.tail[logs.first].cost;
      logs.tail[logs.first++] = undefined;
      logs.skipped++;
    }
    if (logs.first > 1024 && logs.first * 2 > logs.tail.length) {
      logs.tail = logs.tail.slice(logs.first);
      logs.first = 0;
    }
  }

  // The last word. The host ends this process then.
  function done(outcome) {
    if (over) return;
    over = true;
    if (logs.skipped > 0) send({ skipped: { lines: logs.skipped } });
    for (let i = logs.first; i < logs.tail.length; i++) send({ log: { level: logs.tail[i].level, text: logs.tail[i].text } });
    sendText(`{"done":${outcome}}`);
    exit(0);
  }
  const threw = (thrown, why) =>
    done(stringify({ threw: { name: thrown.name, message: thrown.message, stack: thrown.stack, code: thrown.code ?? '', why } }));

  const ANSWER = /^\{"answer":\{"id":(\d+),"at_ms":(\d+),"(value|error)":/;

  // The next answer, or nothing when the host wants no more.
  function receive() {
    if (!hasLine()) send({ wait: { seen } });
    const line = nextLine();
    const head = ANSWER.exec(line);
    if (head === null) return undefined;
    seen++;
    const id = +head[1];
    if (sleeps[id] === true) delete sleeps[id];
    else openCalls--;
    return { id, at: +head[2], ok: head[3] === 'value', text: line.slice(head[0].length, -2) };
  }

  // ---- the program's world --------------------------------------------------------------------

  const world = vm.createContext({ __proto__: null }, {
    name: 'program', microtaskMode: 'afterEvaluate', codeGeneration: { strings: false, wasm: false },
  });
  const evaluate = (text) => new Script(text, { filename: 'runner.js' }).runInContext(world);

  const native = { __proto__: null };
  // Made inside, so that nothing of this world comes back from a call, not even its errors.
  const guard = evaluate(`(function (f) {
    return function (a, b, c) { try { return f(a, b, c); } catch { throw new RangeError('the stack is used up'); } };
  })`);
  const numbers = evaluate('({ __proto__: null })');
  const give = (name, f) => { numbers[name] = guard(f); };
  give('call', (id, method, args) => {
    openCalls++;
    sendText(`{"call":{"id":${+id},"method":${stringify(`${method}`)},"args":${args}}}`);
  });
  give('sleep', (id, ms) => {
    sleeps[id] = true;
    send({ sleep: { id, ms } });
  });
  give('log', (level, text) => { if (!over) log(level, `${text}`); });
  give('bytes', (text) => bytesOf(`${text}`));
  // The program must not run on. What it has started is waited for.
  give('tooManyCalls', () => {
    while (openCalls > 0 && receive() !== undefined);
    done(stringify({ failed: {
      code: 'too_many_calls', name: 'TooManyCallsError',
      message: `the program made more than ${limits.calls} calls`,
      hint: 'make fewer calls, or split the work into several programs',
    } }));
    for (;;) nextLine();
  });

  evaluate(`for (const name of ['WebAssembly', 'SharedArrayBuffer', 'Atomics', 'Intl', 'escape', 'unescape']) delete globalThis[name];
    // The program's own line may stand below many of the prelude.
    Error.stackTraceLimit = 100;
    Object.defineProperty(globalThis, 'queueMicrotask', { value: ((then, settled) => (f) => {
      if (typeof f !== 'function') throw new TypeError('queueMicrotask needs a function');
      Reflect.apply(then, settled, [() => { f(); }]);
    })(Promise.prototype.then, Promise.resolve()), writable: true, configurable: true, enumerable: false });`);
  const control = evaluate(`(${preludeText})`)(numbers);
  // Runs jobs, too: jobs of the program's world run after every evaluation in it.
  const turn = new Script('undefined', { filename: 'runner.js' });
  const runJobs = () => { turn.runInContext(world); };
  // Tells how a promise of the program went, without anything of this world in its reach.
  const observe = evaluate(`(function (then, apply) {
    return function (value) {
      const state = { __proto__: null, settled: false, ok: false, value: undefined };
      apply(then, value, [
        (v) => { state.settled = true; state.ok = true; state.value = v; },
        (e) => { state.settled = true; state.value = e; },
      ]);
      return state;
    };
  })(Promise.prototype.then, Reflect.apply)`);
  const isPromise = evaluate(`(function (P) { return (v) => { try { return v instanceof P; } catch { return false; } }; })(Promise)`);

  process.on('unhandledRejection', (reason, promise) => { control.rejected(promise, reason, false); });
  process.on('rejectionHandled', (promise) => { control.rejected(promise, undefined, true); });

  function freeze() {
    const names = Object.getOwnPropertyNames(globalThis);
    for (const name of names) {
      const value = Object.getOwnPropertyDescriptor(globalThis, name).value;
      if (typeof value !== 'function' && (typeof value !== 'object' || value === null) || value === globalThis) continue;
      if (name === 'process') continue;
      try {
        if (typeof value.prototype === 'object' && value.prototype !== null) Object.freeze(value.prototype);
        Object.freeze(value);
      } catch { /* Views of buffers cannot be frozen. */ }
    }
    for (const name of ['_linkedBinding', 'binding', 'chdir', 'dlopen', 'getBuiltinModule', 'kill', 'mainModule', 'report', 'setuid', 'setgid', 'umask', 'abort', 'loadEnvFile', 'openStdin', 'channel', 'send', 'features', 'permission', 'argv', 'execPath', 'env']) {
      try { delete process[name]; } catch { /* Cannot be taken away. */ }
    }
    for (const name of ['process', 'require', 'module', 'exports', 'fetch', 'WebSocket', 'WebAssembly', 'Buffer', 'setTimeout', 'setInterval', 'setImmediate']) {
      try { delete globalThis[name]; } catch { /* Cannot be taken away. */ }
    }
  }

  // ---- one run --------------------------------------------------------------------------------

  let main, value, finished = false, failed = false, script = false, called = false;

  function explain(reason) {
    try { return parse(control.explain(reason)); } catch { return { name: 'Error', message: 'the program failed', stack: '' }; }
  }

  // A text that does not parse starts nothing. As a script, whose last expression is its value, only where
  // `await` and `return` mean nothing: elsewhere a script would read them as names.
  function compile(text) {
    const parses = (wrapped, columns) => {
      try {
        return new Script(wrapped, { filename: FILE, columnOffset: -columns });
      } catch (error) {
        return { error };
      }
    };
    const head = 'class _ { static {';
    if (parses(`${head}${text}\n} }`, head.length).error === undefined) {
      const whole = parses(text, 0);
      if (whole.error === undefined) {
        script = true;
        return whole;
      }
    }
    const start = '(async function () {';
    return parses(`${start}${text}\n})()`, start.length);
  }

  function syntax(error) {
    const stack = `${error.stack}`;
    const lines = stack.split('\n');
    const place = /:(\d+)$/.exec(lines[0]);
    const caret = lines[2] === undefined ? -1 : lines[2].indexOf('^');
    const at = place === null ? '' : `at ${FILE}:${place[1]}:${caret < 0 ? 1 : caret + 1}`;
    threw({ name: 'SyntaxError', message: `${error.message}`, stack: at }, 'parsing');
  }

  function start(run) {
    limits = run.limits;
    logs.budget = limits.output_bytes >> 1;
    const line = Math.min(16384, Math.max(limits.output_bytes, 64));
    numbers.callsMax = limits.calls;
    numbers.flyingMax = Math.max(limits.in_flight, 1);
    numbers.timersMax = limits.timers;
    numbers.frameMax = Math.min(Math.max(limits.frame_bytes - 1024, 0), 2 ** 30);
    numbers.lineMax = line;
    numbers.textMax = 16384;
    const compiled = compile(run.source);
    if (compiled.error !== undefined) return syntax(compiled.error);
    begin(run);
    let result;
    try {
      result = compiled.runInContext(world);
    } catch (reason) {
      return threw(explain(reason), 'uncaught');
    }
    settled(result);
    setImmediate(step);
  }

  function begin(run) {
    // The seed has more digits than a number holds exactly; the text has them all.
    const seed = BigInt(run.seedText);
    control.begin(run.epoch_ms, Number(seed >> 32n), Number(seed & 0xffffffffn));
  }

  // Goes on from a value: a promise to wait for, or a lone function to call.
  function settled(result) {
    const callable = !called;
    called ||= typeof result === 'function';
    let next;
    try {
      if (isPromise(result)) {
        main = observe(result);
        return;
      }
      next = control.follow(result, callable);
    } catch (reason) {
      failed = true;
      finished = true;
      value = reason;
      return;
    }
    if (next === undefined) {
      finished = true;
      value = result;
    } else main = observe(next);
  }

  // One thing at a time: jobs, then either the end or the next answer. Between two steps Node tells of
  // rejections that nobody handled.
  function step() {
    runJobs();
    if (!finished && main.settled) {
      if (main.ok) {
        settled(main.value);
        if (!finished) return setImmediate(step);
      } else {
        finished = true;
        failed = true;
        value = main.value;
      }
    }
    if (control.callsOpen() === 0) {
      if (finished) return setImmediate(failed ? () => threw(explain(value), 'uncaught') : conclude);
      if (control.timersLive() === 0) {
        runJobs();
        if (main.settled) return setImmediate(step);
        return done(stringify({ failed: {
          code: 'guest_error', name: 'GuestError',
          message: 'the program waits for a promise that can never settle: no call and no timer is open',
        } }));
      }
    }
    const answer = receive();
    if (answer === undefined) return threw({ name: 'Error', message: 'stopped', stack: control.lastSite() }, 'stopped');
    control.advance(answer.at);
    try {
      control.settle(answer.id, answer.ok, answer.text);
    } catch (reason) {
      return threw(explain(reason), 'uncaught');
    }
    setImmediate(step);
  }

  function conclude() {
    const hints = [];
    const lost = control.firstLost();
    if (lost !== undefined) {
      const thrown = explain(lost.reason);
      if (lost.host) return threw(thrown, 'not_awaited');
      hints[hints.length] = `a promise was rejected and nothing handled it: ${thrown.name}: ${`${thrown.message}`.slice(0, 200)}`;
    }
    let parts;
    try {
      parts = control.render(value, limits.output_bytes);
    } catch (reason) {
      return threw(explain(reason), 'uncaught');
    }
    if (parts === undefined) {
      hints[hints.length] = 'no value returned; end the program with `return <value>`';
      return done(stringify({ nothing: { hints } }));
    }
    if (script && !called) hints[hints.length] = 'no `return`: the value of the last expression was taken';
    const text = `${parts[0]}`;
    if (parts[1] === true || bytesOf(text) > limits.output_bytes) return done(stringify({ cut: { head: text, hints } }));
    done(`{"value":{"value":${text},"hints":${stringify(hints)}}}`);
  }

  // ---- begin ----------------------------------------------------------------------------------

  const layers = parse(process.argv[process.argv.length - 1]);
  const model = process.permission;
  const held = model !== undefined && !model.has('fs.read') && !model.has('fs.write') && !model.has('child') && !model.has('worker');
  layers[layers.length] = {
    name: 'permission', state: held ? 'enforced' : 'missing',
    detail: held ? `Node ${process.versions.node}: nothing granted` : `Node ${process.versions.node}: the permission model is off`,
  };
  freeze();
  send({ ready: { version: VERSION, engine: 'node', layers } });
  const first = nextLine();
  const run = parse(first).run;
  run.seedText = /"seed":(\d+)/.exec(first.slice(first.lastIndexOf('"seed":')))[1];
  setImmediate(start, run);
})
