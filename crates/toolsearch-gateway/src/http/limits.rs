//! How much one token may ask: so many requests a second, so many at a time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// How long a request waits for others of its token to end.
const TURN: Duration = Duration::from_secs(5);

/// What one token has used.
#[derive(Debug)]
pub(super) struct Meter {
    per_second: f64,
    burst: f64,
    left: Mutex<(f64, Instant)>,
    turns: Arc<Semaphore>,
}

/// A request has to be made later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Later {
    /// When it may be worth it.
    pub(super) seconds: u64,
}

impl Meter {
    /// So many requests a second on average, twice as many at once, and so many running.
    pub(super) fn new(per_second: u32, concurrent: usize) -> Self {
        let per_second = f64::from(per_second.max(1));
        let burst = per_second * 2.0;
        Self {
            per_second,
            burst,
            left: Mutex::new((burst, Instant::now())),
            turns: Arc::new(Semaphore::new(concurrent.clamp(1, Semaphore::MAX_PERMITS))),
        }
    }

    /// Counts a request.
    pub(super) fn count(&self) -> Result<(), Later> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let (tokens, since) = &mut *left;
        let now = Instant::now();
        let gained = now.duration_since(*since).as_secs_f64() * self.per_second;
        *tokens = (*tokens + gained).min(self.burst);
        *since = now;
        if *tokens < 1.0 {
            let wait = (1.0 - *tokens) / self.per_second;
            let seconds = Duration::from_secs_f64(wait).as_secs() + 1;
            return Err(Later { seconds });
        }
        *tokens -= 1.0;
        Ok(())
    }

    /// Waits for a turn, but not for long.
    pub(super) async fn turn(&self) -> Result<OwnedSemaphorePermit, Later> {
        let turn = Arc::clone(&self.turns).acquire_owned();
        match timeout(TURN, turn).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Later { seconds: 1 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_beyond_the_rate_come_back_later() {
        let meter = Meter::new(2, 1);
        for _ in 0..4 {
            assert_eq!(meter.count(), Ok(()));
        }
        assert_eq!(meter.count(), Err(Later { seconds: 1 }));
        tokio::time::advance(Duration::from_millis(500)).await;
        assert_eq!(meter.count(), Ok(()));
        assert!(meter.count().is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_comes_when_another_ends_or_not_at_all() {
        let meter = Arc::new(Meter::new(100, 1));
        let first = meter.turn().await.expect("free");
        assert_eq!(meter.turn().await.err(), Some(Later { seconds: 1 }));
        drop(first);
        assert!(meter.turn().await.is_ok());
    }
}
