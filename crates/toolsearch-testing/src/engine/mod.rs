//! Code engines: fakes of both sides, and the rules that every engine keeps.
//!
//! The programs of the suite are written in the engine's own language, see [`Programs`].

mod abuse;
mod fakes;
mod hosts;
mod replay;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolsearch_sandbox::{
    Engine, ErrorCode, Host, Limits, Program, RunError, RunReport, RunStatus, RunValue,
};

pub use abuse::{Footprint, abuse_file, stops_in_time, withstands, withstands_lines};
pub use fakes::{EngineFn, RecordingHost};
use hosts::TestHost;

use crate::wait::{eventually, in_time};

/// Seed and clock of every run.
const SEED: u64 = 7;
const EPOCH_MS: i64 = 1_700_000_000_000;
/// Wall clock of programs that do not end.
const SHORT: Duration = Duration::from_millis(400);

/// The programs of the suite. The default is JavaScript. A call with arguments `{n}` of the tool `step`
/// is answered with the value `{n}`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Programs {
    /// Returns `{"sum": 3, "text": "ç🚀"}` and logs `one` and `two`.
    pub value: String,
    /// Returns nothing.
    pub nothing: String,
    /// Calls `step` with 1 to 5, each after the one before, and returns the list of their `n`.
    pub in_order: String,
    /// Calls `step` with 0 to 8 at once and returns the list of their `n`.
    pub at_once: String,
    /// Calls `step` again and again, ten times.
    pub ten_calls: String,
    /// Throws its own `TypeError` with the text `broken on purpose`.
    pub throws: String,
    /// Calls `fail` and does not catch.
    pub uncaught: String,
    /// Calls `fail`, catches, and returns `[code, name, message]` of the error.
    pub caught: String,
    /// Calls `fail`, waits for nothing, and claims success.
    pub forgotten: String,
    /// Is no program.
    pub broken: String,
    /// Calls `step` once and then never ends.
    pub endless: String,
    /// Calls `hang`, which does not answer.
    pub hangs: String,
    /// Returns a text of 200,000 characters.
    pub large: String,
    /// Logs 2,000 long lines and returns 1.
    pub chatty: String,
    /// Returns three random numbers and the time.
    pub chance: String,
    /// Leaves something behind for a later run, and returns whether an earlier one did.
    pub leaves: String,
    /// Calls `step` 1, `ask` 2 and `step` 3, each after the one before, and returns their `n`.
    pub asks: String,
    /// Calls `step` 1, then at once `ask` 2 and `ask` 3, then `step` 4, and returns their `n`.
    pub asks_twice: String,
    /// Calls `step` 1 and then `step` 9 where [`Programs::asks`] calls `ask` 2.
    pub differs: String,
}

impl Default for Programs {
    fn default() -> Self {
        Self::javascript()
    }
}

impl Programs {
    /// The programs in JavaScript.
    #[must_use]
    pub fn javascript() -> Self {
        let own = str::to_owned;
        let step = "const step = async (id, n) => (await tools.callValue(id, { n })).n;\n";
        let with_step = |body: &str| format!("{step}{body}");
        Self {
            value: own(
                "console.log('one'); console.log('two'); return { sum: 1 + 2, text: 'ç🚀' };",
            ),
            nothing: own("const a = 1;"),
            in_order: with_step(
                "const all = [];\nfor (let n = 1; n <= 5; n++) all.push(await step('step', n));\nreturn all;",
            ),
            at_once: with_step(
                "return await Promise.all([0, 1, 2, 3, 4, 5, 6, 7, 8].map((n) => step('step', n)));",
            ),
            ten_calls: with_step(
                "for (let n = 0; n < 10; n++) await step('step', n);\nreturn 'done';",
            ),
            throws: own("const a = 1;\nthrow new TypeError('broken on purpose');"),
            uncaught: own("await tools.call('fail', { n: 0 });\nreturn 'done';"),
            caught: own(
                "try { await tools.call('fail', { n: 0 }); } catch (e) { return [e.code, e.name, e.message]; }",
            ),
            forgotten: own("tools.call('fail', { n: 0 });\nreturn 'done';"),
            broken: own("return ((("),
            endless: with_step("await step('step', 1);\nwhile (true) {}"),
            hangs: own("await tools.call('hang', { n: 0 });\nreturn 'done';"),
            large: own("return 'x'.repeat(200000);"),
            chatty: own(
                "for (let i = 0; i < 2000; i++) console.log(i + ' ' + 'y'.repeat(100));\nreturn 1;",
            ),
            chance: own("return [Math.random(), Math.random(), Math.random(), Date.now()];"),
            leaves: own(
                "const before = typeof globalThis.left;\nglobalThis.left = 1;\nObject.prototype.left = 1;\nreturn before !== 'undefined';",
            ),
            asks: with_step(
                "return [await step('step', 1), await step('ask', 2), await step('step', 3)];",
            ),
            asks_twice: with_step(
                "const a = await step('step', 1);\nconst [b, c] = await Promise.all([step('ask', 2), step('ask', 3)]);\nreturn [a, b, c, await step('step', 4)];",
            ),
            differs: with_step(
                "return [await step('step', 1), await step('step', 9), await step('step', 3)];",
            ),
        }
    }
}

