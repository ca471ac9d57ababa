//! Programs that mean harm, and what must come of each on every engine: nothing of the machine is reached, the
//! run ends in time and says why, a result cannot be forged.

mod control;
mod footprint;
mod programs;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolsearch_sandbox::{
    Engine, ErrorCode, Host, HostError, HostReply, Limits, Program, RunReport, RunStatus, RunValue,
};

use control::Control;
pub use footprint::Footprint;

use crate::wait::in_time;

/// Wall clock of programs that are to end by themselves; none comes near it.
const WALL: Duration = Duration::from_secs(20);
/// Wall clock of programs that take memory until they get no more, or until time is up.
const BOMB: Duration = Duration::from_millis(1500);
/// Wall clock of programs that never end.
const SHORT: Duration = Duration::from_millis(300);

/// How long after its deadline a run may at most end.
const LATE: Duration = Duration::from_millis(100);
/// How often a program that never ends is tried before a late end is the engine's and not the machine's.
const TRIES: usize = 5;

/// One program.
#[derive(Debug)]
struct Abuse {
    name: &'static str,
    source: String,
    right: Right,
}

/// What may come of a program.
#[derive(Debug)]
enum Right {
    /// This value.
    Is(Value),
    /// Some value, cut to the output budget.
    Cut,
    /// Nothing returned.
    Nothing,
    /// One of these codes.
    Fails(&'static [ErrorCode]),
    /// Ends at the deadline.
    Endless,
    /// Runs out of memory, of time, or is refused the memory.
    Bomb,
}

/// Runs every program.
///
/// # Panics
/// At the first program of which something else comes than must.
pub async fn withstands(engine: &dyn Engine) {
    for abuse in programs::all() {
        let wall = match abuse.right {
            Right::Endless => continue,
            Right::Bomb => BOMB,
            _ => WALL,
        };
        let report = run(engine, &abuse.source, wall, &Arc::new(Tools::default())).await;
        abuse.judge(&report);
    }
    stops_in_time(engine).await;
}

/// Runs the programs that never end. Each must be stopped within 100 ms after its deadline, apart from what
/// this machine kept a thread beside the run waiting meanwhile. Tells how late each was by the clock, sorted,
/// counted from its first call, so without the start of a process.
///
/// # Panics
/// At the first program that is not stopped, or never in time when tried again.
pub async fn stops_in_time(engine: &dyn Engine) -> Vec<Duration> {
    let mut late = Vec::new();
    for abuse in programs::all() {
        if matches!(abuse.right, Right::Endless) {
            late.push(stops(engine, &abuse).await);
        }
    }
    late.sort_unstable();
    late
}

async fn stops(engine: &dyn Engine, abuse: &Abuse) -> Duration {
    let source = format!("await tools.search('begin'); {}", abuse.source);
    let mut tried = Vec::new();
    while tried.len() < TRIES {
        let tools = Arc::new(Tools::default());
        let control = Control::start();
        let report = run(engine, &source, SHORT, &tools).await;
        let end = Instant::now();
        abuse.judge(&report);
        let begun = *tools.begun.lock().unwrap_or_else(PoisonError::into_inner);
        // One that got no time to begin shows nothing.
        let deadline = begun.map_or(end, |begun| begun + SHORT);
        let late = end.saturating_duration_since(deadline);
        let kept = control.kept_waiting(deadline, end);
        if begun.is_some() && late.saturating_sub(kept) <= LATE {
            return late;
        }
        tried.push((late, kept));
    }
    panic!(
        "{}: ends late, by so much, of which the machine took so much: {tried:?}",
        abuse.name
    );
}

/// The same for programs from a file: one JSON object a line with `id`, `code`, and for each engine
/// `measured.<engine>.outcome` and `detail`, a class of what came of it elsewhere.
///
/// # Panics
/// At the first program of which something of another class comes.
pub async fn withstands_lines(engine: &dyn Engine, lines: &str) -> usize {
    let mut count = 0;
    for line in lines.lines().filter(|line| !line.trim().is_empty()) {
        let entry: Value = serde_json::from_str(line).expect("because each line is a JSON object");
        let source = entry["code"].as_str().unwrap_or_default();
        // What one engine lacks, another may lack as well.
        let measured = &entry["measured"];
        let wall = if ends(measured) { WALL } else { BOMB };
        let report = run(engine, source, wall, &Arc::new(Tools::default())).await;
        let mut classes = measured
            .as_object()
            .into_iter()
            .flat_map(|all| all.values());
        let known = classes.any(|one| like(one["outcome"].as_str().unwrap_or_default(), &report));
        let right = known && !shows_more(measured, &report);
        assert!(right, "{} was {measured} and is {report:#?}", entry["id"]);
        count += 1;
    }
    count
}

/// The file of further programs that `TOOLSEARCH_ABUSE` names, if it does.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn abuse_file() -> Option<String> {
    let path = std::env::var_os("TOOLSEARCH_ABUSE")?;
    Some(std::fs::read_to_string(path).expect("because TOOLSEARCH_ABUSE names a file"))
}

