//! A server at an address: every message is a request of its own, and answers come back as JSON or
//! as a stream of events.
//!
//! The session that a server gives is kept here and opened again when the server forgot it, so
//! that callers do not notice. A server that speaks only the older transport is found by its refusal
//! of the first message.

mod client;
mod events;
mod exchange;
mod link;
mod message;
mod old;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use self::events::{Events, MAX_EVENT_BYTES};
use self::exchange::{exchange, read_events};
use self::link::Link;
use self::message::Head;
use crate::carrier::{Carrier, INCOMING_MESSAGES, Life, OUTGOING_MESSAGES, Remote};
use crate::notes::Notes;
use crate::spec::{HttpAddress, HttpTransport};
use crate::trouble::Trouble;

pub(crate) use self::client::{address, body, client, excerpt, is_loopback, unsent};

/// Requests that are under way at the same time; further ones wait.
const MAX_EXCHANGES: usize = 1024;
/// How long a message may take that the next ones have to wait for.
const IN_ORDER: Duration = Duration::from_secs(20);
/// How long a call waits for the answer about the stream of the server's own, on which the server may
/// put a question while it works on the call.
const LISTENING: Duration = Duration::from_secs(1);
/// How long the farewell may take.
const FAREWELL: Duration = Duration::from_secs(1);
/// How often the stream for everything else is opened again after it ended.
const MAX_REOPENED: usize = 10;
const REOPEN_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_REOPEN_PAUSE: Duration = Duration::from_secs(30);

/// Makes a connection; nothing is sent before the first message. Must be called within a tokio
/// runtime.
pub(crate) fn start(address: &HttpAddress, notes: Arc<Notes>) -> Result<Carrier, String> {
    let (outgoing, to_send) = mpsc::channel(OUTGOING_MESSAGES);
    let (read, incoming) = mpsc::channel(INCOMING_MESSAGES);
    let (stop, stopping) = watch::channel(false);
    let (living, life) = watch::channel(Life::Running);
    let link = Arc::new(Link::new(address, Arc::clone(&notes), read)?);
    let courier = Courier {
        link,
        tasks: JoinSet::new(),
        requests: BTreeMap::new(),
    };
    tokio::spawn(courier.run(to_send, stopping, living));
    Ok(Carrier {
        outgoing,
        incoming,
        remote: Remote { notes, life, stop },
    })
}

/// Takes messages to the server, all at the same time except where their order matters.
struct Courier {
    link: Arc<Link>,
    /// Ends with the number of the request that is over.
    tasks: JoinSet<Option<i64>>,
    requests: BTreeMap<i64, AbortHandle>,
}

impl Courier {
    async fn run(
        mut self,
        mut messages: mpsc::Receiver<Vec<u8>>,
        mut stopping: watch::Receiver<bool>,
        living: watch::Sender<Life>,
    ) {
        let mut over = self.link.over.subscribe();
        // An error while waiting means that nobody holds the connection any more.
        tokio::select! {
            () = self.carry(&mut messages) => {}
            _ = stopping.wait_for(|stop| *stop) => {}
            _ = over.wait_for(Option::is_some) => {}
        }
        let reason = over.borrow().clone();
        let reason = reason.unwrap_or_else(|| "the connection was closed".to_owned());
        self.link.end(reason.clone());
        self.tasks.abort_all();
        self.link.notes.ended(&reason);
        living.send_replace(Life::Gone);
        let _ = timeout(FAREWELL, self.link.delete()).await;
        living.send_replace(Life::Buried);
    }

    async fn carry(&mut self, messages: &mut mpsc::Receiver<Vec<u8>>) {
        loop {
            let full = self.tasks.len() >= MAX_EXCHANGES;
            tokio::select! {
                biased;
                Some(over) = self.tasks.join_next(), if !self.tasks.is_empty() => {
                    if let Ok(Some(id)) = over {
                        self.requests.remove(&id);
                    }
                }
                message = messages.recv(), if !full => match message {
                    Some(message) => self.send(Bytes::from(message)).await,
                    None => return,
                },
            }
        }
    }

    async fn send(&mut self, text: Bytes) {
        let head = Head::read(&text);
        if head.is("initialize") {
            self.link.keep_greeting(text.clone());
            if self.link.transport == HttpTransport::Sse {
                return self.greet_old(text, head);
            }
        }
        if head.is("notifications/initialized") {
            // What comes next is refused by servers that did not hear this.
            let sent = exchange(Arc::clone(&self.link), text, head);
            let _ = timeout(IN_ORDER, sent).await;
            if self.link.old.get().is_none() {
                let listen = listen(Arc::clone(&self.link));
                self.tasks.spawn(async move {
                    listen.await;
                    None
                });
            }
            return;
        }
        let stateless = head.is_stateless();
        if let Some(id) = head.cancels {
            self.requests.remove(&id).inspect(AbortHandle::abort);
            // Without sessions, the end of the request is the whole message.
            if stateless || self.link.greeting().is_none() {
                return;
            }
        }
        let request = head.request();
        let link = Arc::clone(&self.link);
        let in_session = link.greeting().is_some() && link.old.get().is_none();
        let waits = in_session && !stateless && head.may_ask();
        let task = self.tasks.spawn(async move {
            if waits {
                listening(&link).await;
            }
            exchange(link, text, head).await;
            request
        });
        if let Some(id) = request {
            self.requests.insert(id, task);
        }
    }

    fn greet_old(&mut self, text: Bytes, head: Head) {
        let link = Arc::clone(&self.link);
        self.tasks.spawn(async move {
            match old::connect(&link).await {
                Ok(()) => exchange(link, text, head).await,
                Err(trouble) => {
                    if let Some(id) = head.request() {
                        link.lose(id, trouble).await;
                    }
                }
            }
            None
        });
    }
}

/// Waits until questions can be heard; a server that does not say whether they can is not waited for
/// again.
async fn listening(link: &Link) {
    let mut state = link.listening.subscribe();
    let _ = timeout(LISTENING, state.wait_for(|listening| *listening)).await;
    link.listening.send_replace(true);
}

/// Reads the stream that a server may have for what belongs to no request, once for each session.
/// Most servers have none; that is fine and not asked again.
async fn listen(link: Arc<Link>) {
    let mut sessions = link.session.subscribe();
    loop {
        let number = sessions.borrow_and_update().number;
        tokio::select! {
            () = listen_in_session(&link) => {}
            _ = sessions.wait_for(|session| session.number != number) => continue,
        }
        if sessions
            .wait_for(|session| session.number != number)
            .await
            .is_err()
        {
            return;
        }
    }
}

async fn listen_in_session(link: &Link) {
    let mut events = Events::new(MAX_EVENT_BYTES);
    for _ in 0..=MAX_REOPENED {
        let last = events.last_id().map(str::to_owned);
        let stream = link.get(last.as_deref()).await;
        link.listening.send_replace(true);
        match stream {
            Ok(mut stream) => {
                let mut end = Ok(true);
                while let Ok(true) = end {
                    end = read_events(link, &mut stream, &mut events, None).await;
                }
            }
            Err(trouble @ (Trouble::Unreachable(_) | Trouble::Busy { .. })) => {
                tracing::debug!(%trouble, "no stream for now");
            }
            Err(trouble) => {
                tracing::debug!(%trouble, "the server has no stream of its own");
                return;
            }
        }
        let pause = events.retry().unwrap_or(REOPEN_PAUSE);
        sleep(pause.clamp(REOPEN_PAUSE, LONGEST_REOPEN_PAUSE)).await;
    }
}
