//! How a conversation ends, and the report about it. All bounds on what a worker said last are kept here.

use std::process::ExitStatus;

use serde_json::Value;
use toolsearch_sandbox::{
    ErrorCode, RunError, RunReport, RunStatus, RunValue, Truncated, cut_text,
};

use super::Conversation;
use crate::{spawn::Spawned, wire::Outcome};

/// Most hints of one run.
const HINTS: usize = 8;

/// Last words of processes that ran out of memory.
const OUT_OF_MEMORY: [&str; 4] = [
    "memory allocation of",
    "heap out of memory",
    "Last few GCs",
    "process OOM",
];

pub(crate) enum End {
    Completed(Outcome),
    Failed(RunError),
    /// With what the guest said about it.
    TimedOut(Option<Box<RunError>>),
    Suspended,
    /// The worker is gone without a last word.
    Died,
}

impl End {
    pub(crate) fn protocol(text: impl Into<String>) -> Self {
        Self::Failed(RunError::new(ErrorCode::ProtocolError, text))
    }
}

/// Makes the report. The worker is killed when the caller drops it.
pub(crate) async fn report(
    engine: &str,
    talk: Conversation<'_>,
    end: End,
    worker: &mut Spawned,
    complaint: &[u8],
) -> RunReport {
    let limits = talk.limits;
    let mut hints = Vec::new();
    let mut truncated = Truncated::default();
    let (calls, paused, over_time) = (talk.made, talk.clock.paused(), talk.stop_by.is_some());
    let mut status = match end {
        End::Completed(outcome) => RunStatus::Completed(value_of(
            outcome,
            limits.output_bytes,
            &mut hints,
            &mut truncated,
        )),
        End::Failed(error) => RunStatus::Failed(error),
        End::TimedOut(said) => RunStatus::Failed(timeout(limits.wall.as_millis(), said)),
        End::Suspended => RunStatus::Suspended {
            journal: talk.ledger.into_journal(),
        },
        End::Died if over_time => RunStatus::Failed(timeout(limits.wall.as_millis(), None)),
        End::Died => RunStatus::Failed(cause_of_death(worker, complaint).await),
    };
    if let RunStatus::Failed(error) = &mut status {
        truncated.error = error.bound(limits.error_bytes);
    }
    hints.truncate(HINTS);
    for hint in &mut hints {
        cut_text(hint, limits.error_bytes);
    }
    let used = match &status {
        RunStatus::Completed(RunValue::Json(value)) => value.to_string().len(),
        _ => 0,
    };
    let (logs, logs_cut) = talk.logs.finish(limits.output_bytes.saturating_sub(used));
    truncated.logs = logs_cut;
    let mut report = RunReport::new(engine, status);
    report.logs = logs;
    report.truncated = truncated;
    report.hints = hints;
    report.calls = calls;
    report.paused = paused;
    report
}

fn value_of(
    outcome: Outcome,
    max: usize,
    hints: &mut Vec<String>,
    truncated: &mut Truncated,
) -> RunValue {
    let (said, head) = match outcome {
        Outcome::Nothing { hints: said } => {
            hints.extend(said);
            return RunValue::Nothing;
        }
        Outcome::Value { value, hints: said } => {
            let text = value.to_string();
            if text.len() <= max {
                hints.extend(said);
                return RunValue::Json(value);
            }
            (said, text)
        }
        Outcome::Cut { head, hints: said } => (said, head),
        Outcome::Failed(_) | Outcome::Threw(_) => return RunValue::Nothing,
    };
    truncated.value = true;
    hints.push(format!(
        "the value was larger than {max} bytes and was cut; return only what is needed"
    ));
    hints.extend(said);
    RunValue::Json(cut_value(head, max))
}

/// The head of a JSON text as a string that, quoted, has at most `max` bytes and ends in a mark.
fn cut_value(mut head: String, max: usize) -> Value {
    let mark = format!("… [truncated: the value is larger than {max} bytes]");
    loop {
        let quoted = Value::from(format!("{head}{mark}"));
        let surplus = quoted.to_string().len().saturating_sub(max);
        if surplus == 0 || head.is_empty() {
            return quoted;
        }
        head.truncate(head.floor_char_boundary(head.len().saturating_sub(surplus.div_ceil(2))));
    }
}

fn timeout(wall_ms: u128, said: Option<Box<RunError>>) -> RunError {
    let text = format!("the program ran for more than {wall_ms} ms and was stopped");
    let mut error = RunError::new(ErrorCode::Timeout, text);
    if let Some(said) = said.filter(|said| said.code == ErrorCode::Timeout) {
        error.line = said.line;
        error.hint = said.hint;
    }
    error
}

/// Why a worker ended without a word.
async fn cause_of_death(worker: &mut Spawned, complaint: &[u8]) -> RunError {
    let text = String::from_utf8_lossy(complaint);
    tracing::debug!(complaint = %text, "a worker died");
    if OUT_OF_MEMORY.iter().any(|words| text.contains(words)) {
        return RunError::new(ErrorCode::OutOfMemory, "the program ran out of memory");
    }
    if text.contains("overflowed its stack") {
        let message = "the program is nested too deeply to be read";
        return RunError::new(ErrorCode::SyntaxError, message);
    }
    let status = exit_of(worker).await;
    #[cfg(unix)]
    if let Some(signal) =
        status.and_then(|status| std::os::unix::process::ExitStatusExt::signal(&status))
    {
        return by_signal(signal);
    }
    let text = match status {
        Some(status) => format!("the worker ended in the middle of the run ({status})"),
        None => "the worker closed its output in the middle of the run".to_owned(),
    };
    RunError::new(ErrorCode::ProtocolError, text)
}

#[cfg(unix)]
fn by_signal(signal: i32) -> RunError {
    let cpu = rustix::process::Signal::XCPU.as_raw();
    if signal == cpu {
        return RunError::new(ErrorCode::Timeout, "the program used up its processor time");
    }
    RunError::new(
        ErrorCode::ProtocolError,
        format!("the worker was ended by signal {signal} in the middle of the run"),
    )
}

/// Whether a worker that said nothing was ended from outside.
#[cfg(unix)]
pub(crate) async fn was_killed(worker: &mut Spawned) -> bool {
    use std::os::unix::process::ExitStatusExt;

    let kill = rustix::process::Signal::KILL.as_raw();
    let status = exit_of(worker).await;
    status.is_some_and(|status| status.signal() == Some(kill))
}

#[cfg(not(unix))]
pub(crate) async fn was_killed(_: &mut Spawned) -> bool {
    false
}

/// The exit status follows the end of the output within moments.
async fn exit_of(worker: &mut Spawned) -> Option<ExitStatus> {
    for _ in 0..50 {
        if let Some(status) = worker.status() {
            return Some(status);
        }
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    None
}
