//! The one way to a tool: resolve → policy → before hooks → validate → approve → invoke → check
//! output → after hooks → budget → record. Every door of a session comes through here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use toolsearch_catalog::{Outcome, Provenance, Source, ToolDescriptor, ToolId, text_block};
use toolsearch_invoke::{
    CallId, Caller, HookCall, HookDecision, Invocation, InvokeError, ProgressSink,
};
use toolsearch_mode::{CallReply, CallRequest, Failure, FailureCode};
use toolsearch_policy::{ApprovalRequest, Approver, Decision, Verdict};
use toolsearch_sandbox::Pause;
use toolsearch_schema::arguments::validate;
use toolsearch_schema::names::clip;
use toolsearch_telemetry::{Called, Event};

use crate::session::Core;

/// Most characters of a reason that comes from outside.
const MAX_REASON_CHARS: usize = 500;

/// Keys of `_meta` that only toolsearch writes.
const OWN_META: &str = "toolsearch/";

/// Where a call comes from.
#[derive(Debug, Clone)]
pub(crate) struct Origin {
    pub(crate) id: CallId,
    pub(crate) parent: Option<CallId>,
    pub(crate) progress: Option<Arc<dyn ProgressSink>>,
    /// Stops the clock of the program that made the call while a person is asked.
    pub(crate) pause: Option<Pause>,
    pub(crate) asked: Asked,
}

/// Who is asked about a call, and what becomes of it when nobody answers now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    /// Instead of the runtime's approver.
    pub(crate) approver: Option<Arc<dyn Approver>>,
    /// Whether the call can be put aside.
    pub(crate) waits: bool,
    /// The client's request that the call belongs to.
    pub(crate) request: Option<String>,
}

/// What a call waits for that was put aside.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    /// The approver's name for it.
    pub(crate) handle: String,
    /// Why consent is needed.
    pub(crate) reason: String,
}

/// What was said once for all further calls of a tool.
#[derive(Debug, Clone)]
pub(crate) enum Standing {
    Allowed,
    Denied(String),
}

/// Why a call does not go on.
enum Stop {
    Failed(Box<Failure>),
    Waits(Question),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

/// A call that passed everything that comes before running it.
#[derive(Debug, Clone)]
pub(crate) struct Prepared {
    pub(crate) tool: Arc<ToolDescriptor>,
    pub(crate) args: Map<String, Value>,
    pub(crate) origin: Origin,
    /// Set while the call waits for consent.
    pub(crate) question: Option<Question>,
    pub(crate) repairs: Vec<String>,
    pub(crate) started: Instant,
}

/// What became of a call.
#[derive(Debug)]
pub(crate) enum Dispatched {
    Done(Box<CallReply>),
    Failed(Box<Failure>),
    /// It was put aside: the client runs it and [`Core::finish`] goes on with its result, or
    /// [`Core::reconsider`] goes on when somebody has consented.
    Aside(Box<Prepared>),
}

impl Core {
    pub(crate) async fn call(&self, request: CallRequest, origin: Origin) -> Dispatched {
        let started = Instant::now();
        let tool = match self.find(&request.id) {
            Ok(tool) => tool,
            Err(failure) => {
                return Dispatched::Failed(Box::new(self.guarded(failure, &request.id)));
            }
        };
        let mut prepared = Prepared {
            tool,
            args: request.args,
            origin,
            question: None,
            repairs: request.repairs,
            started,
        };
        let ready = self.prepare(&mut prepared).await;
        self.go_on(prepared, ready).await
    }

    /// Goes on with a call that waited for consent: the rules are asked again, and so is the approver.
    pub(crate) async fn reconsider(&self, mut call: Prepared) -> Dispatched {
        let ready = match (self.decide(&call.tool), call.question.take()) {
            (Ok(_), Some(question)) => self.approve(&call, question.reason).await,
            (Ok(_), None) => Ok(()),
            (Err(failure), _) => Err(failure.into()),
        };
        self.go_on(call, ready).await
    }

