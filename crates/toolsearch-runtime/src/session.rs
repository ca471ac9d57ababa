//! A session: one subject, one catalog, every door.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;
use tokio::sync::{Mutex, Semaphore};
use toolsearch_catalog::{Catalog, LookupError, Outcome, Rejected, Source, ToolDescriptor, ToolId};
use toolsearch_invoke::{CallId, Invokers, Outage};
use toolsearch_mode::{
    CallRequest, ControlCall, Decoding, Failure, FailureCode, Mode, OWN_TOOLS, OutageNote,
    Rendered, Request, Response, Role, Surface, read, render,
};
use toolsearch_policy::Subject;
use toolsearch_telemetry::{Event, Fallback, Sizes, Stamped};

use crate::Shared;
use crate::dispatch::{Asked, Dispatched, Origin, Standing};
use crate::guard::LoopGuard;
use crate::guest::RunEnd;
use crate::plan::{OpenRequest, Plan};
use crate::programs::Programs;
use crate::query::outage_notes;
use crate::reply::{ClientAnswer, ModelCall, Pending, PendingState, Reply, ResumeError, fits};
use crate::results::{ResultReader, Results};

#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) shared: Arc<Shared>,
    pub(crate) session: String,
    pub(crate) subject: Subject,
    pub(crate) plan: Arc<Plan>,
    pub(crate) invokers: Invokers,
    pub(crate) outages: Vec<OutageNote>,
    pub(crate) standing: Arc<Mutex<BTreeMap<ToolId, Standing>>>,
    pub(crate) sequential: Arc<Mutex<()>>,
    pub(crate) in_flight: Arc<Semaphore>,
    pub(crate) results: Arc<Results>,
    pub(crate) guard: Arc<LoopGuard>,
    pub(crate) programs: Programs,
    pub(crate) calls: Arc<AtomicU64>,
}

impl Core {
    pub(crate) fn record(&self, event: Event) {
        let now = self.shared.parts.clock.now_ms();
        self.shared
            .parts
            .recorder
            .record(&Stamped::new(now, self.session.as_str(), event));
    }

