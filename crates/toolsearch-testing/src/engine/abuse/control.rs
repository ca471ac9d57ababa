//! How long this machine lets a thread wait that has something to do: what a busy machine adds to every
//! deadline, measured beside the run whose deadline is in question.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the thread sleeps at a time.
const NAP: Duration = Duration::from_millis(1);

/// A thread that only sleeps, and notes from when to when it should have been awake and was not.
#[derive(Debug)]
pub(super) struct Control {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Vec<(Instant, Instant)>>,
}

impl Control {
    pub(super) fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let mut waits = Vec::new();
            while !told.load(Ordering::Relaxed) {
                let due = Instant::now() + NAP;
                thread::sleep(NAP);
                waits.push((due, Instant::now()));
            }
            waits
        });
        Self { over, thread }
    }

    /// How much of the time between two moments the thread was kept waiting.
    pub(super) fn kept_waiting(self, from: Instant, until: Instant) -> Duration {
        self.over.store(true, Ordering::Relaxed);
        let waits = self.thread.join().unwrap_or_default();
        let within = |(due, woke): (Instant, Instant)| {
            let (start, end) = (due.max(from), woke.min(until));
            end.saturating_duration_since(start)
        };
        waits.into_iter().map(within).sum()
    }
}