    async fn go_on(&self, mut call: Prepared, ready: Result<(), Stop>) -> Dispatched {
        match ready {
            Ok(()) => {}
            Err(Stop::Waits(question)) => {
                call.question = Some(question);
                return Dispatched::Aside(Box::new(call));
            }
            Err(Stop::Failed(failure)) => {
                return Dispatched::Failed(Box::new(self.failed(&call, *failure)));
            }
        }
        match self.run(&call).await {
            Ok(Some(outcome)) => self.finish(call, outcome).await,
            Ok(None) => Dispatched::Aside(Box::new(call)),
            Err(failure) => Dispatched::Failed(Box::new(self.failed(&call, failure))),
        }
    }

    /// What the rules say, unless they deny.
    pub(crate) fn decide(&self, tool: &ToolDescriptor) -> Result<Decision, Failure> {
        let decision = self.shared.parts.policy.decide(&self.subject, tool);
        if let Decision::Deny(reason) = &decision {
            let detail = format!("Policy does not allow `{}`: {reason}.", tool.id);
            return Err(Failure::new(FailureCode::PolicyDenied, detail).about(&tool.id));
        }
        Ok(decision)
    }

    /// Policy, hooks, validation and consent.
    async fn prepare(&self, call: &mut Prepared) -> Result<(), Stop> {
        let decision = self.decide(&call.tool)?;
        let asked = self.before_hooks(call).await?;
        self.validate(call)?;
        let reason = match decision {
            Decision::Ask(reason) => Some(reason.to_string()),
            _ => asked,
        };
        match reason {
            Some(reason) => self.approve(call, reason).await,
            None => Ok(()),
        }
    }

    /// Runs the hooks in order; gives the reason of the first that wants a person asked.
    async fn before_hooks(&self, call: &mut Prepared) -> Result<Option<String>, Failure> {
        let mut asked = None;
        for hook in &self.shared.parts.hooks {
            let blocked = |why: &str| {
                let detail = format!(
                    "Hook `{}` blocked `{}`: {}.",
                    hook.name(),
                    call.tool.id,
                    clip(why.trim_end_matches('.'), MAX_REASON_CHARS)
                );
                Failure::new(FailureCode::PolicyDenied, detail).about(&call.tool.id)
            };
            match hook.before(&self.hook_call(call)).await {
                Ok(HookDecision::Continue) => {}
                Ok(HookDecision::Rewrite(args)) => call.args = args,
                Ok(HookDecision::Ask(reason)) => {
                    asked.get_or_insert(format!("hook `{}`: {reason}", hook.name()));
                }
                Ok(HookDecision::Block(reason)) => return Err(blocked(&reason)),
                Ok(_) => return Err(blocked("it gave an answer that is not known here")),
                Err(error) => return Err(blocked(&format!("it failed ({error})"))),
            }
        }
        Ok(asked)
    }

    fn hook_call(&self, call: &Prepared) -> HookCall {
        let (id, parent) = (call.origin.id.clone(), call.origin.parent.clone());
        HookCall::new(
            Arc::clone(&call.tool),
            call.args.clone(),
            id,
            parent,
            self.caller(),
        )
    }

    fn caller(&self) -> Caller {
        Caller::new(self.session.as_str(), self.subject.agent.clone())
    }

    /// Puts right what the schema leaves no doubt about, then checks. A schema that does not compile
    /// is left to the tool's owner.
    fn validate(&self, call: &mut Prepared) -> Result<(), Failure> {
        let (args, repairs) = toolsearch_schema::arguments::repair(
            std::mem::take(&mut call.args),
            &call.tool.input_schema,
        );
        call.args = args;
        call.repairs.extend(repairs.iter().map(ToString::to_string));
        let Some(validator) = self.plan.snapshot.input_validator(&call.tool) else {
            return Ok(());
        };
        validate(&call.args, &validator).map_err(|errors| {
            let detail = format!("The arguments do not fit `{}`: {errors}.", call.tool.id);
            Failure::new(FailureCode::InvalidArguments, detail).about(&call.tool.id)
        })
    }

