//! The wall clock of one run, which stands still while a person is asked.

use std::time::Duration;

use tokio::time::Instant;

/// Charges time to a run.
#[derive(Debug)]
pub(crate) struct Clock {
    started: Instant,
    wall: Duration,
    paused: Duration,
    paused_since: Option<Instant>,
}

impl Clock {
    pub(crate) fn start(wall: Duration) -> Self {
        Self {
            started: Instant::now(),
            wall,
            paused: Duration::ZERO,
            paused_since: None,
        }
    }

    pub(crate) fn set_paused(&mut self, paused: bool) {
        match (paused, self.paused_since) {
            (true, None) => self.paused_since = Some(Instant::now()),
            (false, Some(since)) => {
                self.paused += since.elapsed();
                self.paused_since = None;
            }
            _ => {}
        }
    }

    /// Time not charged so far.
    pub(crate) fn paused(&self) -> Duration {
        self.paused
            + self
                .paused_since
                .map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// Time charged so far.
    pub(crate) fn charged(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.paused())
    }

    /// When time will be up, unless the clock stands still.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match self.paused_since {
            Some(_) => None,
            None => Some(Instant::now() + self.wall.saturating_sub(self.charged())),
        }
    }
}
