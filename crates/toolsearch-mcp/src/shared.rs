//! What outlives a single connection to a server: its settings, the last list, the news that the
//! list has changed, and the process that was started last.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::carrier::Remote;
use crate::listing::ToolList;
use crate::spec::ServerSpec;
use crate::text::{Redactor, telling_variables};

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) spec: ServerSpec,
    pub(crate) redactor: Redactor,
    starts: AtomicU32,
    remote: Mutex<Option<Remote>>,
    list: Mutex<Option<Arc<ToolList>>>,
    changes: watch::Sender<u64>,
}

impl Shared {
    pub(crate) fn new(spec: ServerSpec) -> Self {
        let inherited = telling_variables();
        let inherited = inherited.iter().map(String::as_str);
        let redactor = Redactor::new(spec.hidden_values().chain(inherited));
        Self {
            spec,
            redactor,
            starts: AtomicU32::new(0),
            remote: Mutex::new(None),
            list: Mutex::new(None),
            changes: watch::Sender::new(0),
        }
    }

    /// A process was started.
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
    pub(crate) fn publish(&self, list: Arc<ToolList>) {
        let mut kept = lock(&self.list);
        let same = kept
            .as_ref()
            .is_some_and(|old| old.fingerprint == list.fingerprint);
        *kept = Some(list);
        drop(kept);
        if !same {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// The last complete list.
    pub(crate) fn list(&self) -> Option<Arc<ToolList>> {
        lock(&self.list).clone()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is kept here is replaced as a whole, so it is right even after a panic elsewhere.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