    async fn approve(&self, call: &Prepared, reason: String) -> Result<(), Stop> {
        let id = &call.tool.id;
        let denied = |why: &str| {
            let why = clip(why.trim_end_matches('.'), MAX_REASON_CHARS);
            let detail = format!("`{id}` was not approved: {why}.");
            Stop::from(Failure::new(FailureCode::ApprovalDenied, detail).about(id))
        };
        let standing = self.standing.lock().await.get(id).cloned();
        match standing {
            Some(Standing::Allowed) => return Ok(()),
            Some(Standing::Denied(why)) => return Err(denied(&why)),
            None => {}
        }
        let timeout = self.shared.options.approval_timeout;
        let own = call.origin.asked.approver.as_ref();
        let approver = own.unwrap_or(&self.shared.parts.approver);
        let _stopped = call.origin.pause.as_ref().map(Pause::hold);
        let review = approver.review(self.question(call, reason.clone(), timeout));
        match tokio::time::timeout(timeout, review).await {
            Ok(Verdict::Once) => Ok(()),
            Ok(Verdict::ForSession) => {
                self.stands(id, Standing::Allowed).await;
                Ok(())
            }
            Ok(Verdict::Denied(why)) => Err(denied(&why)),
            Ok(Verdict::DeniedForSession(why)) => {
                self.stands(id, Standing::Denied(why.clone())).await;
                Err(denied(&why))
            }
            Ok(Verdict::Pending(handle)) if call.origin.asked.waits => {
                Err(Stop::Waits(Question { handle, reason }))
            }
            Ok(Verdict::Pending(handle)) => {
                let detail = format!("`{id}` waits for approval under `{handle}`.");
                let mut failure = Failure::new(FailureCode::ApprovalRequired, detail);
                failure.handle = Some(handle);
                Err(failure.about(id).into())
            }
            Ok(_) => Err(denied("the answer is not known here")),
            Err(_) => {
                let millis = timeout.as_millis();
                Err(denied(&format!("timed out after {millis} ms")))
            }
        }
    }

    fn question(&self, call: &Prepared, reason: String, timeout: Duration) -> ApprovalRequest {
        let (id, args) = (call.tool.id.clone(), call.args.clone());
        let mut request = ApprovalRequest::new(id, args, self.session.as_str(), reason, timeout);
        request.agent.clone_from(&self.subject.agent);
        let now = self.shared.parts.clock.now_ms();
        let wait = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        request.expires_ms = Some(now.saturating_add(wait));
        request
    }

    async fn stands(&self, id: &ToolId, standing: Standing) {
        self.standing.lock().await.insert(id.clone(), standing);
    }

    /// Runs the call; `None` when the client has to.
    async fn run(&self, call: &Prepared) -> Result<Option<Outcome>, Failure> {
        let Some(invoker) = self.invokers.of(&call.tool) else {
            if call.tool.source() == Source::Client {
                return Ok(None);
            }
            let detail = format!("Nothing here runs `{}` now.", call.tool.id);
            return Err(Failure::new(FailureCode::Unavailable, detail).about(&call.tool.id));
        };
        let _alone = match call.tool.execution {
            toolsearch_catalog::Execution::Sequential => Some(self.sequential.lock().await),
            _ => None,
        };
        let _slot = self.in_flight.acquire().await;
        let timeout = self.shared.options.call_timeout;
        let mut invocation = Invocation::new(
            Arc::clone(&call.tool),
            call.args.clone(),
            call.origin.id.clone(),
            timeout,
        );
        invocation.parent.clone_from(&call.origin.parent);
        let request = call.origin.asked.request.clone();
        invocation.caller = self.caller().in_request(request);
        invocation.progress.clone_from(&call.origin.progress);
        let ran = tokio::time::timeout(timeout, invoker.invoke(invocation)).await;
        let ran = ran.unwrap_or(Err(InvokeError::Timeout(timeout)));
        ran.map(Some)
            .map_err(|error| invoke_failure(&error, &call.tool))
    }

