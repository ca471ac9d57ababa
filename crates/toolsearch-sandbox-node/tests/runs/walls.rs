//! What a program that owned all of Node would get: a guest whose own code, in Node's own world, tries what the
//! walls must stop.

use std::{sync::Arc, time::Duration};

use libtest_mimic::Trial;
use serde_json::json;
use toolsearch_sandbox::{
    Engine, External, Launch, Limits, Program, RunError, Unsupported, javascript::Thrown,
};
use toolsearch_sandbox_node::Node;
use toolsearch_sandbox_process::{Options, ProcessEngine, Worker};
use toolsearch_testing::engine::RecordingHost;

use crate::trial;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("the_walls_hold_against_all_of_node", probe)]
}

/// Node as it is started for programs, with another program in the place of the runner.
#[derive(Debug)]
struct Intruder;

const INTRUDER: &str = r#"(async () => {
  const fs = require('fs'), net = require('net');
  const write = (frame) => fs.writeSync(1, JSON.stringify(frame) + '\n');
  const layers = JSON.parse(process.argv.at(-1));
  layers.push({ name: 'permission', state: 'enforced', detail: 'claimed' });
  write({ ready: { version: 1, engine: 'node', layers } });
  const bytes = Buffer.alloc(65536);
  const { source } = JSON.parse(bytes.toString('utf8', 0, fs.readSync(0, bytes))).run;
  const got = [];
  if (source === 'traces') require('trace_events').createTracing({ categories: ['node'] }).enable();
  const attempt = async (name, f) => {
    try {
      const r = await Promise.race([f(), new Promise((_, no) => setTimeout(no, 300, new Error('late')))]);
      if (r !== false) got.push(name);
    } catch {}
  };
  const event = (thing, good, bad = 'error') => new Promise((yes, no) => { thing.once(good, yes); thing.once(bad, no); });
  await attempt('read a file', () => fs.readFileSync('/etc/hostname'));
  await attempt('read its own memory', () => fs.openSync('/proc/self/mem'));
  await attempt('list a folder', () => fs.readdirSync('/'));
  await attempt('write a file', () => fs.writeFileSync('/tmp/toolsearch-intruder', 'x'));
  await attempt('change a mode', () => fs.chmodSync('/tmp', 0o1777));
  await attempt('connect', () => event(net.connect(9, '127.0.0.1'), 'connect').catch((e) => { if (e.code !== 'ECONNREFUSED') throw e; }));
  await attempt('listen', () => event(net.createServer().listen(0, '127.0.0.1'), 'listening'));
  await attempt('listen in a file', () => event(net.createServer().listen('/tmp/toolsearch-intruder.sock'), 'listening'));
  await attempt('datagrams', () => { const s = require('dgram').createSocket('udp4'); s.bind(0); return event(s, 'listening'); });
  await attempt('fetch', () => fetch('http://127.0.0.1:9/').catch((e) => { if (e.cause?.code !== 'ECONNREFUSED') throw e; }));
  await attempt('look up a name', () => require('dns').promises.lookup('localhost'));
  await attempt('signal the host', () => process.kill(process.ppid, 0));
  await attempt('start a process', () => require('child_process').execFileSync('/bin/true'));
  await attempt('start a thread', () => event(new (require('worker_threads').Worker)('1', { eval: true }), 'online'));
  await attempt('a debugger', () => { require('inspector').open(0, '127.0.0.1'); return require('inspector').url() !== undefined; });
  await attempt('a report in a file', () => process.report.writeReport('/tmp/toolsearch-report.json'));
  await attempt('code from text', () => Function('return 1')());
  await attempt('another user', () => process.setuid(65534));
  await attempt('a large buffer', () => Buffer.alloc(2e9, 1));
  const environment = Object.keys(process.env);
  write({ done: { value: { value: { got, environment, folder: process.cwd() }, hints: [] } } });
})()"#;

impl External for Intruder {
    fn name(&self) -> &'static str {
        "node"
    }

    fn required(&self) -> &[&str] {
        &["landlock", "seccomp", "rlimits"]
    }

    fn launch(&self) -> Result<Launch, Unsupported> {
        let mut launch = Node::new().launch()?;
        let place = launch
            .arguments
            .iter()
            .position(|word| word == "-e")
            .unwrap();
        launch.arguments[place + 1] = INTRUDER.to_owned();
        Ok(launch)
    }

    fn source(&self, source: &str) -> String {
        source.to_owned()
    }

    fn explain(&self, _: &str, thrown: &Thrown) -> RunError {
        panic!("{thrown}")
    }
}

fn probe() {
    let mut options = Options::default();
    options.warm = 0;
    let worker = Worker::current_exe().unwrap();
    let engine = ProcessEngine::external(Arc::new(Intruder), worker, options);
    let host = Arc::new(RecordingHost::new(|method, _| panic!("it calls {method}")));
    let limits = Limits::default().with_wall(Duration::from_secs(30));
    let run = |source| engine.run(Program::new(source, 0, 0), host.clone(), &limits);
    let report = toolsearch_testing::block_on(run("everything else"));
    let value = report.value().unwrap_or_else(|| panic!("{report:#?}"));
    assert_eq!(value["got"], json!([]), "{value}");
    assert_eq!(value["environment"], json!(["TZ"]));
    assert_eq!(value["folder"], "/");
    // Node waits for ever for the file that it cannot open.
    let limits = limits.clone().with_wall(Duration::from_millis(600));
    let run = engine.run(Program::new("traces", 0, 0), host.clone(), &limits);
    let report = toolsearch_testing::block_on(run);
    assert_eq!(report.engine, "node");
    for left in ["/tmp/toolsearch-intruder", "/node_trace.1.log"] {
        assert!(!std::path::Path::new(left).exists(), "{left}");
    }
}
