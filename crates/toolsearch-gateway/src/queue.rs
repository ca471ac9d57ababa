//! The queue of approvals: calls that wait until somebody looks at them, in another terminal, over
//! HTTP or in another process. The questions lie in a [`Store`]; each is bound to one tool, one set of
//! arguments and one session, and is gone when it expires.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;
use toolsearch_catalog::ToolId;
use toolsearch_policy::{ApprovalRequest, Approver, Verdict};
use toolsearch_schema::names::sanitise_label;
use toolsearch_store::{Clock, Expected, NewRecord, Record, Store, StoreError, Version};

/// Where the questions lie.
const NAMESPACE: &str = "approvals";
/// How often a call that waits looks for its answer.
const LOOK: Duration = Duration::from_millis(250);
/// Most characters of the arguments that are kept for whoever decides.
const MAX_ARGS_CHARS: usize = 16_000;
/// Most characters of a reason.
const MAX_REASON_CHARS: usize = 500;
/// Characters of a question's name.
const ID_CHARS: usize = 16;
/// How often an answer is tried again that somebody else was faster with.
const TRIES: usize = 4;

/// What somebody says to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum QueueAnswer {
    /// This call may run.
    Once,
    /// This tool may run for the rest of the session.
    Session,
    /// This call may not run.
    Deny,
    /// This tool may not run for the rest of the session.
    DenySession,
}

/// A question in the queue. All texts are printable and bounded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct QueuedCall {
    /// Names the question.
    pub id: String,
    /// The tool that would be run.
    pub tool: ToolId,
    /// Its arguments as JSON in one line, cut where they are long.
    pub arguments: String,
    /// SHA-256 of the whole arguments as canonical JSON.
    pub args_hash: String,
    /// The session.
    pub session: String,
    /// The agent, when one is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Why consent is needed.
    pub reason: String,
    /// When it was asked, in milliseconds since the Unix epoch.
    pub asked_ms: u64,
    /// When it is gone.
    pub expires_ms: u64,
    /// What was said, until the call has seen it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<QueueAnswer>,
    /// What the call's caller is told with a no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// What the question is bound to.
    binding: String,
}

/// What lies in the queue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueListing {
    /// The questions, oldest first.
    pub calls: Vec<QueuedCall>,
    /// Where something lies that is no readable question.
    pub damaged: Vec<String>,
}

/// Why the queue did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueueError {
    /// No such question, or no longer: it expired, was withdrawn, or its answer was taken.
    #[error("no call waits for approval under `{0}`")]
    Unknown(String),
    /// Somebody has answered it already.
    #[error("`{0}` has been answered already")]
    Answered(String),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Asks whoever looks at the queue. Cloning shares the store.
#[derive(Debug, Clone)]
pub struct ApprovalQueue {
    store: Arc<dyn Store>,
    clock: Clock,
    holds: bool,
}