/// An engine under test.
pub struct Bench {
    engine: Arc<dyn Engine>,
    programs: Programs,
    runs: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl fmt::Debug for Bench {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bench")
            .field("engine", &self.engine)
            .finish_non_exhaustive()
    }
}

impl Bench {
    /// An engine that runs JavaScript.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>) -> Self {
        Self {
            engine,
            programs: Programs::javascript(),
            runs: None,
        }
    }

    /// The programs in the engine's own language.
    #[must_use]
    pub fn speaking(mut self, programs: Programs) -> Self {
        self.programs = programs;
        self
    }

    /// Tells whether any guest is at work now, such as a busy child process. Without it the suite sees
    /// the end of a dropped run only by its host.
    #[must_use]
    pub fn watched_by(mut self, runs: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.runs = Some(Box::new(runs));
        self
    }

    async fn run(&self, source: &str, host: &Arc<TestHost>, limits: &Limits) -> RunReport {
        self.program(Program::new(source, SEED, EPOCH_MS), host, limits)
            .await
    }

    async fn program(&self, program: Program, host: &Arc<TestHost>, limits: &Limits) -> RunReport {
        let host: Arc<dyn Host> = Arc::clone(host) as Arc<dyn Host>;
        let report = in_time("a run ends", self.engine.run(program, host, limits)).await;
        assert_eq!(
            report.engine,
            self.engine.name(),
            "a report names its engine"
        );
        report
    }

    /// The value of a run that must complete.
    async fn value(&self, source: &str) -> Value {
        let host = Arc::new(TestHost::new());
        completed(&self.run(source, &host, &Limits::default()).await, source)
    }

    /// The error of a run that must fail.
    async fn error(&self, source: &str, limits: &Limits) -> RunError {
        let host = Arc::new(TestHost::new());
        failed(&self.run(source, &host, limits).await, source)
    }
}

/// Holds an engine to the rules of the contract. Its host answers `call` with `{"tool": …, "result":
/// {"structuredContent": {"n": …}}}`.
///
/// # Panics
/// At the first broken rule.
pub async fn conforms(bench: &Bench) {
    checks_are_repeatable(bench);
    values_come_back(bench).await;
    calls_reach_the_host(bench).await;
    errors_keep_their_words(bench).await;
    the_wall_clock_holds(bench).await;
    sizes_and_counts_hold(bench).await;
    runs_are_apart(bench).await;
    dropping_ends_the_guest(bench).await;
    replay::conforms(bench).await;
    values_come_back(bench).await;
}

/// Holds an engine that cannot be used here to saying so: its check fails, and a run is a report with
/// `engine_unavailable`.
///
/// # Panics
/// At the first broken rule.
pub async fn is_unavailable(engine: Arc<dyn Engine>) {
    let Err(why) = engine.check() else {
        panic!("`{}` says that it can be used", engine.name());
    };
    assert!(!why.reason.is_empty(), "a reason for a person");
    assert_eq!(engine.check(), Err(why), "checked twice");
    let bench = Bench::new(engine);
    let source = bench.programs.value.clone();
    let error = bench.error(&source, &Limits::default()).await;
    assert_eq!(error.code, ErrorCode::EngineUnavailable, "{error}");
}

fn checks_are_repeatable(bench: &Bench) {
    let engine = &bench.engine;
    assert!(!engine.name().is_empty(), "an engine has a name");
    let first = engine.check();
    let layers = first
        .clone()
        .unwrap_or_else(|error| panic!("`{}`: {error}", engine.name()));
    assert_eq!(first, engine.check(), "checked twice");
    assert!(
        layers.list.iter().all(|layer| !layer.name.is_empty()),
        "a layer has a name: {layers:?}"
    );
}

