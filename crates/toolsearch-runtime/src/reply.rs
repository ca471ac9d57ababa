//! What goes in and out of a session: calls, answers, and work that waits for the client.

use std::sync::Arc;

use serde_json::{Map, Value};
use toolsearch_catalog::{Outcome, ToolDescriptor};
use toolsearch_invoke::ProgressSink;
use toolsearch_mode::{Rendered, Request};
use toolsearch_policy::Approver;

use crate::dispatch::Prepared;
use crate::guest::Suspended;

/// A call as the model made it: the declared name, or any name it believes in.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ModelCall {
    /// The name that the model called.
    pub name: String,
    /// The arguments: an object, the JSON text of one, or nothing.
    pub arguments: Value,
    /// Where progress of the tool goes, if anyone listens.
    pub progress: Option<Arc<dyn ProgressSink>>,
    /// Who is asked for consent to this call and to all that its program calls, instead of the
    /// runtime's approver.
    pub approver: Option<Arc<dyn Approver>>,
    /// Whether the caller can put the work aside while nobody answers a question. The work then comes
    /// back as [`Reply::Pending`]; otherwise such a call fails as `approval_required`, with the handle.
    pub waits: bool,
    /// Names the client's request where the session serves several clients at a time: invokers find
    /// it in their [`Caller`](toolsearch_invoke::Caller).
    pub request: Option<String>,
}

impl ModelCall {
    /// A call with nobody listening for progress, that the runtime's approver is asked about and that
    /// does not wait.
    #[must_use]
    pub fn new(name: impl Into<String>, arguments: Value) -> Self {
        Self {
            name: name.into(),
            arguments,
            progress: None,
            approver: None,
            waits: false,
            request: None,
        }
    }
}

/// A call that the client has to run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientCall {
    /// Names the call until it is answered.
    pub handle: String,
    /// The client's own tool.
    pub tool: Arc<ToolDescriptor>,
    /// Its arguments, checked.
    pub args: Map<String, Value>,
}

/// The client's result of a [`ClientCall`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientAnswer {
    /// The call's handle.
    pub handle: String,
    /// What the client's tool gave back.
    pub outcome: Outcome,
}

impl ClientAnswer {
    /// Answers a call.
    #[must_use]
    pub fn new(handle: impl Into<String>, outcome: Outcome) -> Self {
        Self {
            handle: handle.into(),
            outcome,
        }
    }
}

/// A call that waits for consent which nobody can give now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HeldCall {
    /// Names the question, as the approver did.
    pub handle: String,
    /// The tool.
    pub tool: Arc<ToolDescriptor>,
    /// Its arguments, checked.
    pub args: Map<String, Value>,
    /// Why consent is needed.
    pub reason: String,
}

/// Work that goes on when the client has run its calls, or when somebody has consented. Give it back
/// to [`Session::resume`](crate::Session::resume), or keep it with
/// [`Session::save`](crate::Session::save).
#[derive(Debug)]
pub struct Pending {
    pub(crate) state: PendingState,
}

#[derive(Debug)]
pub(crate) enum PendingState {
    Call {
        request: Box<Option<Request>>,
        prepared: Box<Prepared>,
    },
    Program {
        request: Request,
        suspended: Box<Suspended>,
    },
}

impl Pending {
    /// The calls that the client has to run, in the order in which they were made.
    #[must_use]
    pub fn calls(&self) -> Vec<ClientCall> {
        let call = |prepared: &Prepared| ClientCall {
            handle: prepared.origin.id.as_str().to_owned(),
            tool: Arc::clone(&prepared.tool),
            args: prepared.args.clone(),
        };
        self.prepared()
            .filter(|prepared| prepared.question.is_none())
            .map(call)
            .collect()
    }

    /// The calls that wait for consent, in the order in which they were made. When the work is resumed,
    /// the approver is asked about each of them again.
    #[must_use]
    pub fn held(&self) -> Vec<HeldCall> {
        let call = |prepared: &Prepared| {
            let question = prepared.question.as_ref()?;
            Some(HeldCall {
                handle: question.handle.clone(),
                tool: Arc::clone(&prepared.tool),
                args: prepared.args.clone(),
                reason: question.reason.clone(),
            })
        };
        self.prepared().filter_map(call).collect()
    }

    /// The same work, about which somebody else is asked from now on.
    #[must_use]
    pub fn asking(mut self, approver: Arc<dyn Approver>) -> Self {
        let all: Vec<&mut Prepared> = match &mut self.state {
            PendingState::Call { prepared, .. } => vec![prepared.as_mut()],
            PendingState::Program { suspended, .. } => {
                suspended.asked.approver = Some(Arc::clone(&approver));
                suspended.waiting.iter_mut().map(|(_, one)| one).collect()
            }
        };
        for prepared in all {
            prepared.origin.asked.approver = Some(Arc::clone(&approver));
        }
        self
    }

    fn prepared(&self) -> impl Iterator<Item = &Prepared> {
        let (one, many) = match &self.state {
            PendingState::Call { prepared, .. } => (Some(prepared.as_ref()), &[][..]),
            PendingState::Program { suspended, .. } => (None, suspended.waiting.as_slice()),
        };
        one.into_iter().chain(many.iter().map(|(_, one)| one))
    }
}

/// The answer to a [`ModelCall`].
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "every caller must handle both")]
pub enum Reply {
    /// What the model reads.
    Done(Rendered),
    /// The client has to run tools of its own first, or somebody has to consent: see
    /// [`Pending::calls`] and [`Pending::held`].
    Pending(Box<Pending>),
}

/// Answers that do not fit what is waiting.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// A waiting call has no answer. Nothing was lost: the work is still waiting for it.
    #[error("the call `{0}` has no answer yet")]
    Missing(String),
    /// An answer names a call that does not wait.
    #[error("no call waits under `{0}`")]
    Unknown(String),
}

/// Whether every call that waits for the client has an answer, and every answer a call.
pub(crate) fn fits(pending: &Pending, answers: &[ClientAnswer]) -> Result<(), ResumeError> {
    let waiting: Vec<String> = pending
        .calls()
        .into_iter()
        .map(|call| call.handle)
        .collect();
    if let Some(answer) = answers
        .iter()
        .find(|answer| !waiting.contains(&answer.handle))
    {
        return Err(ResumeError::Unknown(answer.handle.clone()));
    }
    let answered = |handle: &&String| answers.iter().any(|answer| answer.handle == **handle);
    match waiting.iter().find(|handle| !answered(handle)) {
        Some(handle) => Err(ResumeError::Missing(handle.clone())),
        None => Ok(()),
    }
}
