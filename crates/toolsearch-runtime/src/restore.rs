//! Work that was put aside, as JSON: written by one process, read by another that has the same session
//! open. What is read back is checked against the session: it can only name tools that the session has
//! and the rules still allow.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde_json::{Map, Value, json};
use toolsearch_catalog::{Block, ToolDescriptor, ToolId};
use toolsearch_invoke::CallId;
use toolsearch_mode::{CallNote, CallRequest, Request};
use toolsearch_sandbox::{Journal, Program};

use crate::attachments::Attachments;
use crate::dispatch::{Asked, Origin, Prepared, Question};
use crate::guest::{Notes, Suspended};
use crate::reply::{Pending, PendingState};
use crate::session::{Core, Session};

/// The form of saved work that this version writes and reads.
pub const SAVED_VERSION: u64 = 1;

/// Saved work that cannot go on here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// It belongs to another session, or to another agent's.
    #[error("the saved work belongs to another session")]
    Foreign,
    /// The session no longer has a tool that the work needs, or its rules now deny it.
    #[error("the saved work needs `{0}`, which this session cannot use any more")]
    Gone(String),
    /// It is not what [`Session::save`] gives in this version.
    #[error("the saved work cannot be read: {0}")]
    Malformed(String),
}

impl Session {
    /// Work that was put aside, as JSON for [`Session::restore`]. It holds arguments and results: keep
    /// it where only the operator can read it.
    #[must_use]
    pub fn save(&self, pending: &Pending) -> Value {
        let mut saved = match &pending.state {
            PendingState::Call { request, prepared } => json!({
                "request": request.as_ref().as_ref().map(request_json),
                "call": prepared_json(prepared),
            }),
            PendingState::Program { request, suspended } => json!({
                "request": request_json(request),
                "program": suspended_json(suspended),
            }),
        };
        saved["v"] = json!(SAVED_VERSION);
        saved["session"] = json!(self.id());
        saved["agent"] = json!(self.core().subject.agent);
        saved
    }

    /// Work that was saved, ready for [`Session::resume`]. The session may be another object, in another
    /// process, but must have the name and the agent of the one that saved it. Whoever waits for answers
    /// of the client finds the handles unchanged.
    ///
    /// # Errors
    /// [`RestoreError`]; nothing was run.
    pub fn restore(&self, saved: Value) -> Result<Pending, RestoreError> {
        let core = self.core();
        let mut saved = Fields::of(saved, "saved work")?;
        if saved.number("v")? != SAVED_VERSION {
            return Err(malformed("it has another version"));
        }
        let agent = saved.take("agent").as_str().map(str::to_owned);
        if saved.text("session")? != self.id() || agent != core.subject.agent {
            return Err(RestoreError::Foreign);
        }
        let request = match saved.take("request") {
            Value::Null => None,
            request => Some(read_request(request)?),
        };
        let state = match (saved.take("call"), saved.take("program"), request) {
            (Value::Null, program, Some(request)) => PendingState::Program {
                request,
                suspended: Box::new(read_suspended(core, program)?),
            },
            (call, Value::Null, request) => PendingState::Call {
                request: Box::new(request),
                prepared: Box::new(read_prepared(core, call)?),
            },
            _ => return Err(malformed("it is neither a call nor a program")),
        };
        Ok(Pending { state })
    }
}

fn request_json(request: &Request) -> Value {
    match request {
        Request::Call(call) => {
            json!({ "id": call.id, "args": call.args, "repairs": call.repairs })
        }
        Request::Run { code } => json!({ "code": code }),
        _ => Value::Null,
    }
}

fn read_request(request: Value) -> Result<Request, RestoreError> {
    let mut request = Fields::of(request, "request")?;
    if let Value::String(code) = request.take("code") {
        return Ok(Request::Run { code });
    }
    let mut call = CallRequest::new(request.text("id")?, request.object("args")?);
    call.repairs = request.texts("repairs")?;
    Ok(Request::Call(call))
}

fn prepared_json(prepared: &Prepared) -> Value {
    let question = prepared.question.as_ref();
    json!({
        "tool": prepared.tool.id,
        "args": prepared.args,
        "id": prepared.origin.id,
        "parent": prepared.origin.parent,
        "repairs": prepared.repairs,
        "waits": prepared.origin.asked.waits,
        "question": question.map(|one| json!({ "handle": one.handle, "reason": one.reason })),
    })
}

fn read_prepared(core: &Core, prepared: Value) -> Result<Prepared, RestoreError> {
    let mut prepared = Fields::of(prepared, "call")?;
    let tool = tool(core, &prepared.text("tool")?)?;
    let id = prepared.call("id")?;
    let parent = match prepared.take("parent") {
        Value::Null => None,
        Value::String(parent) => CallId::parse(&parent),
        _ => return Err(malformed("`parent` is no call")),
    };
    core.reserve(&id);
    let question = match prepared.take("question") {
        Value::Null => None,
        question => {
            let mut question = Fields::of(question, "question")?;
            Some(Question {
                handle: question.text("handle")?,
                reason: question.text("reason")?,
            })
        }
    };
    Ok(Prepared {
        tool,
        args: prepared.object("args")?,
        origin: Origin {
            id,
            parent,
            progress: None,
            pause: None,
            asked: prepared.asked(),
        },
        question,
        repairs: prepared.texts("repairs")?,
        started: Instant::now(),
    })
}

/// The tool with this very id, if the session has it and the rules allow it now.
fn tool(core: &Core, id: &str) -> Result<Arc<ToolDescriptor>, RestoreError> {
    let gone = || RestoreError::Gone(id.chars().take(200).collect());
    let tool = core.find(id).map_err(|_| gone())?;
    if tool.id.as_str() != id || core.decide(&tool).is_err() {
        return Err(gone());
    }
    Ok(tool)
}

