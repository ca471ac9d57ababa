//! The life of a server across its connections: started once for everyone who asks, started again
//! after it died, left alone for a while when that does not help.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, sleep, timeout_at};

use crate::carrier::Life;
use crate::connection::{Attempt, Connection, StartError, open};
use crate::shared::Shared;
use crate::spec::Protocol;
use crate::stdio;

/// Retries in the background after a start that failed.
const MAX_RETRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A server that lived this long was not broken when it started.
const HEALTHY: Duration = Duration::from_secs(60);

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
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Down {
    /// Not yet.
    Starting(Duration),
    Failed(String),
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
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        self.phase.borrow().clone()
    }

    /// The connection, started if need be. A start goes on in the background when the deadline
    /// passes.
    pub(crate) async fn connection(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Result<Arc<Connection>, Down> {
        loop {
            let mut phases = self.phase.subscribe();
            let since = match self.ask() {
                Phase::Ready(connection) => return Ok(connection),
                Phase::Failed(failure) => return Err(Down::Failed(failure.describe())),
                Phase::Closed => return Err(Down::Failed("it was shut down".to_owned())),
                Phase::Starting(since) => since,
                // `ask` leaves no server stopped.
                Phase::Stopped => Instant::now(),
            };
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
                Phase::Failed(failure) if !failure.retrying && failure.next <= Instant::now() => {
                    Phase::Starting(Instant::now())
                }
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
        Phase::Failed(Failure {
            reason,
            next: Instant::now() + pause(failures),
            retrying: false,
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
            let failures = self.failures.fetch_add(1, Ordering::Relaxed) + 1;
            let pause = pause(failures);
            let retrying = error.is_passing() && retry < MAX_RETRIES;
            let next = Instant::now() + pause;
            self.settle(Phase::Failed(Failure {
                reason,
                next,
                retrying,
            }));
            if !retrying {
                return;
            }
            sleep(pause).await;
            self.settle(Phase::Starting(Instant::now()));
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

fn pause(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(10);
    FIRST_PAUSE
        .saturating_mul(1 << doublings)
        .min(LONGEST_PAUSE)
}
