//! The bookkeeping of one run's nested calls: what was asked, what may be answered next, and whether
//! a resumed run repeats its journal.
//!
//! Pure: an engine's host side feeds it events and does what it says.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::{
    ErrorCode, HostError, Journal, JournalEntry, Limits, PendingCall, RunError, journal::digest,
};

/// Keeps the books of one run.
///
/// For each call the guest makes: [`issue`](Ledger::issue). While [`next_answer`](Ledger::next_answer) gives entries,
/// hand them to the guest in that order; they are recorded answers first, then the live ones that were
/// given to [`answer`](Ledger::answer). Live answers wait until all recorded ones are through, so that
/// the guest sees one order in every replay.
#[derive(Debug)]
pub struct Ledger {
    recorded: VecDeque<JournalEntry>,
    waiting: BTreeMap<u32, PendingCall>,
    open: BTreeMap<u32, Open>,
    live: VecDeque<JournalEntry>,
    journal: Journal,
    issued: u32,
}

#[derive(Debug)]
struct Open {
    method: String,
    args: Value,
    digest: String,
    state: OpenState,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum OpenState {
    Recorded,
    Live,
    Suspended(String),
}

/// What to do with a call that the guest made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Issue {
    /// Ask the host.
    Ask,
    /// Its answer is recorded and comes out of [`Ledger::next_answer`] in its turn.
    Recorded,
    /// It waits since an earlier run and was not answered; do not ask the host again.
    Waiting,
}

/// A resumed program did not do what its journal says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the resumed program differs from its journal: {detail}")]
pub struct ReplayMismatch {
    /// Where it differs.
    pub detail: String,
}

impl ReplayMismatch {
    fn new(detail: impl Into<String>) -> Self {
        Self {
            detail: detail.into(),
        }
    }
}

impl From<ReplayMismatch> for RunError {
    fn from(mismatch: ReplayMismatch) -> Self {
        Self::new(ErrorCode::ReplayMismatch, mismatch.to_string())
            .with_hint("start the program again from the beginning")
    }
}

impl Ledger {
    /// Opens the books with what is known from earlier runs.
    ///
    /// # Errors
    /// [`ReplayMismatch`] when the journal contradicts itself or exceeds the limits.
    pub fn new(journal: Journal, limits: &Limits) -> Result<Self, ReplayMismatch> {
        let (entries, pending) = journal.into_parts();
        let most = limits.calls as usize + limits.timers as usize;
        if entries.len() + pending.len() > most {
            return Err(ReplayMismatch::new(
                "the journal holds more calls than a run may make",
            ));
        }
        let mut seen = BTreeMap::new();
        for call in entries
            .iter()
            .map(|e| e.call)
            .chain(pending.iter().map(|p| p.call))
        {
            if seen.insert(call, ()).is_some() {
                return Err(ReplayMismatch::new(format!(
                    "the journal holds call {call} twice"
                )));
            }
        }
        Ok(Self {
            recorded: entries.into(),
            waiting: pending.into_iter().map(|call| (call.call, call)).collect(),
            open: BTreeMap::new(),
            live: VecDeque::new(),
            journal: Journal::default(),
            issued: 0,
        })
    }

    /// The guest makes call number `call`.
    ///
    /// # Errors
    /// [`ReplayMismatch`] when the journal knows another call under this number, or when the number is
    /// not the next one.
    pub fn issue(&mut self, call: u32, method: &str, args: Value) -> Result<Issue, ReplayMismatch> {
        if call != self.issued {
            return Err(ReplayMismatch::new(format!("call {call} came out of turn")));
        }
        self.issued += 1;
        let digest = digest(method, &args);
        let (issue, state) = if let Some(entry) = self.recorded.iter().find(|e| e.call == call) {
            same(call, method, &digest, &entry.method, &entry.digest)?;
            (Issue::Recorded, OpenState::Recorded)
        } else if let Some(pending) = self.waiting.remove(&call) {
            let before = crate::journal::digest(&pending.method, &pending.args);
            same(call, method, &digest, &pending.method, &before)?;
            (Issue::Waiting, OpenState::Suspended(pending.handle))
        } else {
            (Issue::Ask, OpenState::Live)
        };
        self.open.insert(
            call,
            Open {
                method: method.to_owned(),
                args,
                digest,
                state,
            },
        );
        Ok(issue)
    }