fn suspended_json(suspended: &Suspended) -> Value {
    let notes = &suspended.notes;
    let calls: Vec<Value> = notes
        .calls
        .iter()
        .map(|call| json!({ "id": call.id, "ok": call.ok }))
        .collect();
    let waiting: Vec<Value> = suspended
        .waiting
        .iter()
        .map(|(handle, prepared)| json!({ "handle": handle, "call": prepared_json(prepared) }))
        .collect();
    json!({
        "source": suspended.program.source,
        "seed": suspended.program.seed,
        "epochMs": suspended.program.epoch_ms,
        "journal": suspended.journal,
        "calls": calls,
        "advice": notes.advice,
        "searches": notes.searches,
        "describes": notes.describes,
        "attachments": notes.attachments.to_json(),
        "untrusted": notes.untrusted,
        "outer": suspended.outer,
        "waits": suspended.asked.waits,
        "waiting": waiting,
    })
}

fn read_suspended(core: &Core, program: Value) -> Result<Suspended, RestoreError> {
    let mut program = Fields::of(program, "program")?;
    let journal: Journal = serde_json::from_value(program.take("journal"))
        .map_err(|_| malformed("`journal` is none"))?;
    let epoch = program.take("epochMs").as_i64();
    let epoch = epoch.ok_or_else(|| malformed("`epochMs` is no number"))?;
    let seed = program.number("seed")?;
    let outer = program.call("outer")?;
    core.reserve(&outer);
    let mut waiting = Vec::new();
    for one in program.list("waiting")? {
        let mut one = Fields::of(one, "waiting")?;
        let handle = one.text("handle")?;
        if !journal.pending().iter().any(|call| call.handle == handle) {
            return Err(malformed("a call waits that the journal does not know"));
        }
        waiting.push((handle, read_prepared(core, one.take("call"))?));
    }
    Ok(Suspended {
        program: Program::new(program.text("source")?, seed, epoch),
        journal,
        notes: read_notes(&mut program)?,
        outer,
        asked: program.asked(),
        waiting,
    })
}

fn read_notes(program: &mut Fields) -> Result<Notes, RestoreError> {
    let mut calls = Vec::new();
    for call in program.list("calls")? {
        let mut call = Fields::of(call, "calls")?;
        let id = ToolId::parse(&call.text("id")?);
        let id = id.map_err(|_| malformed("a call has no id"))?;
        calls.push(CallNote::new(id, call.take("ok") == Value::Bool(true)));
    }
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let mut blocks: Vec<(String, Block)> = Vec::new();
    for one in program.list("attachments")? {
        let mut one = Fields::of(one, "attachments")?;
        blocks.push((one.text("name")?, one.take("block")));
    }
    let id = |text: String| ToolId::parse(&text).map_err(|_| malformed("`untrusted` holds no id"));
    let untrusted = program.texts("untrusted")?.into_iter().map(id);
    Ok(Notes {
        untrusted: untrusted.collect::<Result<_, _>>()?,
        calls,
        advice: program.texts("advice")?,
        searches: count(program.number("searches")?),
        describes: count(program.number("describes")?),
        attachments: Attachments::restored(blocks),
    })
}

/// An object that is being read.
struct Fields(Map<String, Value>);

impl Fields {
    fn of(value: Value, what: &str) -> Result<Self, RestoreError> {
        match value {
            Value::Object(fields) => Ok(Self(fields)),
            _ => Err(malformed(format!("`{what}` is no object"))),
        }
    }

    fn take(&mut self, name: &str) -> Value {
        self.0.remove(name).unwrap_or_default()
    }

    fn text(&mut self, name: &str) -> Result<String, RestoreError> {
        match self.take(name) {
            Value::String(text) => Ok(text),
            _ => Err(malformed(format!("`{name}` is no text"))),
        }
    }

    fn number(&mut self, name: &str) -> Result<u64, RestoreError> {
        let number = self.take(name).as_u64();
        number.ok_or_else(|| malformed(format!("`{name}` is no number")))
    }

    fn object(&mut self, name: &str) -> Result<Map<String, Value>, RestoreError> {
        match self.take(name) {
            Value::Object(object) => Ok(object),
            _ => Err(malformed(format!("`{name}` is no object"))),
        }
    }

    fn list(&mut self, name: &str) -> Result<Vec<Value>, RestoreError> {
        match self.take(name) {
            Value::Array(list) => Ok(list),
            _ => Err(malformed(format!("`{name}` is no list"))),
        }
    }

    fn texts(&mut self, name: &str) -> Result<Vec<String>, RestoreError> {
        let text = |value: Value| match value {
            Value::String(text) => Ok(text),
            _ => Err(malformed(format!("`{name}` holds what is no text"))),
        };
        self.list(name)?.into_iter().map(text).collect()
    }

    fn call(&mut self, name: &str) -> Result<CallId, RestoreError> {
        let call = CallId::parse(&self.text(name)?);
        call.ok_or_else(|| malformed(format!("`{name}` is no call")))
    }

    fn asked(&mut self) -> Asked {
        Asked {
            approver: None,
            waits: self.take("waits") == Value::Bool(true),
            // The request that it belonged to is over.
            request: None,
        }
    }
}

fn malformed(why: impl fmt::Display) -> RestoreError {
    RestoreError::Malformed(why.to_string())
}

impl Core {
    /// Sees to it that calls made from now on have other names than one that was saved.
    fn reserve(&self, id: &CallId) {
        // A number that no session reaches is a made-up one; it must not use up all others.
        const MOST: u64 = 1 << 48;
        let used = id.outermost().filter(|number| *number < MOST);
        self.calls.fetch_max(used.unwrap_or(0), Ordering::Relaxed);
    }
}
