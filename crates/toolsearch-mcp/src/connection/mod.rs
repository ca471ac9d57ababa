//! One living connection: listing and calling over it until it ends.

mod handshake;
mod pages;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures::future::try_join_all;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, CustomRequest, ErrorCode,
    ErrorData, RequestId, RequestMetaObject, ServerPeerInfo, ServerResult,
};
use rmcp::service::{
    Peer, PeerRequestOptions, RequestHandle, RoleClient, RunningService, ServiceError,
};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use toolsearch_invoke::{Caller, ProgressSink};

use self::handshake::capabilities;
pub(crate) use self::handshake::{Attempt, StartError, open};
use self::pages::{ListState, follow_changes, keep_listing};
use crate::carrier::{Life, Remote};
use crate::listing::ToolList;
use crate::peer::{Ask, AskKind, AskReply};
use crate::shared::Shared;
use crate::trouble::Trouble;
use crate::wire::{Rider, lost};

/// How long an answer that was read before the server ended may take to reach its caller, and how
/// long it may take to learn how the server ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Rounds of questions in one call.
const MAX_ROUNDS: usize = 8;
/// Questions in one round.
const MAX_QUESTIONS: usize = 16;

/// One call of a tool.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) args: Map<String, Value>,
    pub(crate) caller: Caller,
    pub(crate) progress: Option<Arc<dyn ProgressSink>>,
}

#[derive(Debug)]
pub(crate) struct Connection {
    running: RunningService<RoleClient, handshake::Client>,
    remote: Remote,
    list_changes: watch::Sender<u64>,
    listed: watch::Receiver<ListState>,
    shared: Arc<Shared>,
    opened: Instant,
    /// A call was answered.
    proven: AtomicBool,
    /// Dropping it ends them.
    _tasks: JoinSet<()>,
}

/// Why a call brought no result.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The server answered with an error.
    Answered(ErrorData),
    /// The connection ended, and how.
    Ended(String),
    /// The request got lost on the way; the connection goes on.
    Lost(Trouble),
    /// The deadline passed.
    TimedOut,
    /// The answer is of a kind that this client cannot deal with.
    Unsupported(&'static str),
}

impl Connection {
    fn start(
        running: RunningService<RoleClient, handshake::Client>,
        remote: Remote,
        list_changes: watch::Sender<u64>,
        shared: &Arc<Shared>,
    ) -> Self {
        let (state, listed) = watch::channel(ListState::default());
        let mut tasks = JoinSet::new();
        let peer = running.peer().clone();
        let (asked, notes) = (list_changes.subscribe(), remote.clone());
        tasks.spawn(keep_listing(
            peer.clone(),
            Arc::clone(shared),
            asked,
            state,
            notes,
        ));
        tasks.spawn(follow_changes(peer, list_changes.clone()));
        let (opened, proven) = (Instant::now(), AtomicBool::new(false));
        Self {
            running,
            remote,
            list_changes,
            listed,
            shared: Arc::clone(shared),
            opened,
            proven,
            _tasks: tasks,
        }
    }

