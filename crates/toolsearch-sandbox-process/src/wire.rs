//! The frames of a conversation: one JSON document a line, on the worker's standard input and output.
//!
//! ```text
//! worker                        host
//!   ready ────────────────────────▶   or refused
//!         ◀──────────────────── run
//!   call, sleep, log, skipped ────▶
//!         ◀──────────────── answer
//!   wait (all answers seen) ──────▶
//!         ◀─────────────────── stop   at the deadline
//!   done ─────────────────────────▶   then the host kills the worker
//! ```

use std::{fmt::Write as _, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use toolsearch_sandbox::{
    GuestOutcome, HostError, Layers, Limits, LogLevel, LogLine, Program, RunError,
    javascript::Thrown,
};

/// Both sides must speak the same version; a worker may be another binary.
pub(crate) const VERSION: u32 = toolsearch_sandbox::PROTOCOL;

/// Room around the largest payload of a frame.
pub(crate) const ENVELOPE: usize = 4 << 10;

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromWorker {
    Ready {
        version: u32,
        engine: String,
        layers: Layers,
    },
    Refused {
        reason: String,
    },
    Call {
        id: u32,
        method: String,
        args: Value,
    },
    Sleep {
        id: u32,
        ms: u64,
    },
    Log(LogLine),
    Skipped {
        lines: u64,
    },
    Wait {
        seen: u64,
    },
    Done(Outcome),
}

/// How the guest's run ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    Nothing {
        hints: Vec<String>,
    },
    Value {
        value: Value,
        hints: Vec<String>,
    },
    Cut {
        head: String,
        hints: Vec<String>,
    },
    Failed(Box<RunError>),
    /// From an interpreter; the host reads it.
    Threw(Box<Thrown>),
}

/// What a host says, as the worker reads it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToWorker<'a> {
    Run(Run),
    #[serde(borrow)]
    Answer(Answer<'a>),
    Stop,
}

/// The program and its limits.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) source: String,
    pub(crate) seed: u64,
    pub(crate) epoch_ms: i64,
    pub(crate) limits: WireLimits,
}

/// The limits that the worker keeps itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireLimits {
    wall_ms: u64,
    memory_bytes: usize,
    stack_bytes: usize,
    source_bytes: usize,
    pub(crate) output_bytes: usize,
    error_bytes: usize,
    calls: u32,
    in_flight: u32,
    frame_bytes: usize,
    timers: u32,
}

/// One answer: a value, which may be `null`, or an error.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer<'a> {
    pub(crate) id: u32,
    pub(crate) at_ms: u64,
    #[serde(borrow, default)]
    pub(crate) value: Option<&'a RawValue>,
    #[serde(default)]
    pub(crate) error: Option<HostError>,
}

impl FromWorker {
    pub(crate) fn to_line(&self) -> String {
        // Maps with text keys and finite numbers only: this cannot fail.
        let mut line = serde_json::to_string(self).unwrap_or_default();
        line.push('\n');
        line
    }
}

/// A call frame around arguments that are JSON text already.
pub(crate) fn call_line(id: u32, method: &str, args: &str) -> String {
    let mut line = String::with_capacity(args.len() + 64);
    let method = Value::from(method);
    let _ = write!(
        line,
        r#"{{"call":{{"id":{id},"method":{method},"args":{args}}}}}"#
    );
    line.push('\n');
    line
}

/// A done frame. The value, if there is one, is JSON text already.
pub(crate) fn done_line(outcome: GuestOutcome) -> String {
    let outcome = match outcome {
        GuestOutcome::Value { json, hints } => {
            let hints = Value::from(hints);
            return format!(r#"{{"done":{{"value":{{"value":{json},"hints":{hints}}}}}}}"#) + "\n";
        }
        GuestOutcome::Nothing { hints } => Outcome::Nothing { hints },
        GuestOutcome::Cut { head, hints } => Outcome::Cut { head, hints },
        GuestOutcome::Failed(error) => Outcome::Failed(Box::new(error)),
        other => unsupported(&other),
    };
    FromWorker::Done(outcome).to_line()
}

fn unsupported(outcome: &GuestOutcome) -> Outcome {
    let message = format!("the worker cannot report {outcome:?}");
    Outcome::Failed(Box::new(RunError::new("protocol_error".into(), message)))
}

/// A log frame.
pub(crate) fn log_line(line: LogLine) -> String {
    FromWorker::Log(line).to_line()
}

/// A log frame of a line whose level is no longer known.
pub(crate) fn late_log_line(text: String) -> String {
    log_line(LogLine::new(LogLevel::Info, text))
}

/// The run frame.
pub(crate) fn run_line(source: String, program: &Program, limits: &Limits) -> String {
    let run = Run {
        source,
        seed: program.seed,
        epoch_ms: program.epoch_ms,
        limits: limits.into(),
    };
    line_of("run", &serde_json::to_string(&run).unwrap_or_default())
}

/// An answer frame, or the error to send instead when the value is too large to enter the guest.
pub(crate) fn answer_line(
    id: u32,
    at_ms: u64,
    answer: &Result<Value, HostError>,
    max: usize,
) -> String {
    let body = match answer {
        Ok(value) => {
            let text = value.to_string();
            if text.len() > max {
                let message = format!(
                    "the result has {} bytes; at most {max} can enter a program",
                    text.len()
                );
                return answer_line(
                    id,
                    at_ms,
                    &Err(HostError::new("tool_error".into(), message)),
                    max,
                );
            }
            format!(r#""value":{text}"#)
        }
        Err(error) => format!(
            r#""error":{}"#,
            serde_json::to_string(error).unwrap_or_default()
        ),
    };
    line_of(
        "answer",
        &format!(r#"{{"id":{id},"at_ms":{at_ms},{body}}}"#),
    )
}

/// The stop frame.
pub(crate) const STOP_LINE: &str = "\"stop\"\n";

fn line_of(kind: &str, body: &str) -> String {
    format!("{{\"{kind}\":{body}}}\n")
}

impl From<&Limits> for WireLimits {
    fn from(limits: &Limits) -> Self {
        Self {
            wall_ms: u64::try_from(limits.wall.as_millis()).unwrap_or(u64::MAX),
            memory_bytes: limits.memory_bytes,
            stack_bytes: limits.stack_bytes,
            source_bytes: limits.source_bytes,
            output_bytes: limits.output_bytes,
            error_bytes: limits.error_bytes,
            calls: limits.calls,
            in_flight: limits.in_flight,
            frame_bytes: limits.frame_bytes,
            timers: limits.timers,
        }
    }
}

impl From<WireLimits> for Limits {
    fn from(wire: WireLimits) -> Self {
        let mut limits = Self::default();
        limits.wall = Duration::from_millis(wire.wall_ms);
        limits.memory_bytes = wire.memory_bytes;
        limits.stack_bytes = wire.stack_bytes;
        limits.source_bytes = wire.source_bytes;
        limits.output_bytes = wire.output_bytes;
        limits.error_bytes = wire.error_bytes;
        limits.calls = wire.calls;
        limits.in_flight = wire.in_flight;
        limits.frame_bytes = wire.frame_bytes;
        limits.timers = wire.timers;
        limits
    }
}