async fn values_come_back(bench: &Bench) {
    let host = Arc::new(TestHost::new());
    let report = bench
        .run(&bench.programs.value, &host, &Limits::default())
        .await;
    let value = completed(&report, "value");
    assert_eq!(value, json!({"sum": 3, "text": "ç🚀"}));
    assert_eq!(report.logs, ["one", "two"], "logs in order");
    assert_eq!(host.logs(), ["one", "two"], "the host sees each line");
    assert_eq!((report.calls, report.truncated.any()), (0, false));

    let report = bench
        .run(&bench.programs.nothing, &host, &Limits::default())
        .await;
    assert_eq!(report.status, RunStatus::Completed(RunValue::Nothing));
    assert!(!report.hints.is_empty(), "nothing returned is said");
}

async fn calls_reach_the_host(bench: &Bench) {
    let host = Arc::new(TestHost::new());
    let limits = Limits::default();
    let report = bench.run(&bench.programs.in_order, &host, &limits).await;
    assert_eq!(completed(&report, "in_order"), json!([1, 2, 3, 4, 5]));
    assert_eq!(host.steps(), [1, 2, 3, 4, 5], "calls arrive in order");
    assert_eq!(report.calls, 5);

    let mut limits = Limits::default();
    limits.in_flight = 3;
    let host = Arc::new(TestHost::meeting(3));
    let report = bench.run(&bench.programs.at_once, &host, &limits).await;
    let expected: Vec<u64> = (0..9).collect();
    assert_eq!(completed(&report, "at_once"), json!(expected));
    assert_eq!(host.steps(), expected, "calls arrive in order");
    assert_eq!(host.most_open(), 3, "as many at once as allowed, no more");
}

async fn errors_keep_their_words(bench: &Bench) {
    let limits = Limits::default();
    let own = bench.error(&bench.programs.throws, &limits).await;
    assert_eq!(own.code, ErrorCode::GuestError, "{own}");
    assert_eq!(own.name, "TypeError", "{own}");
    assert!(own.message.contains("broken on purpose"), "{own}");

    for code in [
        ErrorCode::ToolError,
        ErrorCode::PolicyDenied,
        ErrorCode::ApprovalDenied,
        ErrorCode::from("quota_exceeded"),
    ] {
        let host = Arc::new(TestHost::failing(code.clone(), "E42: the disk is full"));
        for source in [&bench.programs.uncaught, &bench.programs.forgotten] {
            let report = bench.run(source, &host, &limits).await;
            let error = failed(&report, source);
            assert_eq!(
                error.code, code,
                "an uncaught error gives its code: {error}"
            );
            assert_eq!(error.name, host.failure().name, "{error}");
            assert!(error.message.contains("E42: the disk is full"), "{error}");
        }
        let report = bench.run(&bench.programs.caught, &host, &limits).await;
        let failure = host.failure();
        assert_eq!(
            completed(&report, "caught"),
            json!([failure.code, failure.name, failure.message]),
            "a caught error"
        );
    }
    let broken = bench.error(&bench.programs.broken, &limits).await;
    assert_eq!(broken.code, ErrorCode::SyntaxError, "{broken}");
    assert!(!broken.message.is_empty());
}

async fn the_wall_clock_holds(bench: &Bench) {
    let limits = Limits::default().with_wall(SHORT);
    for source in [&bench.programs.endless, &bench.programs.hangs] {
        let host = Arc::new(TestHost::new());
        let report = bench.run(source, &host, &limits).await;
        let error = failed(&report, source);
        assert_eq!(error.code, ErrorCode::Timeout, "{source}\n{error}");
        assert!(report.duration >= SHORT, "{:?}", report.duration);
        eventually("a run that ends drops its calls", || host.open() == 0).await;
    }
}

