//! The lane between HTTP requests and the session behind them. To rmcp it is a transport like any
//! other; to the HTTP side it is a place to put a message and to wait for what belongs to it.
//!
//! Ids and progress tokens of callers are exchanged for numbers of the lane's own on the way in and
//! back on the way out, so that callers that share a lane cannot be taken for each other.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, GetExtensions, GetMeta, JsonRpcMessage, JsonRpcRequest, NumberOrString,
    ProgressToken, RequestId, ServerJsonRpcMessage, ServerNotification, ServerResult,
    SubscriptionsListenResult,
};
use rmcp::service::{OriginatingRequestId, RoleServer};
use rmcp::transport::Transport;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, timeout};

/// Messages that wait to be handled.
const QUEUED_IN: usize = 16;
/// Messages for one request that wait to be written.
const QUEUED_OUT: usize = 32;
/// Messages for nobody's request that wait for somebody to listen.
const QUEUED_UNASKED: usize = 16;

/// Something that goes to the caller.
pub(super) type Outgoing = Box<ServerJsonRpcMessage>;

/// Nobody is at the other end any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the session has ended")]
pub(super) struct Ended;

#[derive(Debug)]
struct Open {
    id: RequestId,
    token: Option<ProgressToken>,
    /// A subscription: it stays open for as long as its caller likes.
    listens: bool,
    messages: mpsc::Sender<Outgoing>,
}

#[derive(Debug)]
struct State {
    next: i64,
    open: HashMap<i64, Open>,
    listener: Option<mpsc::Sender<Outgoing>>,
    unasked: VecDeque<Outgoing>,
    used: Instant,
    closed: bool,
}

/// One session's side towards HTTP.
#[derive(Debug)]
pub(super) struct Lane {
    incoming: mpsc::Sender<Box<ClientJsonRpcMessage>>,
    /// Requests whose callers are gone. Each open request can be in it once.
    gone: mpsc::UnboundedSender<i64>,
    state: Mutex<State>,
    end: watch::Sender<bool>,
    quiet: Notify,
}

impl Lane {
    /// A lane and the transport at its other end.
    pub(super) fn new() -> (Arc<Self>, Wire) {
        let (incoming, received) = mpsc::channel(QUEUED_IN);
        let (gone, cancelled) = mpsc::unbounded_channel();
        let (end, ended) = watch::channel(false);
        let lane = Arc::new(Self {
            incoming,
            gone,
            state: Mutex::new(State {
                next: 0,
                open: HashMap::new(),
                listener: None,
                unasked: VecDeque::new(),
                used: Instant::now(),
                closed: false,
            }),
            end,
            quiet: Notify::new(),
        });
        let wire = Wire {
            lane: Arc::clone(&lane),
            received,
            cancelled,
            ended,
            opened: false,
        };
        (lane, wire)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the lane has ended; watched by what runs beside the requests.
    pub(super) fn end(&self) -> watch::Receiver<bool> {
        self.end.subscribe()
    }

    /// Puts a request in. Dropping the exchange cancels it.
    pub(super) async fn request(
        self: &Arc<Self>,
        mut request: JsonRpcRequest<ClientRequest>,
    ) -> Result<Exchange, Ended> {
        let (messages, arriving) = mpsc::channel(QUEUED_OUT);
        let listens = matches!(
            request.request,
            ClientRequest::SubscriptionsListenRequest(_)
        );
        let token = request.request.get_meta().get_progress_token();
        let number = {
            let mut state = self.state();
            if state.closed {
                return Err(Ended);
            }
            state.next += 1;
            let number = state.next;
            let open = Open {
                id: request.id,
                token: token.clone(),
                listens,
                messages,
            };
            state.open.insert(number, open);
            state.used = Instant::now();
            number
        };
        let exchange = Exchange {
            lane: Arc::clone(self),
            number,
            messages: arriving,
        };
        if token.is_some() {
            let token = ProgressToken(NumberOrString::Number(number));
            request.request.get_meta_mut().set_progress_token(token);
        }
        request.id = NumberOrString::Number(number);
        let message = Box::new(JsonRpcMessage::Request(request));
        self.incoming.send(message).await.map_err(|_| Ended)?;
        Ok(exchange)
    }

    /// Puts in what has no answer: a notification, or the answer to a question of the server.
    pub(super) async fn tell(&self, mut message: Box<ClientJsonRpcMessage>) -> Result<(), Ended> {
        if let JsonRpcMessage::Notification(notification) = &mut *message
            && let ClientNotification::CancelledNotification(cancelled) =
                &mut notification.notification
        {
            let Some(number) = self.withdraw(cancelled.params.request_id.as_ref()) else {
                return Ok(());
            };
            cancelled.params.request_id = Some(NumberOrString::Number(number));
        }
        self.state().used = Instant::now();
        self.incoming.send(message).await.map_err(|_| Ended)
    }

    /// Ends the exchange of a request by the id that its caller gave it; its newest, should there
    /// be several.
    fn withdraw(&self, id: Option<&RequestId>) -> Option<i64> {
        let mut state = self.state();
        let number = state
            .open
            .iter()
            .filter(|(_, open)| Some(&open.id) == id)
            .map(|(number, _)| *number)
            .max()?;
        state.open.remove(&number);
        self.settle(&state);
        Some(number)
    }

    /// What is said without having been asked, from now on. Whoever listened before no longer does.
    pub(super) fn listen(&self) -> Result<mpsc::Receiver<Outgoing>, Ended> {
        let (messages, arriving) = mpsc::channel(QUEUED_OUT);
        let mut state = self.state();
        if state.closed {
            return Err(Ended);
        }
        while let Some(message) = state.unasked.pop_front() {
            // The queue of a listener has room for all that waits.
            let _ = messages.try_send(message);
        }
        state.listener = Some(messages);
        state.used = Instant::now();
        Ok(arriving)
    }

    /// Since when nobody has used it; `None` while somebody does.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        let listening = state.listener.as_ref().is_some_and(|l| !l.is_closed());
        (state.open.is_empty() && !listening).then_some(state.used)
    }