    /// The host answered a live call when the guest's clock showed `at_ms`. Answers to calls that are
    /// not live are ignored.
    pub fn answer(&mut self, call: u32, at_ms: u64, answer: Result<Value, HostError>) {
        if let Some(open) = self
            .open
            .get(&call)
            .filter(|open| open.state == OpenState::Live)
        {
            let (method, digest) = (open.method.clone(), open.digest.clone());
            self.open.remove(&call);
            let answer = answer.into();
            self.live.push_back(JournalEntry {
                call,
                method,
                digest,
                at_ms,
                answer,
            });
        }
    }

    /// The host cannot answer a live call in this run.
    pub fn suspend(&mut self, call: u32, handle: String) {
        if let Some(open) = self
            .open
            .get_mut(&call)
            .filter(|open| open.state == OpenState::Live)
        {
            open.state = OpenState::Suspended(handle);
        }
    }

    /// The answer to hand to the guest now, if there is one. It counts as handed over.
    pub fn next_answer(&mut self) -> Option<JournalEntry> {
        let entry = match self.recorded.front() {
            Some(entry) if !self.open.contains_key(&entry.call) => return None,
            Some(entry) => {
                self.open.remove(&entry.call);
                self.recorded.pop_front()
            }
            None => self.live.pop_front(),
        }?;
        self.journal.push(entry.clone());
        Some(entry)
    }

    /// The guest has had every answer that [`next_answer`](Ledger::next_answer) gave and waits for more.
    ///
    /// # Errors
    /// [`ReplayMismatch`] when the journal says that it went on from here.
    pub fn check_waiting(&self) -> Result<(), ReplayMismatch> {
        match self.recorded.front() {
            Some(entry) if !self.open.contains_key(&entry.call) => Err(ReplayMismatch::new(
                format!("call {} was not made again", entry.call),
            )),
            _ => Ok(()),
        }
    }

    /// The guest says it is done.
    ///
    /// # Errors
    /// [`ReplayMismatch`] when the journal holds more than the guest did.
    pub fn check_done(&self) -> Result<(), ReplayMismatch> {
        if self.recorded.is_empty() && self.waiting.is_empty() {
            return Ok(());
        }
        Err(ReplayMismatch::new(
            "the program ended before its journal did",
        ))
    }

    /// Whether a guest that waits can only go on in a later run: something is suspended, and nothing
    /// else is on its way.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        self.recorded.is_empty()
            && self.live.is_empty()
            && self
                .open
                .values()
                .any(|open| matches!(open.state, OpenState::Suspended(_)))
            && !self.open.values().any(|open| open.state == OpenState::Live)
    }

    /// Calls made so far.
    #[must_use]
    pub fn issued(&self) -> u32 {
        self.issued
    }

    /// The guest's clock at the last recorded answer: where a resumed run's clock goes on.
    #[must_use]
    pub fn recorded_until_ms(&self) -> u64 {
        let last = self
            .recorded
            .back()
            .or_else(|| self.journal.entries().last());
        last.map_or(0, |entry| entry.at_ms)
    }

    /// Closes the books of a run that is stuck.
    #[must_use]
    pub fn into_journal(self) -> Journal {
        let mut journal = self.journal;
        for (call, open) in self.open {
            if let OpenState::Suspended(handle) = open.state {
                journal.push_pending(PendingCall {
                    call,
                    handle,
                    method: open.method,
                    args: open.args,
                });
            }
        }
        journal
    }
}

fn same(
    call: u32,
    method: &str,
    digest: &str,
    old_method: &str,
    old_digest: &str,
) -> Result<(), ReplayMismatch> {
    if method == old_method && digest == old_digest {
        return Ok(());
    }
    Err(ReplayMismatch::new(format!(
        "call {call} was `{old_method}` and is now `{method}` or has other arguments"
    )))
}

#[cfg(test)]
mod tests;