    /// What the server said about itself.
    pub(crate) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.running.peer_info()
    }

    pub(crate) const fn remote(&self) -> &Remote {
        &self.remote
    }

    pub(crate) fn is_over(&self) -> bool {
        self.remote.is_gone() || self.running.is_transport_closed()
    }

    /// Whether the server did more than start and die.
    pub(crate) fn was_useful(&self, lifetime: Duration) -> bool {
        self.proven.load(Ordering::Relaxed) || self.opened.elapsed() >= lifetime
    }

    /// The server did what it was asked to.
    pub(crate) fn prove(&self) {
        self.proven.store(true, Ordering::Relaxed);
    }

    /// How the connection ended.
    pub(crate) async fn obituary(&self) -> String {
        self.remote.reaches(Life::Gone, LAST_WORDS).await;
        self.remote.notes.obituary()
    }

    /// The tools as of now: the list that is known, unless the server said that it changed. A list
    /// that failed is asked for once more. `None` when there is no answer by the deadline.
    pub(crate) async fn tools(&self, deadline: Instant) -> Option<Result<Arc<ToolList>, String>> {
        let mut listed = self.listed.clone();
        let failed = matches!(listed.borrow().result, Some(Err(_)));
        if failed && self.shared.breaker.refusal().is_none() {
            self.list_changes.send_modify(|count| *count += 1);
        }
        let wanted = *self.list_changes.borrow();
        let known = listed.wait_for(|state| state.result.is_some() && state.asked >= wanted);
        let state = timeout_at(deadline, known).await.ok()?.ok()?;
        state.result.clone()
    }

    /// Calls a tool. Dropping the future, and the deadline, tell the server that the call is
    /// cancelled.
    pub(crate) async fn call(&self, call: Call, deadline: Instant) -> Result<Value, CallError> {
        let rider = Rider {
            progress: call.progress,
            caller: Some(call.caller),
        };
        let params = json!({ "name": call.name, "arguments": call.args });
        self.finished("tools/call", params, rider, deadline).await
    }

    /// Asks until there is a result: a server of the newer protocol may want to know something
    /// first.
    pub(crate) async fn finished(
        &self,
        method: &str,
        mut params: Value,
        rider: Rider,
        deadline: Instant,
    ) -> Result<Value, CallError> {
        let caller = rider.caller.clone().unwrap_or_default();
        for _ in 0..=MAX_ROUNDS {
            let sent = self.request(method, params.clone(), rider.clone(), deadline);
            let result = sent
                .await
                .inspect_err(|error| self.excuse(error, &caller))?;
            self.proven.store(true, Ordering::Relaxed);
            match result.get("resultType").and_then(Value::as_str) {
                Some("input_required") => {
                    let asked = timeout_at(deadline, self.answers(&result, &caller)).await;
                    let answers = asked.map_err(|_| CallError::TimedOut)??;
                    params["inputResponses"] = answers;
                    // A state belongs to its round alone.
                    match (result.get("requestState"), &mut params) {
                        (Some(state), params) => params["requestState"] = state.clone(),
                        (None, Value::Object(params)) => drop(params.remove("requestState")),
                        (None, _) => {}
                    }
                }
                Some("task") => return Err(CallError::Unsupported("answers later, as a task")),
                _ => return Ok(result),
            }
        }
        Err(CallError::Unsupported("wants further input without end"))
    }

    /// What the client says to the questions of an unfinished call.
    async fn answers(&self, result: &Value, caller: &Caller) -> Result<Value, CallError> {
        let questions = result.get("inputRequests").and_then(Value::as_object);
        let questions = questions.into_iter().flatten().take(MAX_QUESTIONS);
        // All at once, so that a client can be asked in one round as well.
        let answers = questions.map(|(key, question)| async move {
            let answer = self.answer(key, question, caller).await?;
            Ok((key.clone(), answer))
        });
        let answers: Map<String, Value> = try_join_all(answers).await?.into_iter().collect();
        Ok(Value::Object(answers))
    }

    async fn answer(
        &self,
        name: &str,
        question: &Value,
        caller: &Caller,
    ) -> Result<Value, CallError> {
        let method = question.get("method").and_then(Value::as_str);
        let Some(kind) = method.and_then(AskKind::of) else {
            return Err(CallError::Unsupported(
                "wants further input of an unknown kind",
            ));
        };
        let peer = self.shared.peer();
        let reply = match peer.filter(|peer| peer.offers_for(caller).contains(&kind)) {
            Some(peer) => {
                let params = question.get("params").cloned();
                let ask = Ask {
                    server: self.shared.spec.name.clone(),
                    caller: caller.clone(),
                    kind,
                    params: params.unwrap_or_else(|| json!({})),
                    name: Some(name.to_owned()),
                };
                peer.ask(ask).await
            }
            None => AskReply::Declined,
        };
        let answer = match reply {
            AskReply::Result(answer) => Some(answer),
            AskReply::Declined => kind.declined(),
            AskReply::NotDeclared => None,
        };
        answer.ok_or(CallError::Unsupported("wants further input from a client"))
    }

    /// A server that cannot do without what the client did not declare says so.
    fn excuse(&self, error: &CallError, caller: &Caller) {
        let (CallError::Answered(error), Some(peer)) = (error, self.shared.peer()) else {
            return;
        };
        if error.code != ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY {
            return;
        }
        let data = error.data.as_ref();
        let needed = data.and_then(|data| data.get("requiredCapabilities"));
        let needs = |kind: &AskKind| needed.is_some_and(|all| all.get(kind.capability()).is_some());
        for kind in AskKind::ALL.into_iter().filter(needs) {
            peer.lacks(caller, kind);
        }
    }

    /// What the caller's client may be asked, said with a request that stands for itself.
    fn options(&self, caller: Option<&Caller>) -> PeerRequestOptions {
        let mut options = PeerRequestOptions::no_options();
        let stateless = self
            .info()
            .is_some_and(|info| !info.protocol_version.has_initialize());
        if let (Some(caller), Some(peer), true) = (caller, self.shared.peer(), stateless) {
            let mut meta = RequestMetaObject::new();
            meta.set_client_capabilities(capabilities(&peer.offers_for(caller)));
            options.meta = Some(meta);
        }
        options
    }

    /// One request with its raw result.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Value,
        rider: Rider,
        deadline: Instant,
    ) -> Result<Value, CallError> {
        let options = self.options(rider.caller.as_ref());
        let mut request = CustomRequest::new(method, Some(params));
        request.extensions.insert(rider);
        let request = ClientRequest::CustomRequest(request);
        let sent = self
            .running
            .peer()
            .send_cancellable_request(request, options);
        let mut handle = match timeout_at(deadline, sent).await {
            Ok(Ok(handle)) => handle,
            Ok(Err(_)) => return Err(CallError::Ended(self.obituary().await)),
            Err(_) => return Err(CallError::TimedOut),
        };
        let mut unanswered = Unanswered::new(&handle);
        let answer = tokio::select! {
            biased;
            answer = &mut handle.rx => answer.ok(),
            () = sleep_until(deadline) => return Err(CallError::TimedOut),
            () = self.ended() => None,
        };
        unanswered.disarm();
        match answer {
            Some(Ok(result)) => Ok(raw(result)),
            Some(Err(ServiceError::McpError(error))) => Err(match lost(&error) {
                Some(trouble) => CallError::Lost(trouble),
                None => CallError::Answered(error),
            }),
            Some(Err(_)) | None => Err(CallError::Ended(self.obituary().await)),
        }
    }

    /// Until the server is gone and every answer of it should have arrived.
    async fn ended(&self) {
        let mut life = self.remote.life.clone();
        let _ = life.wait_for(|life| *life >= Life::Gone).await;
        sleep(LAST_WORDS / 2).await;
    }
}

