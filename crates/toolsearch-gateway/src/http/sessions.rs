//! The sessions that are open over HTTP: found by their id, or by who asks where requests stand for
//! themselves. Bounded in number; what is idle for long or in the way is closed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use rmcp::service::serve_server;
use tokio::time::Instant;
use uuid::Uuid;

use crate::entrance::Entrance;
use crate::gateway::GatewayOptions;
use crate::listing::Listings;
use crate::service::Connection;
use crate::source::SessionSource;

use super::lane::Lane;

/// How long a session must have been idle before it makes room for another.
const MIN_IDLE: Duration = Duration::from_secs(10);

/// What a session is found by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// Made at the handshake, known to its caller alone.
    Id(String),
    /// Shared by all requests of one kind of caller.
    Caller(Caller),
}

/// Whose requests share what is kept between them: results, consent, progress of programs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Caller {
    pub(super) entrance: Entrance,
    pub(super) client: String,
    /// What the caller wrote to keep its sessions apart.
    pub(super) session: String,
}

#[derive(Debug, Clone)]
struct Entry {
    lane: Arc<Lane>,
    entrance: Entrance,
}

/// All sessions are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} sessions are open and in use, and no more are allowed")]
pub(super) struct Full(pub(super) usize);

#[derive(Debug)]
pub(super) struct Sessions {
    open: Mutex<HashMap<Key, Entry>>,
    listings: Arc<Listings>,
}

impl Sessions {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            open: Mutex::default(),
            listings: Arc::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Entry>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many are open.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }

    /// The session of an id, if it belongs to this token and agent.
    pub(super) fn find(&self, id: &str, entrance: &Entrance) -> Option<Arc<Lane>> {
        let open = self.lock();
        let entry = open.get(&Key::Id(id.to_owned()))?;
        let own = entry.entrance.token == entrance.token && entry.entrance.agent == entrance.agent;
        own.then(|| Arc::clone(&entry.lane))
    }

    /// The session of a caller whose requests stand for themselves.
    pub(super) fn of_caller(&self, caller: &Caller) -> Option<Arc<Lane>> {
        let open = self.lock();
        let entry = open.get(&Key::Caller(caller.clone()))?;
        Some(Arc::clone(&entry.lane))
    }

    /// A name for a new session that nobody can guess.
    pub(super) fn new_id() -> String {
        Uuid::new_v4().simple().to_string()
    }

    /// Opens a session. An idle one makes room for it when there is none.
    pub(super) fn open(
        self: &Arc<Self>,
        key: Key,
        entrance: Entrance,
        source: Arc<dyn SessionSource>,
        options: &GatewayOptions,
        most: usize,
    ) -> Result<Arc<Lane>, Full> {
        let mut open = self.lock();
        if let Some(entry) = open.get(&key) {
            return Ok(Arc::clone(&entry.lane));
        }
        if open.len() >= most.max(1) {
            let oldest = oldest_idle(&open).ok_or(Full(open.len()))?;
            if let Some(entry) = open.remove(&oldest) {
                entry.lane.close();
            }
        }
        let (lane, wire) = Lane::new();
        let connection = Connection::new(source, options, lane.end(), Arc::clone(&self.listings));
        open.insert(
            key.clone(),
            Entry {
                lane: Arc::clone(&lane),
                entrance,
            },
        );
        drop(open);
        let (sessions, at_end) = (Arc::clone(self), Arc::clone(&lane));
        tokio::spawn(async move {
            match serve_server(connection, wire).await {
                Ok(running) => {
                    if let Err(error) = running.waiting().await {
                        tracing::error!(%error, "serving a session stopped unexpectedly");
                    }
                }
                Err(error) => tracing::debug!(%error, "a session did not begin"),
            }
            at_end.ended();
            sessions.forget(&key, &at_end);
        });
        Ok(lane)
    }

    fn forget(&self, key: &Key, lane: &Arc<Lane>) {
        let mut open = self.lock();
        if open
            .get(key)
            .is_some_and(|entry| Arc::ptr_eq(&entry.lane, lane))
        {
            open.remove(key);
        }
    }

    /// Closes one session. Whether there was one that belongs to this token and agent.
    pub(super) fn close(&self, id: &str, entrance: &Entrance) -> bool {
        let Some(lane) = self.find(id, entrance) else {
            return false;
        };
        self.lock().remove(&Key::Id(id.to_owned()));
        lane.close();
        true
    }

    /// Closes what was idle for too long.
    pub(super) fn sweep(&self, idle: Duration) {
        let now = Instant::now();
        self.close_where(|entry| {
            let since = entry.lane.idle_since();
            since.is_some_and(|since| now.duration_since(since) >= idle)
        });
    }

    /// Closes the sessions of tokens that are no longer known.
    pub(super) fn revoke(&self, known: impl Fn(&Entrance) -> bool) {
        self.close_where(|entry| !known(&entry.entrance));
    }

    fn close_where(&self, ends: impl Fn(&Entry) -> bool) {
        self.lock().retain(|_, entry| {
            let ends = ends(entry);
            if ends {
                entry.lane.close();
            }
            !ends
        });
    }

    /// Waits until running calls are answered, then closes everything.
    pub(super) async fn drain(&self, patience: Duration) {
        let lanes: Vec<Arc<Lane>> = self.lock().values().map(|e| Arc::clone(&e.lane)).collect();
        join_all(lanes.iter().map(|lane| lane.quiet(patience))).await;
        self.close_where(|_| true);
    }
}

fn oldest_idle(open: &HashMap<Key, Entry>) -> Option<Key> {
    let now = Instant::now();
    let idle = open.iter().filter_map(|(key, entry)| {
        let since = entry.lane.idle_since()?;
        (now.duration_since(since) >= MIN_IDLE).then_some((since, key))
    });
    idle.min_by_key(|(since, _)| *since)
        .map(|(_, key)| key.clone())
}
