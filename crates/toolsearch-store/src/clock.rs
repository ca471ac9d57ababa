//! The time by which records expire, and versions that are given once.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time in milliseconds since the Unix epoch. Injected, so that expiry can be tested.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// A clock of one's own.
    #[must_use]
    pub fn new(now_ms: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now_ms))
    }

    /// The clock of the machine.
    #[must_use]
    pub fn system() -> Self {
        Self::new(|| u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX))
    }

    /// The time now.
    #[must_use]
    pub fn now_ms(&self) -> u64 {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

fn since_epoch() -> std::time::Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

/// A version above `previous` that this process gave to nobody. It follows the machine's clock in
/// microseconds, so that a record that is removed and made again, by any process, gets another one.
pub(crate) fn next_version(previous: u64) -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = u64::try_from(since_epoch().as_micros()).unwrap_or(u64::MAX);
    let least = now.max(previous.saturating_add(1));
    let next = |last: u64| Some(least.max(last.saturating_add(1)));
    let last = LAST
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
        .unwrap_or_default();
    least.max(last.saturating_add(1))
}
