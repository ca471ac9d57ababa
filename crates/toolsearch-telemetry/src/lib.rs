//! What happened in a session: events, the recorders that take them, and the summary that answers
//! questions about them.
//!
//! An event never holds arguments, results or settings; ids, sizes, counts and codes are enough to
//! answer what was seen, searched and called. So no secret can get into a log by this way. Not
//! here: opening files (a recorder writes to what it is given) and clocks (times come with the
//! events).

mod event;
mod recorder;
mod summary;

pub use event::{
    Called, Described, Event, Fallback, LOG_VERSION, Opened, Ran, Searched, Sizes, Stamped,
};
pub use recorder::{JsonlRecorder, MemoryRecorder, NoRecorder, Recorder};
pub use summary::{CallLine, Summary};

#[cfg(test)]
mod tests;
