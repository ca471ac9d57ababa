// The guest's world: the bridge objects, the console, a clock and randomness that can be repeated.
// Runs once per child, before the program. Everything it needs later is captured here, so that a
// program which overwrites the language's own objects only confuses itself.
(function prelude(native) {
  'use strict';
  const {
    BigInt, Boolean, Error, Map, Math, Number, Object, Promise, Proxy, RangeError, Reflect, RegExp, Set,
    String, Symbol, TypeError, WeakMap, Date: RealDate,
  } = globalThis;
  const parse = JSON.parse, stringify = JSON.stringify;
  const { isArray } = Array;
  const { defineProperty, getOwnPropertyNames, getPrototypeOf, keys, setPrototypeOf } = Object;
  const { apply, construct } = Reflect;
  const { floor, imul } = Math;
  const one = (f) => (self, a, b) => apply(f, self, [a, b]);
  const getter = (prototype, name) => {
    const { get } = Object.getOwnPropertyDescriptor(prototype, name);
    return (self) => apply(get, self, []);
  };
  const wellFormed = one(String.prototype.toWellFormed);
  const slice = one(String.prototype.slice);
  const trim = one(String.prototype.trim);
  const mapGet = one(Map.prototype.get), mapSet = one(Map.prototype.set);
  const mapHas = one(Map.prototype.has), mapDelete = one(Map.prototype.delete);
  const mapEach = one(Map.prototype.forEach), setEach = one(Set.prototype.forEach);
  const mapSize = getter(Map.prototype, 'size');
  const weakGet = one(WeakMap.prototype.get), weakSet = one(WeakMap.prototype.set);
  const toISO = one(RealDate.prototype.toISOString), getTime = one(RealDate.prototype.getTime);
  const functionText = one(Function.prototype.toString);
  const regexText = one(RegExp.prototype.toString);
  const bigText = one(BigInt.prototype.toString);
  const nameTag = getter(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
  const isView = ArrayBuffer.isView;
  const isA = (value, type) => {
    try { return value instanceof type; } catch { return false; }
  };
  const own = (object, key, value, enumerable) =>
    defineProperty(object, key, { value, enumerable, writable: true, configurable: true });
  const put = (list, value) => own(list, list.length, value, true);

  // ---- values as JSON text, bounded -----------------------------------------------------------

  const CUT = { cut: true };
  const DEPTH = 64;

  // Writes `value` into `out` (pieces of text). `strict` refuses what arguments of a call may not
  // hold; otherwise everything gets a readable form. Throws CUT when `out.room` is used up.
  function write(value, out, path, parents, strict) {
    switch (typeof value) {
      case 'string': return writeString(value, out);
      case 'boolean': return emit(out, value ? 'true' : 'false');
      case 'number': return emit(out, stringify(value));
      case 'bigint': return writeBig(value, out, path, strict);
      case 'undefined': return emit(out, 'null');
      case 'symbol': case 'function':
        if (strict) throw new TypeError(`${path} is a ${typeof value}; arguments must be plain JSON data`);
        return writeString(describeOdd(value), out);
    }
    if (value === null) return emit(out, 'null');
    for (let i = 0; i < parents.length; i++) {
      if (parents[i] !== value) continue;
      if (strict) throw new TypeError(`${path} is circular; arguments must be plain JSON data`);
      return writeString('[Circular]', out);
    }
    if (parents.length >= DEPTH) {
      if (strict) throw new RangeError(`${path} is nested too deeply`);
      return writeString('[Too deep]', out);
    }
    put(parents, value);
    writeObject(value, out, path, parents, strict);
    parents.length--;
  }

  function writeObject(value, out, path, parents, strict) {
    const toJSON = value.toJSON;
    if (typeof toJSON === 'function' && !isA(value, RealDate)) {
      return write(apply(toJSON, value, []), out, path, parents, strict);
    }
    if (isArray(value)) return writeList(value, value.length, out, path, parents, strict);
    if (isA(value, RealDate)) {
      const time = getTime(value);
      return time === time ? writeString(toISO(value), out) : emit(out, 'null');
    }
    if (isA(value, Map)) return writeMap(value, out, path, parents, strict);
    if (isA(value, Set)) {
      const items = [];
      setEach(value, (item) => put(items, item));
      return writeList(items, items.length, out, path, parents, strict);
    }
    if (isA(value, Error)) return writeEntries(errorFields(value), out, path, parents, strict);
    if (isA(value, Promise)) {
      if (strict) throw new TypeError(`${path} is a promise; await it first`);
      return writeString('[Promise: not awaited]', out);
    }
    if (isView(value) && nameTag(value) !== undefined) {
      return writeList(value, value.length, out, path, parents, strict);
    }
    if (isA(value, RegExp)) return writeString(regexText(value), out);
    if (isA(value, String) || isA(value, Number) || isA(value, Boolean) || isA(value, BigInt)) {
      return write(value.valueOf(), out, path, parents, strict);
    }
    writeEntries(value, out, path, parents, strict);
  }

  function writeList(list, length, out, path, parents, strict) {
    emit(out, '[');
    for (let i = 0; i < length; i++) {
      if (i > 0) emit(out, ',');
      write(list[i], out, `${path}[${i}]`, parents, strict);
    }
    emit(out, ']');
  }

  function writeMap(map, out, path, parents, strict) {
    const pairs = [], object = { __proto__: null };
    let words = true;
    mapEach(map, (value, key) => {
      put(pairs, [key, value]);
      if (typeof key === 'string') own(object, key, value, true);
      else words = false;
    });
    if (words) writeEntries(object, out, path, parents, strict);
    else writeList(pairs, pairs.length, out, path, parents, strict);
  }

  function writeEntries(object, out, path, parents, strict) {
    const names = keys(object);
    let first = true;
    emit(out, '{');
    for (let i = 0; i < names.length; i++) {
      let value;
      try {
        value = object[names[i]];
      } catch (error) {
        if (strict) throw error;
        value = `[Throws: ${textOf(error)}]`;
      }
      const odd = typeof value;
      if (odd === 'undefined' || (strict && (odd === 'function' || odd === 'symbol'))) continue;
      if (!first) emit(out, ',');
      first = false;
      writeString(names[i], out);
      emit(out, ':');
      write(value, out, `${path}.${names[i]}`, parents, strict);
    }
    emit(out, '}');
  }

  function writeBig(value, out, path, strict) {
    const text = bigText(value);
    if (!strict) return writeString(text, out);
    if (value < -0x8000000000000000n || value > 0xffffffffffffffffn) {
      throw new RangeError(`${path} is too large an integer for JSON`);
    }
    emit(out, text);
  }

  function writeString(text, out) {
    // A string longer than the room left is cut before it is copied.
    const fits = text.length <= out.room;
    emit(out, stringify(wellFormed(fits ? text : slice(text, 0, out.room))));
    if (!fits) throw CUT;
  }

  function emit(out, text) {
    if (text.length > out.room) {
      out.text += slice(text, 0, out.room);
      out.room = 0;
      throw CUT;
    }
    out.room -= text.length;
    out.text += text;
  }

  function describeOdd(value) {
    if (typeof value === 'symbol') return apply(String, undefined, [value]);
    const name = value.name;
    return typeof name === 'string' && name !== '' ? `[Function: ${slice(name, 0, 80)}]` : '[Function]';
  }

  function errorFields(error) {
    const fields = { __proto__: null };
    own(fields, 'name', textOf({ message: error.name ?? 'Error' }), true);
    own(fields, 'message', textOf(error), true);
    if (error.code !== undefined) own(fields, 'code', error.code, true);
    if (error.cause !== undefined) own(fields, 'cause', error.cause, true);
    return fields;
  }

  // The text of whatever was thrown; never throws, never long.
  function textOf(thrown) {
    try {
      if (typeof thrown === 'object' && thrown !== null) {
        const message = thrown.message;
        if (typeof message === 'string') return cutText(message);
        const out = { text: '', room: native.textMax };
        try { write(thrown, out, 'error', [], false); } catch (error) { if (error !== CUT) throw error; }
        return out.text;
      }
      return cutText(typeof thrown === 'string' ? thrown : apply(String, undefined, [thrown]));
    } catch {
      return '[an error without a readable message]';
    }
  }
  const cutText = (text) => wellFormed(slice(text, 0, native.textMax));

  function toJson(value, room, strict, path) {
    const out = { text: '', room };
    try {
      write(value, out, path, [], strict);
      return { text: out.text, cut: false };
    } catch (error) {
      if (error !== CUT) throw error;
      return { text: out.text, cut: true };
    }
  }

  // ---- calls ----------------------------------------------------------------------------------

  const hostErrors = new WeakMap();
  const open = new Map();
  const timers = new Map();
  const lost = new Map();
  let queue = [], queueHead = 0, flying = 0, made = 0, nextId = 0, timersMade = 0, nextTimer = 1, lastSite = '';

  // Makes a call; `make` checks what the program gave and builds the arguments, `shape` turns the
  // host's reply into what the program gets. Never throws: whatever is wrong rejects the promise, and
  // a program that ignores it does not succeed.
  function request(name, make, shape) {
    const call = { name, json: '', shape, site: new Error('').stack, resolve: null, reject: null };
    lastSite = call.site;
    const promise = new Promise((resolve, reject) => {
      call.resolve = resolve;
      call.reject = reject;
    });
    own(promise, 'constructor', Promise, false);
    try {
      call.json = argumentsText(make());
    } catch (error) {
      if (typeof error === 'object' && error !== null) weakSet(hostErrors, error, 'guest_error');
      call.reject(error);
      return promise;
    }
    if (++made > native.callsMax) native.tooManyCalls();
    else if (flying < native.flyingMax) launch(call);
    else put(queue, call);
    return promise;
  }

  function argumentsText(args) {
    const { text, cut } = toJson(args, native.frameMax, true, 'args');
    if (cut || (text.length * 3 > native.frameMax && native.bytes(text) > native.frameMax)) {
      throw new RangeError(`the arguments are larger than ${native.frameMax} bytes`);
    }
    return text;
  }

  function launch(call) {
    const id = nextId++;
    flying++;
    mapSet(open, id, call);
    native.call(id, call.name, call.json);
    call.json = '';
  }

  function settle(id, ok, text) {
    const timer = mapGet(timers, id);
    if (timer !== undefined) {
      mapDelete(timers, id);
      if (timer.live) fire(timer);
      return;
    }
    const call = mapGet(open, id);
    if (call === undefined) return;
    mapDelete(open, id);
    flying--;
    if (queueHead < queue.length) {
      const next = queue[queueHead];
      queue[queueHead++] = undefined;
      if (queueHead === queue.length) { queue = []; queueHead = 0; }
      launch(next);
    }
    try {
      const value = parse(text);
      if (ok) call.resolve(call.shape === undefined ? value : call.shape(value));
      else call.reject(hostError(value, call.site));
    } catch (error) {
      call.reject(error);
    }
  }

  function hostError({ code, name, message }, site) {
    const error = new Error(message);
    own(error, 'name', name, false);
    own(error, 'code', code, true);
    own(error, 'stack', `${name}: ${message}\n${site}`, false);
    weakSet(hostErrors, error, code);
    return error;
  }

  const idOf = (value, form) => {
    if (typeof value === 'object' && value !== null && typeof value.id === 'string') return value.id;
    if (typeof value === 'string' && trim(value) !== '') return value;
    throw new TypeError(`the first argument must be a tool id; write ${form}`);
  };

  const copy = (object) => {
    const result = { __proto__: null };
    const names = keys(object);
    for (let i = 0; i < names.length; i++) own(result, names[i], object[names[i]], true);
    return result;
  };

  function searchArgs(query, options) {
    if (typeof query === 'object' && query !== null && !isArray(query)) return copy(query);
    if (typeof query !== 'string') {
      throw new TypeError('the query must be a text; write tools.search("what you need", { limit: 5 })');
    }
    const args = typeof options === 'object' && options !== null ? copy(options) : { __proto__: null };
    if (typeof options === 'number') own(args, 'limit', options, true);
    own(args, 'query', query, true);
    return args;
  }

  function callArgs(id, args, form) {
    if (args === undefined && typeof id === 'object' && id !== null && 'args' in id) args = id.args;
    return { __proto__: null, id: idOf(id, form), args: args ?? {} };
  }

  const search = (query, options) => request('search', () => searchArgs(query, options));
  const describe = (id) =>
    request('describe', () => ({ __proto__: null, id: idOf(id, 'tools.describe(id)') }));
  const call = (id, args) =>
    request('call', () => callArgs(id, args, 'tools.call(id, { … })'), withFields);
  const callValue = (id, args) =>
    request('call', () => callArgs(id, args, 'tools.callValue(id, { … })'), valueOf);

  // The reply stays as the host gave it, but fields of the structured result can be read from it
  // directly: programs often forget `.result.structuredContent`.
  function withFields(reply) {
    const result = reply?.result;
    if (typeof result !== 'object' || result === null || isArray(reply)) return reply;
    const fields = {};
    const text = textContent(result);
    if (text !== undefined) own(fields, 'text', text, false);
    if (result.content !== undefined) own(fields, 'content', result.content, false);
    const value = plainValue(result, text);
    if (typeof value === 'object' && value !== null && !isArray(value)) {
      const names = keys(value);
      for (let i = 0; i < names.length; i++) own(fields, names[i], value[names[i]], false);
    }
    setPrototypeOf(reply, fields);
    return reply;
  }

  function valueOf(reply) {
    const result = reply?.result;
    if (typeof result !== 'object' || result === null || isArray(result)) return result ?? reply;
    const text = textContent(result);
    if (result.isError === true) {
      throw hostError({ code: 'tool_error', name: 'ToolError', message: text ?? 'the tool failed' }, new Error('').stack);
    }
    const { structuredContent: structured, content } = result;
    if ((structured === undefined || structured === null) && hasOtherBlocks(content)) return content;
    const value = plainValue(result, text);
    return value !== undefined ? value : content ?? result;
  }

  // Pictures and the like: the text beside them is not the whole value.
  function hasOtherBlocks(content) {
    if (!isArray(content)) return false;
    for (let i = 0; i < content.length; i++) if (content[i]?.type !== 'text') return true;
    return false;
  }

  function textContent(result) {
    const { content } = result;
    if (!isArray(content)) return undefined;
    let text;
    for (let i = 0; i < content.length; i++) {
      const block = content[i];
      if (block?.type !== 'text' || typeof block.text !== 'string') continue;
      text = text === undefined ? block.text : `${text}\n${block.text}`;
    }
    return text;
  }

  function plainValue(result, text) {
    const structured = result.structuredContent;
    if (structured !== undefined && structured !== null) return structured;
    if (text === undefined) return undefined;
    const first = slice(trim(text), 0, 1);
    if (first === '{' || first === '[') {
      try { return parse(text); } catch { return text; }
    }
    return text;
  }

  const tools = { search, describe, call, callValue };
  own(tools, 'tools', tools, false);
  const openclaw = { tools };
  const named = (make) => new Proxy({}, {
    get: (_, name) => (typeof name === 'string' && name !== 'then' && name !== 'toJSON' ? make(name) : undefined),
  });
  const servers = named((owner) => named((tool) => (args) => callValue(`${owner}:${tool}`, args)));

  // ---- timers ---------------------------------------------------------------------------------

  function setTimeout(callback, ms, ...args) {
    if (typeof callback !== 'function') throw new TypeError('setTimeout needs a function');
    if (++timersMade > native.timersMax) throw new RangeError(`more than ${native.timersMax} timers`);
    const delay = typeof ms === 'number' && ms > 0 ? (ms < 86400000 ? floor(ms) : 86400000) : 0;
    const id = nextId++;
    const timer = { handle: nextTimer++, live: true, callback, args };
    mapSet(timers, id, timer);
    native.sleep(id, delay);
    return timer.handle;
  }

  function clearTimeout(handle) {
    mapEach(timers, (timer) => { if (timer.handle === handle) timer.live = false; });
  }

  function fire({ callback, args }) {
    try {
      apply(callback, undefined, args);
    } catch (error) {
      const promise = new Promise((_, reject) => reject(error));
      mapSet(lost, promise, error);
    }
  }

  // ---- console --------------------------------------------------------------------------------

  function line(args) {
    const out = { text: '', room: native.lineMax };
    try {
      for (let i = 0; i < args.length; i++) {
        if (i > 0) emit(out, ' ');
        const item = args[i];
        if (typeof item === 'string') {
          const fits = item.length <= out.room;
          emit(out, fits ? item : slice(item, 0, out.room));
          if (!fits) throw CUT;
        } else if (item === undefined) emit(out, 'undefined');
        else if (typeof item === 'object' && isA(item, Error)) emit(out, `${item.name}: ${textOf(item)}`);
        else write(item, out, 'value', [], false);
      }
    } catch (error) {
      if (error !== CUT) throw error;
      return `${wellFormed(out.text)}… [truncated]`;
    }
    return wellFormed(out.text);
  }

  const logger = (level) => (...args) => { native.log(level, line(args)); };
  const info = logger(1), debug = logger(0), nothing = () => {};
  const console = {
    log: info, info, dir: info, table: info, debug, trace: debug, warn: logger(2), error: logger(3),
    assert: (ok, ...args) => { if (!ok) native.log(3, `Assertion failed: ${line(args)}`); },
    group: info, groupEnd: nothing, time: nothing, timeEnd: nothing, count: nothing, clear: nothing,
  };

  // ---- clock and randomness -------------------------------------------------------------------

  let epoch = 0, clock = 0, a = 0, b = 0, c = 0, d = 1;

  // The clock stands at the last answer of the host; each look moves it on by a microsecond, so that
  // a loop which waits for time to pass comes to an end.
  function elapsed() {
    clock += 0.001;
    return clock;
  }
  const now = () => floor(epoch + elapsed());

  function random() {
    const t = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + t) | 0;
    return t >>> 0;
  }
  const fraction = () => ((random() >>> 5) * 67108864 + (random() >>> 6)) / 9007199254740992;

  function Date() {
    if (new.target === undefined) return apply(RealDate.prototype.toString, new RealDate(now()), []);
    return construct(RealDate, arguments.length === 0 ? [now()] : arguments, new.target);
  }
  Date.prototype = RealDate.prototype;
  own(RealDate.prototype, 'constructor', Date, false);
  own(Date, 'now', () => now(), false);
  own(Date, 'parse', RealDate.parse, false);
  own(Date, 'UTC', RealDate.UTC, false);
  own(Math, 'random', () => fraction(), false);

  for (const name of ['SharedArrayBuffer', 'Atomics']) delete globalThis[name];
  // A program's own writer of stack traces would be shown the functions of this file.
  defineProperty(Error, 'prepareStackTrace', { value: undefined, writable: false, configurable: false });
  const globals = {
    Date, console, setTimeout, clearTimeout, tools, openclaw, servers,
    performance: { now: () => elapsed(), timeOrigin: 0 },
  };
  for (const name of getOwnPropertyNames(globals)) own(globalThis, name, globals[name], false);

  // ---- what the driver uses -------------------------------------------------------------------

  const isClass = (f) => { try { return slice(functionText(f), 0, 5) === 'class'; } catch { return false; } };

  return {
    begin(epochMs, s0, s1) {
      epoch = epochMs;
      a = s0 | 0; b = s1 | 0; c = (s0 ^ imul(s1, 0x85ebca6b)) | 0; d = 1;
      for (let i = 0; i < 12; i++) random();
    },
    advance(ms) { if (ms > clock) clock = ms; },
    settle,
    callsOpen: () => flying + (queue.length - queueHead),
    timersLive() {
      let live = 0;
      mapEach(timers, (timer) => { if (timer.live) live++; });
      return live;
    },
    rejected(promise, reason, handled) {
      if (handled) mapDelete(lost, promise);
      else if (mapSize(lost) < 64 || weakGet(hostErrors, reason) !== undefined) mapSet(lost, promise, reason);
    },
    lastSite: () => lastSite,
    claim(promise) { mapDelete(lost, promise); },
    // The first rejection nobody handled, failed calls before the program's own.
    firstLost() {
      let found;
      mapEach(lost, (reason) => {
        const host = typeof reason === 'object' && reason !== null && weakGet(hostErrors, reason) !== undefined;
        if (found === undefined || (host && !found.host)) found = { host, reason };
      });
      return found;
    },
    // What a settled value leads to: a promise to wait for, or the value itself.
    follow(value, callable) {
      if (typeof value === 'function' && callable && !isClass(value)) {
        return new Promise((resolve) => resolve(value(tools, openclaw)));
      }
      if (typeof value === 'object' && value !== null && typeof value.then === 'function') {
        return new Promise((resolve) => resolve(value));
      }
      return undefined;
    },
    render(value, room) {
      if (value === undefined) return undefined;
      const json = toJson(value, room, false, 'result');
      return json.cut ? [json.text, true] : [json.text, false];
    },
    explain(reason) {
      const fields = { __proto__: null, name: 'Error', message: textOf(reason), stack: '', code: '' };
      try {
        if (typeof reason === 'object' && reason !== null) {
          const { name, stack } = reason;
          if (typeof name === 'string') fields.name = wellFormed(slice(name, 0, 100));
          if (typeof stack === 'string') fields.stack = wellFormed(slice(stack, 0, 4000));
          fields.code = weakGet(hostErrors, reason) ?? '';
        }
      } catch { /* A hostile getter: the text above is all that can be said. */ }
      return stringify(fields);
    },
  };
})