impl ApprovalQueue {
    /// A queue in which a call waits for its answer, looking a few times a second. A call that is given
    /// up takes its question back.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            clock: Clock::system(),
            holds: true,
        }
    }

    /// The same queue for callers that cannot wait: they are told the question's name at once, and the
    /// same call finds the answer when it is made again before the question expires.
    #[must_use]
    pub fn without_waiting(mut self) -> Self {
        self.holds = false;
        self
    }

    /// What lies in the queue now.
    ///
    /// # Errors
    /// [`QueueError::Store`].
    pub async fn list(&self) -> Result<QueueListing, QueueError> {
        let found = self.store.list(NAMESPACE).await?;
        let mut listing = QueueListing {
            damaged: found.damaged,
            ..QueueListing::default()
        };
        for entry in found.entries {
            match self.store.get(NAMESPACE, &entry.key).await.map(read) {
                Ok(Some(Some(call))) => listing.calls.push(call),
                Ok(Some(None)) | Err(StoreError::Damaged { .. }) => {
                    listing.damaged.push(entry.key);
                }
                Ok(None) => {}
                Err(error) => return Err(error.into()),
            }
        }
        listing
            .calls
            .sort_by(|a, b| (a.asked_ms, &a.id).cmp(&(b.asked_ms, &b.id)));
        Ok(listing)
    }

    /// One question.
    ///
    /// # Errors
    /// [`QueueError::Unknown`], [`QueueError::Store`].
    pub async fn show(&self, id: &str) -> Result<QueuedCall, QueueError> {
        self.find(id).await.map(|(call, _)| call)
    }

    /// Answers a question. `note` is told to the caller with a no.
    ///
    /// # Errors
    /// [`QueueError`]; then nothing was said.
    pub async fn answer(
        &self,
        id: &str,
        answer: QueueAnswer,
        note: Option<&str>,
    ) -> Result<QueuedCall, QueueError> {
        let mut tries = TRIES;
        loop {
            let (mut call, version) = self.find(id).await?;
            if call.answer.is_some() {
                return Err(QueueError::Answered(call.id));
            }
            call.answer = Some(answer);
            call.note = note.map(|note| sanitise_label(note, MAX_REASON_CHARS));
            match self.put(&call, Expected::Version(version)).await {
                Err(StoreError::Conflict { .. }) if tries > 1 => tries -= 1,
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(call),
            }
        }
    }

    async fn find(&self, id: &str) -> Result<(QueuedCall, Version), QueueError> {
        let unknown = || QueueError::Unknown(sanitise_label(id, 60));
        let record = match self.store.get(NAMESPACE, id).await {
            Ok(record) => record.ok_or_else(unknown)?,
            Err(StoreError::Name(_)) => return Err(unknown()),
            Err(error) => return Err(error.into()),
        };
        let version = record.version;
        let call = read(Some(record)).flatten().ok_or_else(unknown)?;
        Ok((call, version))
    }

    async fn put(&self, call: &QueuedCall, expected: Expected) -> Result<Version, StoreError> {
        let bytes = serde_json::to_vec(call)
            .map_err(|error| StoreError::Unavailable(format!("cannot write it: {error}")))?;
        let record = NewRecord::new(bytes).until(call.expires_ms);
        self.store.put(NAMESPACE, &call.id, record, expected).await
    }

    fn question(&self, request: &ApprovalRequest) -> QueuedCall {
        let binding = request.binding();
        let now = self.clock.now_ms();
        let wait = u64::try_from(request.timeout.as_millis()).unwrap_or(u64::MAX);
        QueuedCall {
            id: binding.chars().take(ID_CHARS).collect(),
            tool: request.tool.clone(),
            arguments: request.args_picture(MAX_ARGS_CHARS),
            args_hash: request.args_hash(),
            session: sanitise_label(&request.session, MAX_REASON_CHARS),
            agent: request
                .agent
                .as_ref()
                .map(|agent| sanitise_label(agent, MAX_REASON_CHARS)),
            reason: sanitise_label(&request.reason, MAX_REASON_CHARS),
            asked_ms: now,
            expires_ms: request.expires_ms.unwrap_or(now.saturating_add(wait)),
            answer: None,
            note: None,
            binding,
        }
    }

    /// Looks once. `Ok(None)`: nobody has answered yet.
    async fn look(
        &self,
        question: &QueuedCall,
        asked: &mut Withdraw,
    ) -> Result<Option<Verdict>, StoreError> {
        let found = self.store.get(NAMESPACE, &question.id).await?;
        let Some(record) = found else {
            if asked.version.is_some() {
                let gone = "the question expired or was taken out of the queue: timed out";
                return Ok(Some(Verdict::Denied(gone.to_owned())));
            }
            // Somebody may ask the very same at the same time; the next look finds their question.
            match self.put(question, Expected::Absent).await {
                Ok(version) => asked.version = Some(version),
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => return Err(error),
            }
            return Ok(None);
        };
        let version = record.version;
        asked.version = Some(version);
        let Some(call) = read(Some(record))
            .flatten()
            .filter(|call| call.binding == question.binding)
        else {
            let other = "its place in the queue holds another question";
            return Ok(Some(Verdict::Denied(other.to_owned())));
        };
        let Some(answer) = call.answer else {
            return Ok(None);
        };
        // An answer counts once: whoever takes it away has it.
        let taken = self
            .store
            .remove(NAMESPACE, &call.id, Expected::Version(version));
        match taken.await {
            Ok(_) => {}
            Err(StoreError::Conflict { .. }) => {
                asked.version = None;
                return Ok(None);
            }
            Err(error) => return Err(error),
        }
        asked.version = None;
        let why = call
            .note
            .unwrap_or_else(|| "whoever looks at the queue said no".to_owned());
        Ok(Some(match answer {
            QueueAnswer::Once => Verdict::Once,
            QueueAnswer::Session => Verdict::ForSession,
            QueueAnswer::DenySession => Verdict::DeniedForSession(why),
            QueueAnswer::Deny => Verdict::Denied(why),
        }))
    }
}

#[async_trait]
impl Approver for ApprovalQueue {
    async fn review(&self, request: ApprovalRequest) -> Verdict {
        let question = self.question(&request);
        let mut asked = Withdraw {
            store: self.holds.then(|| Arc::clone(&self.store)),
            id: question.id.clone(),
            version: None,
        };
        loop {
            match self.look(&question, &mut asked).await {
                Ok(Some(verdict)) => return verdict,
                Ok(None) => {}
                // Another process writes just now; the next look comes anyway.
                Err(StoreError::Busy(_)) if self.holds => {}
                Err(error) => return Verdict::Denied(format!("the queue cannot be used: {error}")),
            }
            if !self.holds {
                return Verdict::Pending(question.id);
            }
            if self.clock.now_ms() >= question.expires_ms {
                let millis = request.timeout.as_millis();
                return Verdict::Denied(format!("timed out after {millis} ms"));
            }
            sleep(LOOK).await;
        }
    }
}

/// Takes a question back that nobody waits for any more.
struct Withdraw {
    store: Option<Arc<dyn Store>>,
    id: String,
    version: Option<Version>,
}

impl Drop for Withdraw {
    fn drop(&mut self) {
        let (Some(store), Some(version)) = (self.store.take(), self.version) else {
            return;
        };
        let id = std::mem::take(&mut self.id);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            // Short and bounded by the store; what does not happen, expiry does.
            runtime.spawn(async move {
                let _ = store
                    .remove(NAMESPACE, &id, Expected::Version(version))
                    .await;
            });
        }
    }
}

/// The question in a record; `Some(None)` for a record that holds none.
fn read(record: Option<Record>) -> Option<Option<QueuedCall>> {
    let record = record?;
    let call: Option<QueuedCall> = serde_json::from_slice(&record.bytes).ok();
    Some(call.filter(|call| call.expires_ms == record.expires_ms.unwrap_or(0)))
}

#[cfg(test)]
mod tests;
