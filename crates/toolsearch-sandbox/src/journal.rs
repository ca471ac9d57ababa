//! The record of a run's answered calls, from which a suspended run is continued.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::HostError;

/// The answers a run has had, in the order in which the guest got them, and the calls it still waits
/// for. Plain data: it may be stored as JSON and read by another process or replica.
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Journal {
    entries: Vec<JournalEntry>,
    pending: Vec<PendingCall>,
}

impl Journal {
    /// Answered calls in the order of their answers.
    #[must_use]
    pub fn entries(&self) -> &[JournalEntry] {
        &self.entries
    }

    /// Calls without an answer, in the order in which they were made.
    #[must_use]
    pub fn pending(&self) -> &[PendingCall] {
        &self.pending
    }

    /// Whether nothing is recorded: a first run.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.pending.is_empty()
    }

    /// Answers the pending call with this handle. The answer becomes the last entry.
    ///
    /// # Errors
    /// [`UnknownHandle`] when no call waits under this handle, e.g. because it was answered before.
    pub fn answer(
        &mut self,
        handle: &str,
        answer: Result<Value, HostError>,
    ) -> Result<(), UnknownHandle> {
        let place = self
            .pending
            .iter()
            .position(|call| call.handle == handle)
            .ok_or_else(|| UnknownHandle {
                handle: handle.to_owned(),
            })?;
        let call = self.pending.remove(place);
        let at_ms = self.entries.last().map_or(0, |entry| entry.at_ms);
        self.entries.push(JournalEntry {
            call: call.call,
            digest: digest(&call.method, &call.args),
            method: call.method,
            at_ms,
            answer: answer.into(),
        });
        Ok(())
    }

    pub(crate) fn push(&mut self, entry: JournalEntry) {
        self.entries.push(entry);
    }

    pub(crate) fn push_pending(&mut self, call: PendingCall) {
        let place = self.pending.partition_point(|other| other.call < call.call);
        self.pending.insert(place, call);
    }

    pub(crate) fn into_parts(self) -> (Vec<JournalEntry>, Vec<PendingCall>) {
        (self.entries, self.pending)
    }
}

/// One answered call.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// The number of the call in its run, from 0, in the order in which calls were made.
    pub call: u32,
    /// What was asked for.
    pub method: String,
    /// Digest of method and arguments; tells a replay that differs.
    pub digest: String,
    /// The guest's clock when it got the answer, in milliseconds since its first instruction.
    pub at_ms: u64,
    /// What it got.
    pub answer: RecordedAnswer,
}

/// An answer at rest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RecordedAnswer {
    /// The call was done.
    Value(Value),
    /// The call failed.
    Error(HostError),
}

impl From<Result<Value, HostError>> for RecordedAnswer {
    fn from(answer: Result<Value, HostError>) -> Self {
        match answer {
            Ok(value) => Self::Value(value),
            Err(error) => Self::Error(error),
        }
    }
}

impl From<RecordedAnswer> for Result<Value, HostError> {
    fn from(answer: RecordedAnswer) -> Self {
        match answer {
            RecordedAnswer::Value(value) => Ok(value),
            RecordedAnswer::Error(error) => Err(error),
        }
    }
}

/// A call that a suspended run waits for.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PendingCall {
    /// The number of the call in its run, from 0.
    pub call: u32,
    /// The host's name for the wait.
    pub handle: String,
    /// What was asked for.
    pub method: String,
    /// With which arguments.
    pub args: Value,
}

/// No call of the journal waits under this handle.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no pending call has the handle `{handle}`")]
pub struct UnknownHandle {
    /// The handle that was given.
    pub handle: String,
}

/// FNV-1a over method and arguments as JSON text, 128 bits. It only has to notice a program that went
/// another way than before; nobody gains by a collision but the program itself.
pub(crate) fn digest(method: &str, args: &Value) -> String {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let text = args.to_string();
    let hash = method
        .bytes()
        .chain([0])
        .chain(text.bytes())
        .fold(OFFSET, |hash, byte| {
            (hash ^ u128::from(byte)).wrapping_mul(PRIME)
        });
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests;
