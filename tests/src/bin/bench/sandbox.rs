//! From a program to its result: every engine on the same programs, in turns, in one run.
//!
//! The workers are those of the built `toolsearch`, which `TOOLSEARCH_BIN` names. Between two runs there
//! is a pause, as there is between two turns of a model; a warm worker is ready after it.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use toolsearch::sandbox::{Engine, ErrorCode, Host, HostReply, Limits, Program, RunReport};
use toolsearch::sandbox_node::Node;
use toolsearch::sandbox_process::{Options, ProcessEngine, Worker};

/// Between two runs.
const PAUSE: Duration = Duration::from_millis(8);

const ONE: &str = "return 1 + 1";
const THREE: &str = "const hits = await tools.search('add two numbers', { limit: 3 });
const tool = await tools.describe(hits[0].id);
return (await tools.callValue(tool.id, { a: 20, b: 22 })).sum;";
const HUNDRED: &str =
    "const all = Array.from({ length: 100 }, (_, n) => tools.callValue('add', { a: n, b: 1 }));
return (await Promise.all(all)).length;";
const MANY: &str = "let sum = 0;
for (let n = 0; n < 10000; n++) sum += (await tools.callValue('add', { a: n, b: 1 })).sum;
return sum;";
const MEMORY: &str = "await tools.call('memory', {}); return 1;";

/// Programs that never end, most of them inside of native code.
const ENDLESS: [&str; 6] = [
    "for (;;);",
    "return /^(\\w+\\s?)*$/.test('word '.repeat(8) + 'w'.repeat(40) + '!');",
    "const hay = 'n'.repeat(4e6); for (;;) hay.lastIndexOf('ne'.repeat(900));",
    "let n = 3n; for (;;) n = (n * n) % (2n ** 300000n) + 3n;",
    "const rows = Array.from({ length: 4e4 }, (_, i) => ({ i })); for (;;) JSON.parse(JSON.stringify(rows));",
    "await new Promise((done) => setTimeout(done, 86400000));",
];

/// Their wall clock.
const SHORT: Duration = Duration::from_millis(300);

/// The goals, as far as they are numbers.
const WARM_US: u128 = 1_000;
const SERVED_US: u128 = 2_000;
const RESIDENT_KIB: u64 = 8 << 10;
const LEAST_WARM: f64 = 50.0;
const LEAST_COLD: f64 = 10.0;

/// Runs every measurement and prints one document.
pub(crate) fn run() -> Result<()> {
    let binary = std::env::var_os("TOOLSEARCH_BIN").map(PathBuf::from);
    let binary =
        binary.context("TOOLSEARCH_BIN names no binary; use `cargo xtask bench sandbox`")?;
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let mut engines = vec![
        Contestant::new("quickjs_cold", quickjs(&binary, 0), 60),
        Contestant::new("quickjs_warm", quickjs(&binary, 1), 60),
        Contestant::new("node", node(&binary), 20),
    ];
    for contestant in &engines {
        contestant
            .engine
            .check()
            .with_context(|| format!("{} cannot be used here", contestant.name))?;
    }
    let mut report = json!({ "benchmark": "sandbox" });
    for (name, source, expected) in [
        ("one_us", ONE, json!(2)),
        ("three_calls_us", THREE, json!(42)),
        ("hundred_parallel_us", HUNDRED, json!(100)),
    ] {
        report[name] = tokio.block_on(compare(&mut engines, source, &expected))?;
    }
    report["ten_thousand_calls_ms"] = tokio.block_on(many(&engines))?;
    report["stopped_late_ms"] = tokio.block_on(late(&engines))?;
    report["memory_kib"] = tokio.block_on(memory(&engines))?;
    report["node_takes_times"] = ratios(&report);
    report["served_three_calls_us"] = json!(served(&binary)?);
    #[expect(clippy::print_stdout, reason = "a program that people run")]
    {
        println!("{}", serde_json::to_string_pretty(&report)?);
    }
    judge(&report)
}

/// How many times longer Node takes for three calls than the other engines.
fn ratios(report: &Value) -> Value {
    let median = |name: &str| {
        report["three_calls_us"][name]["median"]
            .as_f64()
            .unwrap_or(0.0)
    };
    let ratio = |name: &str| (median("node") / median(name) * 10.0).round() / 10.0;
    json!({ "warm": ratio("quickjs_warm"), "cold": ratio("quickjs_cold") })
}

