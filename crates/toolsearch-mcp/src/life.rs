//! The life of a server across its connections: started once for everyone who asks, started again
//! after it died, left alone for a while when that does not help.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::breaker::backoff;
use crate::carrier::Life;
use crate::connection::{Attempt, Connection, StartError, open};
use crate::shared::Shared;
use crate::spec::{Endpoint, Protocol};
use crate::stdio;

/// Retries in the background after a start that failed.
const MAX_RETRIES: u32 = 5;
/// A server that lived this long was not broken when it started.
const HEALTHY: Duration = Duration::from_mins(1);
/// How long a start counts against the limit of starts: processes need most at the beginning, and a
/// server that hangs must not hold the others up.
const TURN: Duration = Duration::from_secs(1);

#[derive(Debug, Clone)]
pub(crate) enum Phase {
    /// Not asked for yet.
    Stopped,
    Starting(Instant),
    Ready(Arc<Connection>),
    Failed(Failure),
    /// For good.
    Closed,
}

#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub(crate) reason: String,
    /// Not before this.
    next: Instant,
    /// Somebody tries again by then without being asked.
    retrying: bool,
    /// A login would help.
    pub(crate) wants_auth: bool,
    /// The tokens that were of no use.
    tokens: Option<SystemTime>,
}

/// Why somebody wants a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// To know the tools: starts wait for their turn.
    List,
    /// To run one now.
    Call,
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Down {
    /// Not yet.
    Starting(Duration),
    Failed(String),
    /// The server lets nobody in without a login.
    WantsAuth(String),
}

#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) shared: Arc<Shared>,
    phase: watch::Sender<Phase>,
    /// Starts and deaths in a row since the server was last of use.
    failures: AtomicU32,
    /// The greeting that the server accepted last.
    greeting: Mutex<Option<Attempt>>,
    starter: Mutex<Option<AbortHandle>>,
    closed: AtomicBool,
    /// Somebody has a call for the server.
    urgent: Notify,
}