    /// Everything that comes after a tool ran, wherever it ran.
    pub(crate) async fn finish(&self, call: Prepared, mut outcome: Outcome) -> Dispatched {
        if let Err(failure) = self.check_output(&call, &outcome) {
            return Dispatched::Failed(Box::new(self.failed(&call, failure)));
        }
        let hook_call = self.hook_call(&call);
        for hook in &self.shared.parts.hooks {
            match hook.after(&hook_call, outcome).await {
                Ok(next) => outcome = next,
                Err(error) => {
                    let detail = format!(
                        "`{}` ran, but hook `{}` withheld its result: {}",
                        call.tool.id,
                        hook.name(),
                        clip(&error.to_string(), MAX_REASON_CHARS)
                    );
                    let failure = Failure::new(FailureCode::PolicyDenied, detail);
                    return Dispatched::Failed(Box::new(
                        self.failed(&call, failure.about(&call.tool.id)),
                    ));
                }
            }
        }
        outcome.provenance = Some(Provenance::new(call.tool.id.clone(), call.tool.trust));
        if let Some(meta) = &mut outcome.meta {
            // What an answer says about itself in the name of toolsearch, toolsearch says.
            meta.retain(|key, _| !key.starts_with(OWN_META));
        }
        let bytes = outcome.bytes();
        let guarded = guard_key(&call.tool, &call.args);
        let code = outcome.is_error.then_some("tool_error");
        if outcome.is_error {
            if self.guard.failed(&[&guarded.0, &guarded.1]) {
                outcome.content.push(text_block(STOP));
            }
        } else {
            self.guard.worked(&[&guarded.0, &guarded.1]);
        }
        if call.origin.parent.is_none() {
            outcome = self
                .results
                .budgeted(outcome, self.shared.options.result_bytes);
        }
        self.record_call(&call, code, bytes);
        Dispatched::Done(Box::new(CallReply::new(call.tool, outcome)))
    }

    /// A declared output schema is a promise only where the operator vouches for the tool.
    fn check_output(&self, call: &Prepared, outcome: &Outcome) -> Result<(), Failure> {
        let Some(structured) = outcome.structured.as_deref().filter(|_| !outcome.is_error) else {
            return Ok(());
        };
        if !call.tool.is_trusted() {
            return Ok(());
        }
        let Some(validator) = self.plan.snapshot.output_validator(&call.tool) else {
            return Ok(());
        };
        validator.check(structured).map_err(|errors| {
            let detail = format!(
                "`{}` ran and may have had effects, but its result does not have the declared \
                 shape: {}",
                call.tool.id,
                clip(&errors.to_string(), MAX_REASON_CHARS)
            );
            Failure::new(FailureCode::OutputMismatch, detail).about(&call.tool.id)
        })
    }

    fn failed(&self, call: &Prepared, mut failure: Failure) -> Failure {
        let key = guard_key(&call.tool, &call.args);
        if failure.code != FailureCode::ApprovalRequired && self.guard.failed(&[&key.0, &key.1]) {
            failure.detail.push(' ');
            failure.detail.push_str(STOP);
        }
        self.record_call(call, Some(failure.code.as_str()), 0);
        failure
    }

    /// A failure before any tool was found.
    pub(crate) fn guarded(&self, mut failure: Failure, asked: &str) -> Failure {
        if self.guard.failed(&["resolve", asked]) {
            failure.detail.push(' ');
            failure.detail.push_str(STOP);
        }
        failure
    }

    fn record_call(&self, call: &Prepared, error: Option<&str>, bytes: usize) {
        let mut called = Called::new(call.origin.id.as_str(), call.tool.id.clone());
        called.parent = call
            .origin
            .parent
            .as_ref()
            .map(|parent| parent.as_str().to_owned());
        called.ok = error.is_none();
        called.error = error.map(str::to_owned);
        called.repairs.clone_from(&call.repairs);
        called.result_bytes = bytes;
        called.millis = u64::try_from(call.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.record(Event::Called(called));
    }
}

const STOP: &str = "This same call has failed three times. Do not repeat it; tell the user what \
                    went wrong.";

fn guard_key(tool: &ToolDescriptor, args: &Map<String, Value>) -> (String, String) {
    let args = toolsearch_schema::canonical_object(args);
    (tool.id.as_str().to_owned(), args)
}

fn invoke_failure(error: &InvokeError, tool: &ToolDescriptor) -> Failure {
    let code = match error {
        InvokeError::Unavailable { .. } | InvokeError::Gone { .. } => FailureCode::Unavailable,
        InvokeError::Refused { .. } => FailureCode::Refused,
        InvokeError::Timeout(_) => FailureCode::Timeout,
        _ => FailureCode::Internal,
    };
    let detail = format!(
        "`{}` could not be run: {}.",
        tool.id,
        clip(&error.to_string(), MAX_REASON_CHARS)
    );
    Failure::new(code, detail).about(&tool.id)
}
