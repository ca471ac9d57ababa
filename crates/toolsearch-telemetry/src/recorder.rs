//! Who takes events.

use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use crate::event::Stamped;

/// Takes events. Must not block for long and must not fail: what cannot be kept is dropped and
/// counted by the recorder itself.
pub trait Recorder: fmt::Debug + Send + Sync {
    /// Takes one event.
    fn record(&self, event: &Stamped);
}

impl<T: Recorder + ?Sized> Recorder for Arc<T> {
    fn record(&self, event: &Stamped) {
        T::record(self, event);
    }
}

impl<T: Recorder + ?Sized> Recorder for Box<T> {
    fn record(&self, event: &Stamped) {
        T::record(self, event);
    }
}

/// Keeps nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRecorder;

impl Recorder for NoRecorder {
    fn record(&self, _: &Stamped) {}
}

/// Keeps the latest events in memory, up to a number.
#[derive(Debug)]
pub struct MemoryRecorder {
    most: usize,
    events: Mutex<Vec<Stamped>>,
}

impl Default for MemoryRecorder {
    /// Keeps 10,000 events.
    fn default() -> Self {
        Self::new(10_000)
    }
}

impl MemoryRecorder {
    /// Keeps at most `most` events; the oldest go first.
    #[must_use]
    pub const fn new(most: usize) -> Self {
        Self {
            most,
            events: Mutex::new(Vec::new()),
        }
    }

    /// The events so far, oldest first.
    #[must_use]
    pub fn events(&self) -> Vec<Stamped> {
        self.events
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Recorder for MemoryRecorder {
    fn record(&self, event: &Stamped) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events.len() >= self.most.max(1) {
            events.remove(0);
        }
        events.push(event.clone());
    }
}

/// Writes one JSON line an event, each in a single write so that a crash can only lose the last
/// line, and stops at a number of bytes.
pub struct JsonlRecorder<W> {
    state: Mutex<State<W>>,
    most_bytes: u64,
}

struct State<W> {
    out: W,
    written: u64,
    dropped: u64,
}

impl<W> fmt::Debug for JsonlRecorder<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonlRecorder")
            .field("most_bytes", &self.most_bytes)
            .finish_non_exhaustive()
    }
}

impl<W: Write + Send> JsonlRecorder<W> {
    /// Writes to `out` until `most_bytes` are written; later events are dropped and counted.
    pub const fn new(out: W, most_bytes: u64) -> Self {
        Self {
            state: Mutex::new(State {
                out,
                written: 0,
                dropped: 0,
            }),
            most_bytes,
        }
    }

    /// How many events were dropped because of the bound or a failing writer.
    pub fn dropped(&self) -> u64 {
        self.state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .dropped
    }
}

impl<W: Write + Send> Recorder for JsonlRecorder<W> {
    fn record(&self, event: &Stamped) {
        let Ok(mut line) = serde_json::to_string(event) else {
            return;
        };
        line.push('\n');
        let bytes = line.len() as u64;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.written + bytes > self.most_bytes || state.out.write_all(line.as_bytes()).is_err()
        {
            state.dropped += 1;
            return;
        }
        state.written += bytes;
    }
}
