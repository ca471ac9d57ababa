//! Programs: the host that answers a program's calls through the same dispatch, and turning a run's
//! report into an answer.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolsearch_catalog::{Outcome, ToolId};
use toolsearch_invoke::CallId;
use toolsearch_mode::{
    CallNote, Failure, FailureCode, Query, Request, Response, RunError, RunReply, bridge, render,
};
use toolsearch_sandbox::{
    ErrorCode, Host, HostError, HostReply, Journal, LogLine, Pause, Program, RunReport, RunStatus,
};
use toolsearch_telemetry::{Event, Ran};

use crate::attachments::Attachments;
use crate::dispatch::{Asked, Dispatched, Origin, Prepared};
use crate::plan::engine_of;
use crate::session::Core;

/// Most notes that a run's answer carries.
const MAX_NOTES: usize = 4;

/// A program that waits for calls which only the client can run, or which nobody has consented to.
#[derive(Debug, Clone)]
pub(crate) struct Suspended {
    pub(crate) program: Program,
    pub(crate) journal: Journal,
    pub(crate) notes: Notes,
    pub(crate) outer: CallId,
    pub(crate) asked: Asked,
    pub(crate) waiting: Vec<(String, Prepared)>,
}

/// What a run did so far, over all its replays.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    pub(crate) calls: Vec<CallNote>,
    pub(crate) advice: Vec<String>,
    pub(crate) searches: usize,
    pub(crate) describes: usize,
    pub(crate) attachments: Attachments,
    /// Tools that brought something and that nobody vouches for.
    pub(crate) untrusted: BTreeSet<ToolId>,
}

/// How a run went.
#[derive(Debug)]
pub(crate) enum RunEnd {
    Done(Box<RunReply>),
    Waiting(Box<Suspended>),
}

#[derive(Debug)]
struct GuestHost {
    core: Arc<Core>,
    outer: CallId,
    asked: Asked,
    numbers: AtomicU64,
    pause: Pause,
    notes: Mutex<Notes>,
    waiting: Mutex<Vec<(String, Prepared)>>,
}

impl Core {
    /// Runs a program from its start.
    pub(crate) async fn start_program(
        self: &Arc<Self>,
        code: String,
        outer: CallId,
        asked: Asked,
    ) -> RunEnd {
        let now = self.shared.parts.clock.now_ms();
        let epoch = i64::try_from(now).unwrap_or(i64::MAX);
        self.run_program(Suspended {
            program: Program::new(code, now, epoch),
            journal: Journal::default(),
            notes: Notes::default(),
            outer,
            asked,
            waiting: Vec::new(),
        })
        .await
    }

    /// Goes on with a program by replay, with results of the calls that it waited for. Calls that wait
    /// for consent are asked about again; as long as one still waits, so does the program.
    pub(crate) async fn resume_program(
        self: &Arc<Self>,
        mut suspended: Suspended,
        mut answers: Vec<(String, Outcome)>,
    ) -> RunEnd {
        for (handle, prepared) in std::mem::take(&mut suspended.waiting) {
            let id = prepared.tool.id.clone();
            let answer = answers.iter().position(|(own, _)| *own == handle);
            let dispatched = match answer {
                Some(at) => self.finish(prepared, answers.swap_remove(at).1).await,
                None => self.reconsider(prepared).await,
            };
            if let Dispatched::Aside(prepared) = dispatched {
                suspended.waiting.push((handle, *prepared));
                continue;
            }
            let answer = guest_answer(dispatched, &mut suspended.notes);
            let note = CallNote::new(id, answer.is_ok());
            suspended.notes.calls.push(note);
            // The handle stood among the waiting ones, so the journal knows it.
            let _ = suspended.journal.answer(&handle, answer);
        }
        if suspended.waiting.is_empty() {
            self.run_program(suspended).await
        } else {
            RunEnd::Waiting(Box::new(suspended))
        }
    }

