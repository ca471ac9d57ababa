//! The loop guard: the same thing failing again and again gets an answer that says to stop.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use toolsearch_catalog::Fingerprint;

/// How often the same thing may fail before the answer says to stop.
const PATIENCE: u32 = 3;

/// How many different failures are remembered.
const MAX_REMEMBERED: usize = 1024;

/// Counts equal failures of one session.
#[derive(Debug, Default)]
pub(crate) struct LoopGuard {
    seen: Mutex<BTreeMap<Fingerprint, u32>>,
}

impl LoopGuard {
    /// Notes a failure; true from the third equal one on.
    pub(crate) fn failed(&self, what: &[&str]) -> bool {
        let key = Fingerprint::over(what.iter().map(|part| part.as_bytes()));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MAX_REMEMBERED && !seen.contains_key(&key) {
            seen.clear();
        }
        let count = seen.entry(key).or_insert(0);
        *count += 1;
        *count >= PATIENCE
    }

    /// Forgets a failure, since the same thing worked now.
    pub(crate) fn worked(&self, what: &[&str]) {
        let key = Fingerprint::over(what.iter().map(|part| part.as_bytes()));
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&key);
    }
}
