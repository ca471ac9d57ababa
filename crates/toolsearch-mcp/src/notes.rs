//! What is remembered of one process for people: lines that were no messages, the end of standard
//! error, how it ended. All of it bounded and redacted on the way in.

use std::collections::VecDeque;
use std::process::ExitStatus;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::text::{MAX_LINE_CHARS, Redactor};

/// Junk lines that are kept; further ones are only counted.
const MAX_JUNK_LINES: usize = 10;
/// Last lines of standard error that are kept.
const MAX_STDERR_LINES: usize = 20;
/// Lines of standard error that stand in an error message.
const STDERR_LINES_IN_ERRORS: usize = 3;

#[derive(Debug)]
pub(crate) struct Notes {
    redactor: Redactor,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Kept {
    pub(crate) pid: Option<u32>,
    pub(crate) junk_lines: u64,
    pub(crate) junk: Vec<String>,
    pub(crate) stderr: VecDeque<String>,
    pub(crate) exit: Option<String>,
}

impl Notes {
    pub(crate) fn new(redactor: Redactor) -> Self {
        Self {
            redactor,
            kept: Mutex::default(),
        }
    }

    pub(crate) const fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    pub(crate) fn snapshot(&self) -> Kept {
        self.kept().clone()
    }

    pub(crate) fn started(&self, pid: Option<u32>) {
        self.kept().pid = pid;
    }

    /// A line on standard output that is no protocol message.
    pub(crate) fn junk(&self, line: &str, whole: bool) {
        let line = self.clean(line, whole);
        if line.is_empty() {
            return;
        }
        tracing::debug!(line, "line on standard output is no protocol message");
        let mut kept = self.kept();
        kept.junk_lines += 1;
        if kept.junk.len() < MAX_JUNK_LINES {
            kept.junk.push(line);
        }
    }

    pub(crate) fn stderr(&self, line: &str, whole: bool) {
        let line = self.clean(line, whole);
        if line.is_empty() {
            return;
        }
        let mut kept = self.kept();
        if kept.stderr.len() == MAX_STDERR_LINES {
            kept.stderr.pop_front();
        }
        kept.stderr.push_back(line);
    }

    pub(crate) fn exited(&self, status: Option<ExitStatus>) {
        let mut kept = self.kept();
        kept.pid = None;
        kept.exit = Some(status.map_or_else(|| "did not end when asked to".to_owned(), describe));
    }

    /// A connection without a process is over.
    pub(crate) fn ended(&self, reason: &str) {
        self.kept().exit = Some(self.redactor.line(reason, MAX_LINE_CHARS));
    }

    /// `exited (3); stderr: …`, or what is known instead.
    pub(crate) fn obituary(&self) -> String {
        let kept = self.kept();
        let exit = kept.exit.as_deref().unwrap_or("closed its standard output");
        format!("{exit}{}", kept.evidence())
    }

    /// What standard error and junk may tell about a server that does not answer.
    pub(crate) fn evidence(&self) -> String {
        self.kept().evidence()
    }

    fn clean(&self, line: &str, whole: bool) -> String {
        if whole {
            self.redactor.line(line, MAX_LINE_CHARS)
        } else {
            self.redactor.cut_line(line, MAX_LINE_CHARS)
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn evidence(&self) -> String {
        let mut text = String::new();
        let skip = self.stderr.len().saturating_sub(STDERR_LINES_IN_ERRORS);
        let tail: Vec<&str> = self.stderr.iter().skip(skip).map(String::as_str).collect();
        if !tail.is_empty() {
            text = format!("; stderr: {}", tail.join(" | "));
        }
        if let Some(first) = self.junk.first() {
            let count = self.junk_lines;
            text += &format!("; {count} lines on stdout are no protocol messages, first: {first}");
        }
        text
    }
}

fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return format!("exited (signal {signal})");
    }
    status
        .code()
        .map_or_else(|| "exited".to_owned(), |code| format!("exited ({code})"))
}