fn judge(report: &Value) -> Result<()> {
    let micros = |name: &str| {
        u128::from(
            report["three_calls_us"][name]["median"]
                .as_u64()
                .unwrap_or(u64::MAX),
        )
    };
    let warm = micros("quickjs_warm");
    ensure!(
        warm < WARM_US,
        "a warm run of three calls takes {warm} us; {WARM_US} are allowed"
    );
    for (name, least) in [("warm", LEAST_WARM), ("cold", LEAST_COLD)] {
        let ratio = report["node_takes_times"][name].as_f64().unwrap_or(0.0);
        ensure!(
            ratio >= least,
            "{name}, only {ratio} times faster than Node; {least} are asked"
        );
    }
    let resident = report["memory_kib"]["quickjs_warm"]["before"]
        .as_u64()
        .unwrap_or(u64::MAX);
    ensure!(
        resident < RESIDENT_KIB,
        "a waiting worker holds {resident} KiB; {RESIDENT_KIB} are allowed"
    );
    let served = u128::from(report["served_three_calls_us"].as_u64().unwrap_or(u64::MAX));
    ensure!(
        served < SERVED_US,
        "through `serve` a run takes {served} us; {SERVED_US} are allowed"
    );
    Ok(())
}

struct Contestant {
    name: &'static str,
    engine: Arc<dyn Engine>,
    samples: usize,
}

impl Contestant {
    fn new(name: &'static str, engine: impl Engine + 'static, samples: usize) -> Self {
        Self {
            name,
            engine: Arc::new(engine),
            samples,
        }
    }
}

fn quickjs(binary: &Path, warm: usize) -> ProcessEngine {
    let mut options = Options::default();
    options.warm = warm;
    ProcessEngine::with_options("quickjs", Worker::path(binary), options)
}

fn node(binary: &Path) -> ProcessEngine {
    let mut options = Options::default();
    options.warm = 0;
    ProcessEngine::external(Arc::new(Node::new()), Worker::path(binary), options)
}

/// Runs a program in all engines, one after the other, and tells their times.
async fn compare(engines: &mut [Contestant], source: &str, expected: &Value) -> Result<Value> {
    let rounds = engines.iter().map(|one| one.samples).max().unwrap_or(0);
    let mut times: Vec<Vec<Duration>> = engines.iter().map(|_| Vec::new()).collect();
    for round in 0..rounds {
        for (contestant, times) in engines.iter().zip(&mut times) {
            if round >= contestant.samples {
                continue;
            }
            tokio::time::sleep(PAUSE).await;
            let (took, report) = timed(contestant, source, &Limits::default()).await;
            ensure!(
                report.value() == Some(expected),
                "{}: {report:?}",
                contestant.name
            );
            times.push(took);
        }
    }
    let mut shown = json!({});
    for (contestant, mut times) in engines.iter().zip(times) {
        times.sort_unstable();
        let at = |part: usize| as_micros(times[(times.len() - 1) * part / 100]);
        shown[contestant.name] = json!({ "median": at(50), "p90": at(90) });
    }
    Ok(shown)
}

async fn timed(contestant: &Contestant, source: &str, limits: &Limits) -> (Duration, RunReport) {
    let host = Arc::new(Tools::default());
    let started = Instant::now();
    let program = Program::new(source, 1, 1_700_000_000_000);
    let report = contestant.engine.run(program, host, limits).await;
    (started.elapsed(), report)
}

/// The best of three runs.
async fn many(engines: &[Contestant]) -> Result<Value> {
    let mut limits = Limits::default().with_wall(Duration::from_secs(60));
    limits.calls = 10_000;
    let mut shown = json!({});
    for contestant in engines {
        let mut best = Duration::MAX;
        for _ in 0..3 {
            let (took, report) = timed(contestant, MANY, &limits).await;
            ensure!(
                report.value() == Some(&json!(50_005_000)),
                "{}: {report:?}",
                contestant.name
            );
            best = best.min(took);
        }
        shown[contestant.name] = json!(as_millis(best));
    }
    Ok(shown)
}

/// How long programs without an end ran over their time, the start of the process included.
async fn late(engines: &[Contestant]) -> Result<Value> {
    let limits = Limits::default().with_wall(SHORT);
    let mut shown = json!({});
    for contestant in engines {
        let mut times = Vec::new();
        for source in ENDLESS {
            tokio::time::sleep(PAUSE).await;
            let (took, report) = timed(contestant, source, &limits).await;
            let code = report.error().map(|error| &error.code);
            ensure!(
                code == Some(&ErrorCode::Timeout),
                "{}: {source}: {report:?}",
                contestant.name
            );
            times.push(as_millis(took.saturating_sub(SHORT)));
        }
        times.sort_unstable();
        shown[contestant.name] = json!({ "median": times[times.len() / 2], "most": times.last() });
    }
    Ok(shown)
}

