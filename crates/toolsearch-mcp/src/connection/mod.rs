//! One living connection: listing and calling over it until it ends.

mod handshake;
mod pages;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientRequest, ErrorData, RequestId, ServerPeerInfo, ServerResult,
};
use rmcp::service::{
    Peer, PeerRequestOptions, RequestHandle, RoleClient, RunningService, ServiceError,
};
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use toolsearch_invoke::ProgressSink;

pub(crate) use self::handshake::{Attempt, StartError, open};
use self::pages::{ListState, follow_changes, keep_listing};
use crate::carrier::{Life, Remote};
use crate::listing::ToolList;
use crate::shared::Shared;
use crate::wire::Listener;

/// How long an answer that was read before the server ended may take to reach its caller, and how
/// long it may take to learn how the server ended.
const LAST_WORDS: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(crate) struct Connection {
    running: RunningService<RoleClient, handshake::Client>,
    remote: Remote,
    list_changes: watch::Sender<u64>,
    listed: watch::Receiver<ListState>,
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

    /// How the connection ended.
    pub(crate) async fn obituary(&self) -> String {
        self.remote.reaches(Life::Gone, LAST_WORDS).await;
        self.remote.notes.obituary()
    }

    /// The tools as of now: the list that is known, unless the server said that it changed. A list
    /// that failed is asked for once more. `None` when there is no answer by the deadline.
    pub(crate) async fn tools(&self, deadline: Instant) -> Option<Result<Arc<ToolList>, String>> {
        let mut listed = self.listed.clone();
        if matches!(listed.borrow().result, Some(Err(_))) {
            self.list_changes.send_modify(|count| *count += 1);
        }
        let wanted = *self.list_changes.borrow();
        let known = listed.wait_for(|state| state.result.is_some() && state.asked >= wanted);
        let state = timeout_at(deadline, known).await.ok()?.ok()?;
        state.result.clone()
    }

    /// Calls a tool. Dropping the future, and the deadline, tell the server that the call is
    /// cancelled.
    pub(crate) async fn call(
        &self,
        name: &str,
        args: Map<String, Value>,
        progress: Option<Arc<dyn ProgressSink>>,
        deadline: Instant,
    ) -> Result<Value, CallError> {
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(args);
        let mut request = CallToolRequest::new(params);
        if let Some(sink) = progress {
            request.extensions.insert(Listener(sink));
        }
        let request = ClientRequest::CallToolRequest(request);
        let result = self.request(request, deadline).await?;
        self.proven.store(true, Ordering::Relaxed);
        match result.get("resultType").and_then(Value::as_str) {
            Some("input_required") => {
                Err(CallError::Unsupported("wants further input from a user"))
            }
            Some("task") => Err(CallError::Unsupported("answers later, as a task")),
            _ => Ok(result),
        }
    }

    async fn request(&self, request: ClientRequest, deadline: Instant) -> Result<Value, CallError> {
        let sent = send(self.running.peer(), request);
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
            Some(Err(ServiceError::McpError(error))) => Err(CallError::Answered(error)),
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
