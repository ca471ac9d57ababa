//! What outlives a single connection to a server: its settings, the last list, the news that the
//! list has changed, the process that was started last, and what went wrong last.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use tokio::sync::{broadcast, watch};
use tokio::time::Instant;

use crate::breaker::Breaker;
use crate::cache::Cache;
use crate::carrier::Remote;
use crate::listing::ToolList;
use crate::peer::{ClientPeer, ServerEvent};
use crate::spec::ServerSpec;
use crate::text::{Redactor, telling_variables};
use crate::trouble::Trouble;

/// Events that a slow listener may be behind.
const EVENTS: usize = 64;

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) spec: ServerSpec,
    pub(crate) redactor: Redactor,
    pub(crate) breaker: Breaker,
    pub(crate) cache: Option<Cache>,
    starts: AtomicU32,
    remote: Mutex<Option<Remote>>,
    list: Mutex<Known>,
    incident: Mutex<Option<Incident>>,
    heard: Mutex<Option<Instant>>,
    changes: watch::Sender<u64>,
    events: broadcast::Sender<ServerEvent>,
    peer: OnceLock<Arc<dyn ClientPeer>>,
}

/// The last complete list.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    pub(crate) list: Option<Arc<ToolList>>,
    /// What the server says about itself.
    pub(crate) description: String,
    /// When the server gave it.
    pub(crate) at: Option<SystemTime>,
    /// It was given to an earlier process.
    pub(crate) cached: bool,
    /// Whether it was looked for on the disk.
    pub(crate) looked: bool,
}

/// The last thing that went wrong.
#[derive(Debug, Clone)]
pub(crate) struct Incident {
    pub(crate) reason: String,
    pub(crate) at: SystemTime,
    pub(crate) wants_auth: bool,
    /// It went well again since.
    pub(crate) over: bool,
}

impl Shared {
    pub(crate) fn new(spec: ServerSpec) -> Self {
        let inherited = telling_variables();
        let inherited = inherited.iter().map(String::as_str);
        let redactor = Redactor::new(spec.hidden_values().chain(inherited));
        Self {
            cache: Cache::of(&spec, &redactor),
            spec,
            redactor,
            breaker: Breaker::default(),
            starts: AtomicU32::new(0),
            remote: Mutex::new(None),
            list: Mutex::default(),
            incident: Mutex::new(None),
            heard: Mutex::new(None),
            changes: watch::Sender::new(0),
            events: broadcast::Sender::new(EVENTS),
            peer: OnceLock::new(),
        }
    }

    /// A process was started, or a connection opened.
    pub(crate) fn started(&self, remote: Remote) {
        self.starts.fetch_add(1, Ordering::Relaxed);
        *lock(&self.remote) = Some(remote);
    }

    pub(crate) fn starts(&self) -> u32 {
        self.starts.load(Ordering::Relaxed)
    }

    /// The process that was started last.
    pub(crate) fn remote(&self) -> Option<Remote> {
        lock(&self.remote).clone()
    }

    /// Keeps a complete list; tells whoever listens when it differs from the one before.
    pub(crate) fn publish(&self, list: Arc<ToolList>, description: &str) {
        // Worked out before anybody can be kept waiting.
        list.fingerprint();
        let mut known = lock(&self.list);
        let same = !known.cached
            && known
                .list
                .as_ref()
                .is_some_and(|old| old.fingerprint() == list.fingerprint());
        *known = Known {
            list: Some(list),
            description: description.to_owned(),
            at: Some(SystemTime::now()),
            cached: false,
            looked: true,
        };
        drop(known);
        if !same {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// The last complete list of this process, else the one that an earlier process wrote down.
    pub(crate) fn known(&self) -> Known {
        let mut known = lock(&self.list);
        if !known.looked {
            known.looked = true;
            let cache = self.cache.as_ref();
            if let Some(cached) = cache.and_then(|cache| cache.read(&self.spec, &self.redactor)) {
                known.description = cached.description;
                known.at = Some(cached.at);
                known.list = Some(Arc::new(cached.list));
                known.cached = true;
            }
        }
        known.clone()
    }

    /// What is known without looking at the disk.
    pub(crate) fn list(&self) -> Known {
        lock(&self.list).clone()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) fn tell(&self, event: ServerEvent) {
        // Nobody has to listen.
        let _ = self.events.send(event);
    }

    pub(crate) fn events(&self) -> broadcast::Receiver<ServerEvent> {
        self.events.subscribe()
    }

    /// Names who answers questions of the server; the first one stays.
    pub(crate) fn set_peer(&self, peer: Arc<dyn ClientPeer>) -> bool {
        self.peer.set(peer).is_ok()
    }

    pub(crate) fn peer(&self) -> Option<Arc<dyn ClientPeer>> {
        self.peer.get().cloned()
    }

    /// Something went wrong with the server as a whole.
    pub(crate) fn note_incident(&self, reason: &str, trouble: Option<&Trouble>) {
        *lock(&self.incident) = Some(Incident {
            reason: reason.to_owned(),
            at: SystemTime::now(),
            wants_auth: trouble.is_some_and(Trouble::wants_auth),
            over: false,
        });
    }

    /// The server answered.
    pub(crate) fn note_answer(&self) {
        *lock(&self.heard) = Some(Instant::now());
        self.breaker.close();
        if let Some(incident) = lock(&self.incident).as_mut() {
            incident.over = true;
        }
    }

    /// Whether any answer came after this.
    pub(crate) fn was_heard_since(&self, begin: Instant) -> bool {
        lock(&self.heard).is_some_and(|heard| heard > begin)
    }

    pub(crate) fn incident(&self) -> Option<Incident> {
        lock(&self.incident).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept here is replaced as a whole, so it is right even after a panic elsewhere.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