    /// The one tool that a text names: in the catalog, or among the visible ones.
    pub(crate) fn find(&self, text: &str) -> Result<Arc<ToolDescriptor>, Failure> {
        match self.plan.snapshot.catalog.resolve(text) {
            Ok(tool) => Ok(Arc::clone(tool)),
            Err(LookupError::Unknown { asked, suggestions }) => {
                let text = text.trim();
                let declared = match self.plan.surface.role(text) {
                    Some(Role::Direct(id) | Role::Likely(id)) => Some(id),
                    _ => None,
                };
                let named = |tool: &&Arc<ToolDescriptor>| {
                    tool.id.as_str() == text || Some(&tool.id) == declared
                };
                let visible = self.plan.direct.iter().find(named).cloned();
                visible
                    .ok_or_else(|| self.missing(text, LookupError::Unknown { asked, suggestions }))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Nothing has this name. Where it names an owner in trouble, that is why.
    fn missing(&self, text: &str, error: LookupError) -> Failure {
        let failure = Failure::from(error);
        let parts = || text.split([':', '.', '/']).chain(text.split("__"));
        let named = |note: &&OutageNote| parts().any(|part| part == note.server);
        match self.outages.iter().find(named) {
            Some(note) if failure.suggestions.is_empty() => {
                let OutageNote {
                    server,
                    state,
                    reason,
                    ..
                } = note;
                let detail = format!("Server `{server}` is {state}: {reason}.");
                Failure::new(FailureCode::Unavailable, detail)
            }
            _ => failure,
        }
    }
}

/// One subject's tools, ready to be used through any door. Cloning shares the session.
#[derive(Debug, Clone)]
pub struct Session {
    core: Arc<Core>,
}

impl Session {
    pub(crate) fn new(
        shared: Arc<Shared>,
        session: String,
        request: OpenRequest,
        plan: Arc<Plan>,
        outages: Vec<(Source, Outage)>,
    ) -> Self {
        let kept = request.continues.as_ref().map(|session| &session.core);
        let kept = kept.filter(|core| core.subject == request.subject);
        let results = kept.map_or_else(Arc::default, |core| Arc::clone(&core.results));
        let standing = kept.map_or_else(Arc::default, |core| Arc::clone(&core.standing));
        let guard = kept.map_or_else(Arc::default, |core| Arc::clone(&core.guard));
        let calls = kept.map_or_else(Arc::default, |core| Arc::clone(&core.calls));
        // Calls of the session before may still run.
        let sequential = kept.map_or_else(Arc::default, |core| Arc::clone(&core.sequential));
        let in_flight = kept.map(|core| Arc::clone(&core.in_flight));
        let most = shared.options.in_flight;
        let in_flight = in_flight.unwrap_or_else(|| Arc::new(Semaphore::new(most)));
        let reader = Arc::new(ResultReader(Arc::clone(&results)));
        let invokers = shared.parts.invokers.clone().merge(&request.invokers);
        let invokers = invokers.bind(Source::Native, OWN_TOOLS, reader);
        let outages = outage_notes(&shared.parts.policy, &request.subject, &outages);
        let core = Core {
            session,
            subject: request.subject,
            plan,
            invokers,
            outages,
            standing,
            sequential,
            in_flight,
            results,
            guard,
            programs: request.programs,
            calls,
            shared,
        };
        Self {
            core: Arc::new(core),
        }
    }

    pub(crate) const fn core(&self) -> &Arc<Core> {
        &self.core
    }

    #[cfg(test)]
    pub(crate) fn core_plan(&self) -> &Arc<Plan> {
        &self.core.plan
    }

    /// The session's name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.core.session
    }

    /// What the model is shown. Fixed for the session.
    #[must_use]
    pub fn surface(&self) -> &Surface {
        &self.core.plan.surface
    }

    /// The mode in use.
    #[must_use]
    pub fn mode(&self) -> &dyn Mode {
        &self.core.plan.mode
    }

    /// Set when another mode was wanted.
    #[must_use]
    pub fn fallback(&self) -> Option<&Fallback> {
        self.core.plan.fallback.as_ref()
    }

    /// The searchable tools.
    #[must_use]
    pub fn catalog(&self) -> &Catalog {
        &self.core.plan.snapshot.catalog
    }

    /// Tools that are always visible, sorted by id.
    #[must_use]
    pub fn direct(&self) -> &[Arc<ToolDescriptor>] {
        &self.core.plan.direct
    }

    /// Tools that were set aside while planning.
    #[must_use]
    pub fn rejected(&self) -> &[Rejected] {
        &self.core.plan.rejected
    }

    /// Owners in trouble, as far as this subject may know of them.
    #[must_use]
    pub fn outages(&self) -> &[OutageNote] {
        &self.core.outages
    }

    /// What the model is sent at first, and what direct exposure would have sent.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        self.core.plan.sizes
    }

    /// Answers a call of the model: a control, a visible tool, or a hidden tool by its exact name.
    pub async fn handle(&self, call: ModelCall) -> Reply {
        let core = &self.core;
        let mut origin = core.origin();
        origin.progress = call.progress;
        origin.asked = Asked {
            approver: call.approver,
            waits: call.waits,
            request: call.request,
        };
        match core.plan.surface.role(&call.name) {
            Some(Role::Control(control)) => {
                let control = ControlCall::new(*control, call.arguments);
                let request =
                    core.with_decoding(|decoding| core.plan.mode.decode(&control, decoding));
                match request {
                    Ok(request) => match self.respond(request.clone(), origin).await {
                        Ok(response) => Reply::Done(core.encode(&request, &response)),
                        Err(pending) => Reply::Pending(pending),
                    },
                    Err(failure) => Reply::Done(core.failure(failure)),
                }
            }
            Some(Role::Direct(tool) | Role::Likely(tool)) => {
                self.call_named(tool.as_str(), &call.arguments, origin)
                    .await
            }
            _ => match core.hidden(&call.name) {
                Ok(tool) => {
                    self.call_named(tool.as_str(), &call.arguments, origin)
                        .await
                }
                Err(failure) => Reply::Done(core.failure(core.guarded(failure, &call.name))),
            },
        }
    }

    /// Answers a request that is typed already. What [`Session::handle`] does for a control call,
    /// without the mode's reading and wording.
    pub async fn request(&self, request: Request) -> Result<Response, Box<Pending>> {
        let origin = self.core.origin();
        self.respond(request, origin).await
    }

    /// Goes on with work that waited for the client or for consent. The approver is asked again about
    /// every call in [`Pending::held`]; while it has no verdict, the work comes back.
    ///
    /// # Errors
    /// [`ResumeError`] with the work, when the answers do not fit [`Pending::calls`].
    pub async fn resume(
        &self,
        pending: Pending,
        answers: Vec<ClientAnswer>,
    ) -> Result<Reply, (ResumeError, Pending)> {
        if let Err(error) = fits(&pending, &answers) {
            return Err((error, pending));
        }
        let mut answers: Vec<(String, Outcome)> = answers
            .into_iter()
            .map(|answer| (answer.handle, answer.outcome))
            .collect();
        Ok(match pending.state {
            PendingState::Call { request, prepared } => {
                let dispatched = match answers.pop() {
                    Some((_, outcome)) => self.core.finish(*prepared, outcome).await,
                    None => self.core.reconsider(*prepared).await,
                };
                match (called(request, dispatched), &self.core) {
                    (Ok((Some(request), response)), core) => {
                        Reply::Done(core.encode(&request, &response))
                    }
                    (Ok((None, response)), core) => Reply::Done(direct_answer(core, &response)),
                    (Err(pending), _) => Reply::Pending(pending),
                }
            }
            PendingState::Program { request, suspended } => {
                let end = self.core.resume_program(*suspended, answers).await;
                match program_end(request.clone(), end) {
                    Ok(response) => Reply::Done(self.core.encode(&request, &response)),
                    Err(pending) => Reply::Pending(pending),
                }
            }
        })
    }

    async fn respond(&self, request: Request, origin: Origin) -> Result<Response, Box<Pending>> {
        let core = &self.core;
        match request {
            Request::Search {
                ref queries,
                explain,
                ..
            } => Ok(core.search(queries, explain).await),
            Request::Describe(ref ids) => Ok(core.describe(ids)),
            Request::Call(ref call) => {
                let dispatched = core.call(call.clone(), origin).await;
                called(Box::new(Some(request)), dispatched).map(|(_, response)| response)
            }
            Request::Run { ref code } => {
                let Origin { id, asked, .. } = origin;
                let end = core.start_program(code.clone(), id, asked).await;
                program_end(request, end)
            }
            _ => Ok(Response::Failed(Box::new(Failure::input(
                "This request is not known here.",
            )))),
        }
    }

    /// A call of a tool by name, shown or hidden: the arguments are the tool's own.
    async fn call_named(&self, tool: &str, arguments: &Value, origin: Origin) -> Reply {
        let args = match read::object(arguments) {
            Ok(args) => args,
            Err(failure) => return Reply::Done(self.core.failure(failure)),
        };
        let dispatched = self.core.call(CallRequest::new(tool, args), origin).await;
        match called(Box::new(None), dispatched) {
            Ok((_, response)) => Reply::Done(direct_answer(&self.core, &response)),
            Err(pending) => Reply::Pending(pending),
        }
    }
}

impl Core {
    /// A new call that the model makes itself.
    fn origin(&self) -> Origin {
        Origin {
            id: CallId::outer(self.calls.fetch_add(1, Ordering::Relaxed) + 1),
            parent: None,
            progress: None,
            pause: None,
            asked: Asked::default(),
        }
    }