    async fn run_program(self: &Arc<Self>, start: Suspended) -> RunEnd {
        let Suspended {
            program,
            journal,
            notes,
            outer,
            asked,
            ..
        } = start;
        let program = program.resumed(journal);
        let host = Arc::new(GuestHost {
            core: Arc::clone(self),
            outer: outer.clone(),
            asked: asked.clone(),
            numbers: AtomicU64::new(notes.calls.len() as u64),
            pause: Pause::new(),
            notes: Mutex::new(notes),
            waiting: Mutex::new(Vec::new()),
        });
        let engine = engine_of(&self.shared, &self.programs);
        let shared_host: Arc<dyn Host> = Arc::clone(&host) as Arc<dyn Host>;
        let mut limits = self.shared.options.code.clone();
        limits.wall = self.programs.wall.unwrap_or(limits.wall);
        let report = engine.run(program.clone(), shared_host, &limits).await;
        let notes = host
            .notes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let RunStatus::Suspended { journal } = report.status {
            let waiting =
                std::mem::take(&mut *host.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            return RunEnd::Waiting(Box::new(Suspended {
                program,
                journal,
                notes,
                outer,
                asked,
                waiting,
            }));
        }
        self.record_run(&report, &notes, &outer);
        RunEnd::Done(Box::new(reply(report, notes)))
    }

    fn record_run(&self, report: &RunReport, notes: &Notes, outer: &CallId) {
        let mut ran = Ran::new(outer.as_str(), report.engine.as_str());
        ran.ok = report.is_completed();
        ran.error = report.error().map(|error| error.code.as_str().to_owned());
        ran.calls = notes.calls.len();
        ran.millis = u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX);
        self.record(Event::Ran(ran));
    }
}

#[async_trait]
impl Host for GuestHost {
    async fn call(&self, method: &str, mut args: Value) -> HostReply {
        let core = &self.core;
        if method == "call" {
            self.notes(|notes| notes.attachments.restore(&mut args));
        }
        let request = core.with_decoding(|decoding| bridge::decode(method, &args, decoding));
        let request = match request {
            Ok(request) => request,
            Err(failure) => return HostReply::Error(guest_error(&failure)),
        };
        let response = match request.clone() {
            Request::Call(call) => match self.dispatch(call).await {
                Ok(answer) => return answer,
                Err(response) => response,
            },
            Request::Search {
                queries, explain, ..
            } => {
                let response = core.search(&queries, explain).await;
                self.note_search(&queries, &response);
                response
            }
            Request::Describe(ids) => {
                self.notes(|notes| notes.describes += 1);
                core.describe(&ids)
            }
            _ => Response::Failed(Box::new(Failure::input(
                "A program cannot start another program.",
            ))),
        };
        match bridge::encode(&request, &response) {
            Ok(value) => HostReply::Value(value),
            Err(failure) => HostReply::Error(guest_error(&failure)),
        }
    }

    fn log(&self, line: &LogLine) {
        self.core.programs.watch(|watcher| watcher.logged(line));
    }

    fn pause(&self) -> Option<Pause> {
        Some(self.pause.clone())
    }
}

