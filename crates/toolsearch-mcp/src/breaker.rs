//! Leaving a server alone that fails again and again, so that callers do not wait for it in vain.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Failures in a row after which a server is left alone.
const MAX_FAILURES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How long to wait after so many failures in a row.
pub(crate) fn backoff(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(10);
    FIRST_PAUSE
        .saturating_mul(1 << doublings)
        .min(LONGEST_PAUSE)
}

#[derive(Debug, Default)]
pub(crate) struct Breaker(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
    reason: String,
}

impl Breaker {
    /// Whether a call may go out. After the pause one is let through to try; the others go on
    /// waiting until it has gone well.
    pub(crate) fn admit(&self) -> Result<(), String> {
        let mut state = self.state();
        let now = Instant::now();
        match state.until {
            Some(until) if now < until => Err(state.describe(until - now)),
            Some(_) => {
                state.until = Some(now + backoff(state.failures));
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Why no call may go out now, without letting one through.
    pub(crate) fn refusal(&self) -> Option<String> {
        let state = self.state();
        let left = state.until?.checked_duration_since(Instant::now())?;
        Some(state.describe(left))
    }

    /// A call failed for a reason that would hold for any other call.
    pub(crate) fn fail(&self, reason: &str, pause: Option<Duration>) {
        let mut state = self.state();
        state.failures = state.failures.saturating_add(1);
        reason.clone_into(&mut state.reason);
        let tripped = state.failures >= MAX_FAILURES;
        let own = tripped.then(|| backoff(state.failures - MAX_FAILURES + 1));
        if let Some(pause) = pause.max(own) {
            state.until = Some(Instant::now() + pause);
        }
    }

    /// The server answered.
    pub(crate) fn close(&self) {
        *self.state() = State::default();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn describe(&self, left: Duration) -> String {
        let seconds = left.as_millis().div_ceil(1000).max(1);
        format!("{}; next attempt in {seconds} s", self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_open_it_and_one_call_tries() {
        let breaker = Breaker::default();
        for _ in 0..MAX_FAILURES {
            breaker.admit().expect("closed");
            breaker.fail("no route", None);
        }
        let refusal = breaker.admit().expect_err("open");
        assert_eq!(refusal, "no route; next attempt in 1 s");
        tokio::time::advance(FIRST_PAUSE).await;
        breaker.admit().expect("one may try");
        breaker.admit().expect_err("the others wait");
        breaker.close();
        breaker.admit().expect("closed again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_is_asked_for_is_kept() {
        let breaker = Breaker::default();
        breaker.fail("busy", Some(Duration::from_secs(7)));
        assert!(breaker.refusal().is_some());
        tokio::time::advance(Duration::from_secs(7)).await;
        breaker.admit().expect("over");
    }
}