    /// Ends the lane. Calls that run have the usual time to be answered.
    pub(super) fn close(&self) {
        self.state().listener = None;
        self.end.send_replace(true);
    }

    /// Nobody is at the other end any more: whoever waits is told so.
    pub(super) fn ended(&self) {
        let mut state = self.state();
        state.closed = true;
        state.listener = None;
        state.open.clear();
        state.unasked.clear();
        self.settle(&state);
        drop(state);
        self.end.send_replace(true);
    }

    /// Waits until every request is answered but those that listen.
    pub(super) async fn quiet(&self, patience: Duration) {
        let quiet = async {
            loop {
                let changed = self.quiet.notified();
                if self.state().open.values().all(|open| open.listens) {
                    return;
                }
                changed.await;
            }
        };
        // Whoever does not end in time is not waited for.
        let _ = timeout(patience, quiet).await;
    }

    fn settle(&self, state: &State) {
        if state.open.values().all(|open| open.listens) {
            self.quiet.notify_waiters();
        }
    }

    fn forget(&self, number: i64) {
        let mut state = self.state();
        state.used = Instant::now();
        if state.open.remove(&number).is_some() {
            self.settle(&state);
            drop(state);
            // Without a receiver there is nothing to cancel any more.
            let _ = self.gone.send(number);
        }
    }

    /// Whom a message goes to. Restores what was exchanged on the way in.
    fn route(&self, message: &mut ServerJsonRpcMessage) -> Option<mpsc::Sender<Outgoing>> {
        let mut state = self.state();
        match message {
            JsonRpcMessage::Response(answer) => {
                let open = state.open.remove(&number(&answer.id)?)?;
                if matches!(answer.result, ServerResult::SubscriptionsListenResult(_)) {
                    restore_subscription(&mut answer.result, &open.id);
                }
                answer.id = open.id;
                self.settle(&state);
                Some(open.messages)
            }
            JsonRpcMessage::Error(error) => {
                let open = state.open.remove(&number(error.id.as_ref()?)?)?;
                error.id = Some(open.id);
                self.settle(&state);
                Some(open.messages)
            }
            JsonRpcMessage::Notification(notification) => {
                route_notification(&mut notification.notification, &state)
            }
            JsonRpcMessage::Request(request) => {
                let origin = request.request.extensions().get::<OriginatingRequestId>();
                let asked = origin.and_then(|origin| state.open.get(&number(&origin.0)?));
                let any = || state.open.values().find(|open| !open.listens);
                let listener = state.listener.as_ref().filter(|l| !l.is_closed());
                let asked = asked.map(|open| &open.messages).or(listener);
                asked.or_else(|| any().map(|open| &open.messages)).cloned()
            }
        }
    }

    /// Keeps what nobody can be told yet. The oldest makes room.
    fn keep(&self, message: Outgoing) {
        let mut state = self.state();
        if state.closed {
            return;
        }
        if state.unasked.len() >= QUEUED_UNASKED {
            state.unasked.pop_front();
        }
        state.unasked.push_back(message);
    }
}