impl GuestHost {
    fn notes<T>(&self, change: impl FnOnce(&mut Notes) -> T) -> T {
        change(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn dispatch(&self, call: toolsearch_mode::CallRequest) -> Result<HostReply, Response> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        let origin = Origin {
            id: self.outer.nested(number),
            parent: Some(self.outer.clone()),
            progress: None,
            pause: Some(self.pause.clone()),
            asked: self.asked.clone(),
        };
        let dispatched = self.core.call(call, origin).await;
        match &dispatched {
            Dispatched::Done(reply) => {
                self.note_call(&reply.tool.id, !reply.outcome.is_error);
            }
            Dispatched::Failed(failure) => {
                if let Some(id) = &failure.tool {
                    self.note_call(id, false);
                }
                return Err(Response::Failed(failure.clone()));
            }
            Dispatched::Aside(_) => {}
        }
        if let Dispatched::Aside(prepared) = dispatched {
            let handle = prepared.origin.id.as_str().to_owned();
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.push((handle.clone(), *prepared));
            return Ok(HostReply::Suspend { handle });
        }
        let answer = self.notes(|notes| guest_answer(dispatched, notes));
        Ok(match answer {
            Ok(value) => HostReply::Value(value),
            Err(error) => HostReply::Error(error),
        })
    }

    fn note_call(&self, id: &ToolId, ok: bool) {
        self.notes(|notes| notes.calls.push(CallNote::new(id.clone(), ok)));
        self.core.programs.watch(|watcher| watcher.called(id, ok));
    }

    fn note_search(&self, queries: &[Query], response: &Response) {
        if let Response::Search(reply) = response {
            let hits = reply.groups.iter().map(|group| group.hits.len()).sum();
            let texts: Vec<String> = queries.iter().map(|query| query.text.clone()).collect();
            self.core
                .programs
                .watch(|watcher| watcher.searched(&texts, hits));
        }
        self.notes(|notes| {
            notes.searches += 1;
            let Response::Search(reply) = response else {
                return;
            };
            let Some(advice) = render::search_note(reply, &render::Speech::code()) else {
                return;
            };
            let empty = reply.groups.iter().filter(|group| group.hits.is_empty());
            let queries: Vec<String> = empty.map(|group| format!("{:?}", group.query)).collect();
            let note = format!("search {}: {advice}", queries.join(", "));
            if notes.advice.len() < MAX_NOTES && !notes.advice.contains(&note) {
                notes.advice.push(note);
            }
        });
    }
}

/// What a program gets for a call that was dispatched. A tool that says it failed is thrown.
fn guest_answer(dispatched: Dispatched, notes: &mut Notes) -> Result<Value, HostError> {
    if let Dispatched::Done(reply) = &dispatched
        && !reply.tool.is_trusted()
    {
        notes.untrusted.insert(reply.tool.id.clone());
    }
    match dispatched {
        Dispatched::Done(reply) if reply.outcome.is_error => {
            let text = reply.outcome.joined_text();
            let text = if text.is_empty() {
                reply.outcome.value().to_string()
            } else {
                text
            };
            Err(HostError::new(ErrorCode::ToolError, text))
        }
        Dispatched::Done(reply) => {
            let mut result = reply.outcome.to_result_json();
            notes.attachments.take(&mut result);
            Ok(json!({ "tool": render::tool_ref(&reply.tool), "result": result }))
        }
        Dispatched::Failed(failure) => Err(guest_error(&failure)),
        Dispatched::Aside(_) => Err(HostError::new(
            ErrorCode::EngineUnavailable,
            "nobody answered",
        )),
    }
}

fn guest_error(failure: &Failure) -> HostError {
    let code = match failure.code {
        FailureCode::PolicyDenied => ErrorCode::PolicyDenied,
        FailureCode::ApprovalDenied => ErrorCode::ApprovalDenied,
        FailureCode::Cancelled => ErrorCode::Cancelled,
        other => ErrorCode::parse(other.as_str()),
    };
    HostError::new(code, render::failure_text(failure, &render::Speech::code()))
}

fn reply(report: RunReport, notes: Notes) -> RunReply {
    let telemetry = json!({
        "engine": report.engine,
        "ms": u64::try_from(report.duration.as_millis()).unwrap_or(u64::MAX),
        "searches": notes.searches,
        "describes": notes.describes,
        "calls": notes.calls.len(),
    });
    let mut reply = RunReply::default();
    reply.truncated = report.truncated.any();
    reply.logs = report.logs;
    reply.calls = notes.calls;
    reply.notes = report.hints.into_iter().chain(notes.advice).collect();
    reply.telemetry = telemetry;
    reply.untrusted = notes.untrusted.into_iter().collect();
    match report.status {
        RunStatus::Completed(value) => {
            reply.value = value.into_json();
            reply.blocks = notes.attachments.named_in(&reply.value);
        }
        RunStatus::Failed(error) => {
            let mut shown = RunError::new(error.code.as_str(), error.name, error.message);
            if let Some(excerpt) = error.excerpt {
                shown.message = format!("{} | {excerpt}", shown.message);
            }
            (shown.line, shown.column, shown.hint) = (error.line, error.column, error.hint);
            reply.error = Some(shown);
        }
        _ => {
            let message = "the program waits for calls that nobody here can answer";
            reply.error = Some(RunError::new("cancelled", "CancelledError", message));
        }
    }
    reply
}