impl Keeper {
    pub(crate) fn new(shared: Shared) -> Self {
        Self {
            shared: Arc::new(shared),
            phase: watch::Sender::new(Phase::Stopped),
            failures: AtomicU32::new(0),
            greeting: Mutex::new(None),
            starter: Mutex::new(None),
            closed: AtomicBool::new(false),
            urgent: Notify::new(),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    /// The connection, started if need be. A start goes on in the background when the deadline
    /// passes.
    pub(crate) async fn connection(
        self: &Arc<Self>,
        need: Need,
        deadline: Instant,
    ) -> Result<Arc<Connection>, Down> {
        loop {
            let mut phases = self.phase.subscribe();
            let since = match self.ask() {
                Phase::Ready(connection) => return Ok(connection),
                Phase::Failed(failure) if failure.wants_auth => {
                    return Err(Down::WantsAuth(failure.describe()));
                }
                Phase::Failed(failure) => return Err(Down::Failed(failure.describe())),
                Phase::Closed => return Err(Down::Failed("it was shut down".to_owned())),
                Phase::Starting(since) => since,
                // `ask` leaves no server stopped.
                Phase::Stopped => Instant::now(),
            };
            if need == Need::Call {
                self.urgent.notify_one();
            }
            let settled = phases.wait_for(|phase| !matches!(phase, Phase::Starting(_)));
            if timeout_at(deadline, settled).await.is_err() {
                return Err(Down::Starting(since.elapsed()));
            }
        }
    }

    /// Ends the server for good; comes back when nothing of it is left, or after a while.
    pub(crate) async fn close(&self) {
        self.abandon();
        if let Some(remote) = self.shared.remote() {
            remote.reaches(Life::Buried, stdio::LONGEST_END).await;
        }
    }

    /// The same without waiting.
    pub(crate) fn abandon(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let starter = self
            .starter
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(starter) = starter {
            starter.abort();
        }
        self.phase.send_replace(Phase::Closed);
        if let Some(remote) = self.shared.remote() {
            remote.stop();
        }
    }

    /// What holds now, after a start was set off where one is due.
    fn ask(self: &Arc<Self>) -> Phase {
        let mut start = false;
        self.phase.send_if_modified(|phase| {
            let next = match phase {
                Phase::Ready(connection) if connection.is_over() => self.after_death(connection),
                Phase::Stopped => Phase::Starting(Instant::now()),
                Phase::Failed(failure) if self.is_due(failure) => Phase::Starting(Instant::now()),
                _ => return false,
            };
            start = matches!(next, Phase::Starting(_));
            *phase = next;
            true
        });
        if start {
            self.start();
        }
        self.phase()
    }

    /// Whether a server that failed is worth another start: after its pause, or when there has been
    /// a login since.
    fn is_due(&self, failure: &Failure) -> bool {
        let waited = failure.next <= Instant::now();
        let logged_in = failure.wants_auth && self.tokens() != failure.tokens;
        !failure.retrying && (waited || logged_in)
    }

    /// When the stored tokens for the server last changed.
    fn tokens(&self) -> Option<SystemTime> {
        let Endpoint::Http(address) = &self.shared.spec.endpoint else {
            return None;
        };
        address.tokens.as_ref()?.stamp(&address.url)
    }

    /// One death leads to a new start at once; a server that keeps dying has to wait.
    fn after_death(&self, connection: &Connection) -> Phase {
        if connection.was_useful(HEALTHY) {
            self.failures.store(0, Ordering::Relaxed);
        }
        let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
        if failures == 1 {
            return Phase::Starting(Instant::now());
        }
        let reason = connection.remote().notes.obituary();
        self.shared.note_incident(&reason, None);
        Phase::Failed(Failure {
            reason,
            next: Instant::now() + backoff(failures),
            retrying: false,
            wants_auth: false,
            tokens: None,
        })
    }

    fn start(self: &Arc<Self>) {
        let task = tokio::spawn(Arc::clone(self).keep_starting());
        let mut starter = self.starter.lock().unwrap_or_else(PoisonError::into_inner);
        *starter = Some(task.abort_handle());
        drop(starter);
        if self.closed.load(Ordering::SeqCst) {
            task.abort();
        }
    }

    async fn keep_starting(self: Arc<Self>) {
        self.wait_for_turn().await;
        for retry in 0..=MAX_RETRIES {
            let error = match self.start_once().await {
                Ok(connection) => {
                    tracing::info!(server = self.shared.spec.name, "connected");
                    self.settle(Phase::Ready(Arc::new(connection)));
                    return;
                }
                Err(error) => error,
            };
            let reason = error.to_string();
            tracing::warn!(server = self.shared.spec.name, reason, "cannot be started");
            let trouble = error.trouble();
            self.shared.note_incident(&reason, trouble);
            let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
            let asked = trouble.and_then(|trouble| trouble.pause());
            let pause = backoff(failures).max(asked.unwrap_or_default());
            let retrying = error.is_passing() && retry < MAX_RETRIES;
            let next = Instant::now() + pause;
            self.settle(Phase::Failed(Failure {
                reason,
                next,
                retrying,
                wants_auth: trouble.is_some_and(|trouble| trouble.wants_auth()),
                tokens: self.tokens(),
            }));
            if !retrying {
                return;
            }
            sleep(pause).await;
            self.settle(Phase::Starting(Instant::now()));
        }
    }

    /// A start that only serves a list waits until others have begun theirs.
    async fn wait_for_turn(&self) {
        let Some(limit) = &self.shared.spec.start_limit else {
            return;
        };
        let turn = tokio::select! {
            turn = limit.turn() => turn,
            () = self.urgent.notified() => None,
        };
        if turn.is_some() {
            tokio::spawn(async move {
                sleep(TURN).await;
                drop(turn);
            });
        }
    }

    async fn start_once(&self) -> Result<Connection, StartError> {
        let deadline = Instant::now() + self.shared.spec.start_timeout;
        let modern = self.shared.spec.protocol == Protocol::Auto;
        let mut attempt = self.first_attempt();
        loop {
            let error = match open(&self.shared, &attempt, deadline).await {
                Ok(connection) => {
                    self.set_greeting(Some(attempt));
                    return Ok(connection);
                }
                Err(error) => error,
            };
            self.set_greeting(None);
            let StartError::Refused { supported, .. } = &error else {
                return Err(error);
            };
            let Some(next) = attempt.next(supported, modern) else {
                return Err(error);
            };
            // Two processes of one server at a time could be in each other's way.
            if let Some(remote) = self.shared.remote() {
                remote.reaches(Life::Gone, stdio::LONGEST_END).await;
            }
            attempt = next;
        }
    }

    fn first_attempt(&self) -> Attempt {
        let known = self
            .greeting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        known.unwrap_or_else(|| match self.shared.spec.protocol {
            Protocol::Auto | Protocol::Legacy => Attempt::initialize(),
            Protocol::Modern => Attempt::Discover,
        })
    }

    fn set_greeting(&self, greeting: Option<Attempt>) {
        *self.greeting.lock().unwrap_or_else(PoisonError::into_inner) = greeting;
    }

    /// A server that was closed meanwhile stays closed.
    fn settle(&self, next: Phase) {
        self.phase.send_if_modified(|phase| {
            let open = !matches!(phase, Phase::Closed);
            if open {
                *phase = next;
            }
            open
        });
    }
}

impl Failure {
    fn describe(&self) -> String {
        let wait = self.next.saturating_duration_since(Instant::now());
        if wait.is_zero() {
            return self.reason.clone();
        }
        format!("{}; next attempt in {} s", self.reason, wait.as_secs() + 1)
    }
}