    pub(crate) fn with_decoding<T>(&self, with: impl FnOnce(&Decoding<'_>) -> T) -> T {
        let is_tool = |text: &str| self.find(text).is_ok();
        let (names, limits) = (&self.shared.options.names, &self.shared.options.search);
        with(&Decoding {
            names,
            limits,
            is_tool: &is_tool,
        })
    }

    fn encode(&self, request: &Request, response: &Response) -> Rendered {
        self.with_decoding(|decoding| self.plan.mode.encode(request, response, decoding))
    }

    /// A failure in the words of this surface.
    fn failure(&self, failure: Failure) -> Rendered {
        let request = Request::Describe(Vec::new());
        self.encode(&request, &Response::Failed(Box::new(failure)))
    }

    /// A hidden tool that the model called by its own name.
    fn hidden(&self, name: &str) -> Result<ToolId, Failure> {
        let tool = self.find(name)?;
        if self.shared.options.hidden_calls || self.plan.mode.name() == "directory" {
            return Ok(tool.id.clone());
        }
        let detail = format!(
            "`{}` is not declared and cannot be called by its name.",
            tool.id
        );
        Err(Failure::new(FailureCode::HiddenTool, detail).about(&tool.id))
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.record(Event::Closed);
        self.shared.plans.closed();
    }
}

/// The response to a call, with what asked for it; or the call, put aside.
fn called(
    request: Box<Option<Request>>,
    dispatched: Dispatched,
) -> Result<(Option<Request>, Response), Box<Pending>> {
    match dispatched {
        Dispatched::Done(reply) => Ok((*request, Response::Call(reply))),
        Dispatched::Failed(failure) => Ok((*request, Response::Failed(failure))),
        Dispatched::Aside(prepared) => {
            let state = PendingState::Call { request, prepared };
            Err(Box::new(Pending { state }))
        }
    }
}

/// The answer to a call of a visible tool: the tool's own result.
fn direct_answer(core: &Core, response: &Response) -> Rendered {
    match response {
        Response::Call(reply) => render::call(reply),
        Response::Failed(failure) => core.failure(Failure::clone(failure)),
        _ => core.failure(Failure::new(
            FailureCode::Internal,
            "The call gave no result.",
        )),
    }
}

fn program_end(request: Request, end: RunEnd) -> Result<Response, Box<Pending>> {
    match end {
        RunEnd::Done(reply) => Ok(Response::Run(reply)),
        RunEnd::Waiting(suspended) => Err(Box::new(Pending {
            state: PendingState::Program { request, suspended },
        })),
    }
}