/// Sends one request; the answer comes through the handle.
async fn send(
    peer: &Peer<RoleClient>,
    request: ClientRequest,
) -> Result<RequestHandle<RoleClient>, ServiceError> {
    peer.send_cancellable_request(request, PeerRequestOptions::no_options())
        .await
}

/// The JSON of an answer. [`crate::wire`] hands over everything but handshakes raw.
fn raw(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(result) => result.0,
        typed => serde_json::to_value(typed).unwrap_or_default(),
    }
}

/// Tells the server when nobody waits for an answer any more.
struct Unanswered {
    request: Option<(Peer<RoleClient>, RequestId)>,
}

impl Unanswered {
    fn new(handle: &RequestHandle<RoleClient>) -> Self {
        Self {
            request: Some((handle.peer.clone(), handle.id.clone())),
        }
    }

    fn disarm(&mut self) {
        self.request = None;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        let Some((peer, id)) = self.request.take() else {
            return;
        };
        let params = CancelledNotificationParam::new(Some(id), Some("no longer needed".to_owned()));
        let notification = CancelledNotification::new(params);
        let sent = tokio::task::unconstrained(peer.send_notification(notification.into()));
        // The first poll puts the notification into rmcp's queue; the rest would only wait for it
        // to be written. A full queue means that the server does not read anyway.
        let mut sent = std::pin::pin!(sent);
        if let Poll::Ready(Err(error)) = sent.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        {
            tracing::debug!(%error, "cancellation could not be sent");
        }
    }
}