/// What a worker holds before its program, and the most it held in one that does little.
async fn memory(engines: &[Contestant]) -> Result<Value> {
    let mut shown = json!({});
    for contestant in engines {
        let host = Arc::new(Tools::default());
        contestant.engine.check()?;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let before = workers("VmRSS:").into_iter().max();
        let program = Program::new(MEMORY, 1, 0);
        let shared: Arc<dyn Host> = Arc::clone(&host) as Arc<dyn Host>;
        let report = contestant
            .engine
            .run(program, shared, &Limits::default())
            .await;
        ensure!(report.is_completed(), "{}: {report:?}", contestant.name);
        let peak = *host.peak.lock().unwrap_or_else(PoisonError::into_inner);
        shown[contestant.name] = json!({ "before": before, "peak": peak });
    }
    Ok(shown)
}

/// A line of the status of each child of this process, in KiB.
fn workers(line: &str) -> Vec<u64> {
    let own = std::process::id().to_string();
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let status =
        |entry: std::fs::DirEntry| std::fs::read_to_string(entry.path().join("status")).ok();
    let field = |status: &str, name: &str| {
        let text = status.lines().find_map(|line| line.strip_prefix(name))?;
        text.split_whitespace().next().map(str::to_owned)
    };
    processes
        .flatten()
        .filter_map(status)
        .filter(|status| field(status, "PPid:").as_ref() == Some(&own))
        .filter_map(|status| field(&status, line)?.parse().ok())
        .collect()
}

/// A host that answers at once.
#[derive(Debug, Default)]
struct Tools {
    peak: Mutex<Option<u64>>,
}

#[async_trait::async_trait]
impl Host for Tools {
    async fn call(&self, method: &str, args: Value) -> HostReply {
        let value = match method {
            "search" => json!([{ "id": "add", "name": "add", "description": "Add two numbers." }]),
            "describe" => json!({ "id": "add", "inputSchema": { "type": "object" } }),
            _ if args["id"] == "memory" => {
                let mut peak = self.peak.lock().unwrap_or_else(PoisonError::into_inner);
                *peak = workers("VmHWM:").into_iter().max();
                json!({ "tool": {}, "result": {} })
            }
            _ => {
                let input = &args["args"];
                let sum = input["a"].as_i64().unwrap_or(0) + input["b"].as_i64().unwrap_or(0);
                json!({ "tool": { "id": "add" }, "result": { "content": [], "structuredContent": { "sum": sum } } })
            }
        };
        HostReply::Value(value)
    }
}

/// The median of a program with three calls through `toolsearch serve`, sample tools behind it.
fn served(binary: &Path) -> Result<u64> {
    let home = tempfile::tempdir()?;
    let mut client = Client::start(binary, home.path())?;
    let code = "const hits = await tools.search('list contacts', { limit: 3 });
        const tool = await tools.describe(hits[0].id);
        const { result } = await tools.call(tool.id, {});
        return result.isError !== true;";
    let mut times = Vec::new();
    for _ in 0..60 {
        std::thread::sleep(PAUSE);
        let started = Instant::now();
        let params = json!({ "name": "tool_search_code", "arguments": { "code": code } });
        let answer = client.ask("tools/call", &params)?;
        times.push(started.elapsed());
        let text = answer["result"]["content"][0]["text"].as_str();
        let reply: Value = serde_json::from_str(text.unwrap_or_default())?;
        ensure!(reply["value"] == json!(true), "{answer}");
    }
    times.sort_unstable();
    Ok(as_micros(times[times.len() / 2]))
}

/// The least that an MCP client must be.
struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    requests: u64,
}

impl Client {
    fn start(binary: &Path, home: &Path) -> Result<Self> {
        let config = home.join("toolsearch.json5");
        std::fs::write(&config, "{}")?;
        let mut child = Command::new(binary)
            .args(["--mode", "code", "serve", "--stdio"])
            .current_dir(home)
            .env("TOOLSEARCH_CONFIG", &config)
            .env("XDG_STATE_HOME", home)
            .env("XDG_CONFIG_HOME", home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (stdin, stdout) = pipes.context("pipes were asked for")?;
        let mut client = Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
            requests: 0,
        };
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "bench", "version": "1" },
        });
        client.ask("initialize", &hello)?;
        client.write(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn write(&mut self, message: &Value) -> Result<()> {
        self.stdin.write_all(format!("{message}\n").as_bytes())?;
        Ok(self.stdin.flush()?)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.requests += 1;
        let id = json!(self.requests);
        self.write(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line)? == 0 {
                bail!("the server ended");
            }
            let message: Value = serde_json::from_str(&line)?;
            if message.get("id") == Some(&id) {
                return Ok(message);
            }
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn as_micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn as_millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