fn route_notification(
    notification: &mut ServerNotification,
    state: &State,
) -> Option<mpsc::Sender<Outgoing>> {
    if let ServerNotification::ProgressNotification(progress) = notification {
        let open = state
            .open
            .get(&number(&progress.params.progress_token.0)?)?;
        progress.params.progress_token = open.token.clone()?;
        return Some(open.messages.clone());
    }
    if let Some(id) = notification.get_meta().subscription_id() {
        let open = state.open.get(&number(&id)?)?;
        let id = open.id.clone();
        notification.get_meta_mut().set_subscription_id(id);
        return Some(open.messages.clone());
    }
    state.listener.clone()
}

fn restore_subscription(result: &mut ServerResult, id: &RequestId) {
    if let ServerResult::SubscriptionsListenResult(listened) = result {
        let mut restored = SubscriptionsListenResult::complete(id.clone());
        restored.meta.set_server_info(crate::service::software());
        *listened = restored;
    }
}

fn number(id: &RequestId) -> Option<i64> {
    match id {
        NumberOrString::Number(number) => Some(*number),
        NumberOrString::String(_) => None,
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Exchange {
    lane: Arc<Lane>,
    number: i64,
    messages: mpsc::Receiver<Outgoing>,
}

impl Exchange {
    /// The next message that belongs to the request; the answer is the last one. `None` when there
    /// will be no answer.
    pub(super) async fn next(&mut self) -> Option<Outgoing> {
        self.messages.recv().await
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.lane.forget(self.number);
    }
}

/// The lane as rmcp's transport.
#[derive(Debug)]
pub(super) struct Wire {
    lane: Arc<Lane>,
    received: mpsc::Receiver<Box<ClientJsonRpcMessage>>,
    cancelled: mpsc::UnboundedReceiver<i64>,
    ended: watch::Receiver<bool>,
    /// Whether a session has begun. Before that rmcp takes nothing but requests.
    opened: bool,
}

impl Wire {
    /// Whether a message that arrived still has to be handled.
    fn counts(&mut self, message: &ClientJsonRpcMessage) -> bool {
        let JsonRpcMessage::Request(request) = message else {
            return self.opened;
        };
        let bootstraps = matches!(
            request.request,
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_)
        );
        self.opened = self.opened || !bootstraps;
        // Its caller may have left while it waited.
        number(&request.id).is_some_and(|number| self.lane.state().open.contains_key(&number))
    }

    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            tokio::select! {
                message = self.received.recv() => {
                    let message = message?;
                    if self.counts(&message) {
                        return Some(*message);
                    }
                }
                number = self.cancelled.recv() => {
                    let number = number?;
                    if self.opened {
                        return Some(cancellation(number));
                    }
                }
                () = over(&mut self.ended) => return None,
            }
        }
    }
}

/// Waits until something is over. Nobody left to say so means the same.
pub(super) async fn over(ended: &mut watch::Receiver<bool>) {
    let _ = ended.wait_for(|ended| *ended).await;
}

fn cancellation(number: i64) -> ClientJsonRpcMessage {
    let params = CancelledNotificationParam::new(Some(NumberOrString::Number(number)), None);
    let cancelled = CancelledNotification::new(params);
    JsonRpcMessage::notification(ClientNotification::CancelledNotification(cancelled))
}

impl Transport<RoleServer> for Wire {
    type Error = Ended;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Ended>> + Send + 'static {
        let to = self.lane.route(&mut message);
        let asks = matches!(message, JsonRpcMessage::Request(_));
        let unasked = matches!(&message, JsonRpcMessage::Notification(notification)
            if is_unasked(&notification.notification));
        let lane = Arc::clone(&self.lane);
        // In order: what has room goes at once, before the future is polled.
        let waiting = match to {
            Some(to) => match to.try_send(Box::new(message)) {
                Ok(()) => None,
                Err(mpsc::error::TrySendError::Full(message)) => Some((to, message)),
                Err(mpsc::error::TrySendError::Closed(message)) => {
                    if unasked {
                        lane.keep(message);
                    }
                    None
                }
            },
            None if asks => return futures::future::Either::Left(std::future::ready(Err(Ended))),
            None => {
                if unasked {
                    lane.keep(Box::new(message));
                }
                None
            }
        };
        futures::future::Either::Right(async move {
            if let Some((to, message)) = waiting {
                // A caller that left needs nothing any more.
                let _ = to.send(message).await;
            }
            Ok(())
        })
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.next().await
    }

    async fn close(&mut self) -> Result<(), Ended> {
        Ok(())
    }
}

/// Neither progress nor part of a subscription.
fn is_unasked(notification: &ServerNotification) -> bool {
    !matches!(notification, ServerNotification::ProgressNotification(_))
        && notification.get_meta().subscription_id().is_none()
}