async fn run(engine: &dyn Engine, source: &str, wall: Duration, tools: &Arc<Tools>) -> RunReport {
    let limits = Limits::default().with_wall(wall);
    let program = Program::new(source, super::SEED, super::EPOCH_MS);
    let host: Arc<dyn Host> = Arc::clone(tools) as Arc<dyn Host>;
    in_time("a hostile run ends", engine.run(program, host, &limits)).await
}

impl Abuse {
    /// Holds that the right thing came of it.
    fn judge(&self, report: &RunReport) {
        let Self { name, right, .. } = self;
        assert!(right.holds(report), "{name}: {right:?}\nfrom {report:#?}");
    }
}

impl Right {
    fn holds(&self, report: &RunReport) -> bool {
        let code = report.error().map(|error| &error.code);
        match self {
            Self::Is(value) => report.value() == Some(value),
            Self::Cut => report.is_completed() && report.truncated.any(),
            Self::Nothing => report.status == RunStatus::Completed(RunValue::Nothing),
            Self::Fails(codes) => code.is_some_and(|code| codes.contains(code)),
            Self::Endless => code == Some(&ErrorCode::Timeout),
            Self::Bomb => match report.error() {
                Some(error) if error.code == ErrorCode::GuestError => {
                    ["RangeError", "InternalError"].contains(&error.name.as_str())
                }
                Some(error) => [ErrorCode::OutOfMemory, ErrorCode::Timeout].contains(&error.code),
                None => false,
            },
        }
    }
}

/// Whether a program ended everywhere by itself.
fn ends(measured: &Value) -> bool {
    let mut classes = measured
        .as_object()
        .into_iter()
        .flat_map(|all| all.values());
    classes.all(|one| {
        let class = one["outcome"].as_str().unwrap_or_default();
        !["Timeout", "KilledTimeout", "Crashed", "InternalError"].contains(&class)
    })
}

/// Whether a report is of the class that was measured elsewhere, or of a milder one.
fn like(class: &str, report: &RunReport) -> bool {
    let Some(error) = report.error() else {
        // Cut, shown in another form, or refused later.
        return !["Timeout", "KilledTimeout", "CallLimit", "SyntaxError"].contains(&class);
    };
    match class {
        // More calls than allowed is said where no limit was measured.
        "OK" => error.code == ErrorCode::TooManyCalls,
        "Timeout" | "KilledTimeout" => {
            [ErrorCode::Timeout, ErrorCode::OutOfMemory].contains(&error.code)
        }
        "CallLimit" => error.code == ErrorCode::TooManyCalls,
        "SyntaxError" => error.code == ErrorCode::SyntaxError,
        "Crashed" | "InternalError" => {
            let codes = [
                ErrorCode::OutOfMemory,
                ErrorCode::Timeout,
                ErrorCode::TooManyCalls,
                ErrorCode::GuestError,
            ];
            codes.contains(&error.code)
        }
        _ => [ErrorCode::GuestError, ErrorCode::OutOfMemory].contains(&error.code),
    }
}

/// Whether a value tells of a module, or of something of the machine where nothing was seen elsewhere.
fn shows_more(measured: &Value, report: &RunReport) -> bool {
    let text = report.value().map(Value::to_string).unwrap_or_default();
    let before = measured.to_string();
    text.contains("IMPORTED")
        || ["\"object\"", "\"function\""]
            .iter()
            .any(|word| text == *word && !before.contains(word.trim_matches('"')))
}

/// `fail` fails, `never` never answers, everything else answers what it was given.
#[derive(Debug, Default)]
struct Tools {
    /// When the program's first search came.
    begun: Mutex<Option<Instant>>,
}

#[async_trait]
impl Host for Tools {
    async fn call(&self, method: &str, args: Value) -> HostReply {
        let given = &args["args"];
        match (method, args["id"].as_str().unwrap_or_default()) {
            ("search", _) => {
                let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
                begun.get_or_insert_with(Instant::now);
                HostReply::Value(json!([{ "id": "echo", "name": "echo" }]))
            }
            ("describe", id) => HostReply::Value(json!({ "id": id })),
            (_, "fail") => HostReply::Error(HostError::new(ErrorCode::ToolError, "it failed")),
            (_, "never") => std::future::pending().await,
            (_, id) => HostReply::Value(json!({
                "tool": { "id": id },
                "result": { "content": [], "structuredContent": { "given": given } },
            })),
        }
    }
}