async fn sizes_and_counts_hold(bench: &Bench) {
    let mut limits = Limits::default();
    limits.output_bytes = 2_000;
    let host = Arc::new(TestHost::new());
    let report = bench.run(&bench.programs.large, &host, &limits).await;
    let value = completed(&report, "large");
    let text = value.as_str().unwrap_or_default();
    assert!(
        report.truncated.value && text.starts_with("\"xxx"),
        "{text:.80}"
    );
    assert!(text.len() <= limits.output_bytes, "{} bytes", text.len());

    let report = bench.run(&bench.programs.chatty, &host, &limits).await;
    assert_eq!(completed(&report, "chatty"), json!(1));
    let bytes: usize = report.logs.iter().map(String::len).sum();
    assert!(report.truncated.logs, "cut logs are marked");
    assert!(bytes <= limits.output_bytes + 100, "{bytes} bytes of logs");
    let ends =
        |line: Option<&String>, number: &str| line.is_some_and(|line| line.starts_with(number));
    let kept = ends(report.logs.first(), "0 ") && ends(report.logs.last(), "1999 ");
    assert!(kept, "logs keep head and tail: {:?}", report.logs);

    let mut limits = Limits::default();
    limits.calls = 4;
    let host = Arc::new(TestHost::new());
    let report = bench.run(&bench.programs.ten_calls, &host, &limits).await;
    let error = failed(&report, "ten_calls");
    assert_eq!(error.code, ErrorCode::TooManyCalls, "{error}");
    assert_eq!(host.steps().len(), 4, "no more calls than allowed");

    let mut limits = Limits::default();
    limits.source_bytes = 10;
    let error = bench.error(&bench.programs.value, &limits).await;
    assert_eq!(error.code, ErrorCode::SourceTooLarge, "{error}");
}

async fn runs_are_apart(bench: &Bench) {
    for _ in 0..2 {
        let found = bench.value(&bench.programs.leaves).await;
        assert_eq!(found, json!(false), "nothing is left of an earlier run");
    }
    let first = bench.value(&bench.programs.chance).await;
    let second = bench.value(&bench.programs.chance).await;
    assert_eq!(first, second, "equal seed and clock, equal chance and time");
    let host = Arc::new(TestHost::new());
    let other = Program::new(bench.programs.chance.as_str(), SEED + 1, EPOCH_MS);
    let report = bench.program(other, &host, &Limits::default()).await;
    let other = completed(&report, "chance");
    assert_ne!(first[0], other[0], "another seed, another chance");

    let hosts: Vec<_> = (0..4).map(|_| Arc::new(TestHost::new())).collect();
    let tasks: Vec<_> = hosts
        .iter()
        .map(|host| {
            let engine = Arc::clone(&bench.engine);
            let program = Program::new(bench.programs.in_order.as_str(), SEED, EPOCH_MS);
            let host: Arc<dyn Host> = Arc::clone(host) as Arc<dyn Host>;
            tokio::spawn(async move { engine.run(program, host, &Limits::default()).await })
        })
        .collect();
    for task in tasks {
        let report = in_time("each of several runs ends", task).await;
        let report = report.expect("because a run must not panic");
        assert_eq!(completed(&report, "at once"), json!([1, 2, 3, 4, 5]));
    }
    for host in hosts {
        assert_eq!(host.steps(), [1, 2, 3, 4, 5], "each run asks its own host");
    }
}

async fn dropping_ends_the_guest(bench: &Bench) {
    for source in [&bench.programs.hangs, &bench.programs.endless] {
        let host = Arc::new(TestHost::new());
        let engine = Arc::clone(&bench.engine);
        let program = Program::new(source.as_str(), SEED, EPOCH_MS);
        let asked: Arc<dyn Host> = Arc::clone(&host) as Arc<dyn Host>;
        let limits = Limits::default().with_wall(Duration::from_secs(60));
        let task = tokio::spawn(async move { engine.run(program, asked, &limits).await });
        eventually("the guest makes its call", || !host.steps().is_empty()).await;
        task.abort();
        let ended = in_time("a dropped run ends", task).await;
        assert!(
            ended.is_err_and(|error| error.is_cancelled()),
            "a program without an end ended"
        );
        eventually("a dropped run drops its calls", || host.open() == 0).await;
        if let Some(runs) = &bench.runs {
            eventually("a dropped run ends its guest", || !runs()).await;
        }
    }
}

fn completed(report: &RunReport, what: &str) -> Value {
    match report.value() {
        Some(value) => value.clone(),
        None => panic!("{what}: completes with a value, not {:?}", report.status),
    }
}

fn failed(report: &RunReport, what: &str) -> RunError {
    match report.error() {
        Some(error) => error.clone(),
        None => panic!("{what}: fails, not {:?}", report.status),
    }
}
