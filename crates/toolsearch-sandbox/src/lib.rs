//! The contract of a code engine: programs, hosts, limits, journals and run reports.
//!
//! A *guest* program is a short piece of code that a model wrote. An [`Engine`] runs it and nothing
//! else: whatever the program asks for goes through a [`Host`], which the embedding program writes.
//! This crate holds the words both sides share and the pure rules (journal and replay, output
//! budgets). It starts nothing, reads no clock, does no I/O and knows no tool, no policy and no
//! particular interpreter; what interpreters of one language share stands in [`javascript`].
//!
//! ```text
//! caller ──Program, Limits──▶ Engine ──method, args──▶ Host ──HostReply──▶ Engine ──RunReport──▶ caller
//! ```
//!
//! An engine that lives in another process has two halves: the host side implements [`Engine`], the
//! child side drives a [`Guest`] through a [`Bridge`], or is an interpreter of its own, an
//! [`External`]. A process launcher therefore never has to know which language it launches.

mod code;
mod engine;
mod external;
mod first;
mod guest;
mod host;
pub mod javascript;
mod journal;
mod ledger;
mod limits;
mod output;
mod pause;
mod program;
mod report;

pub use code::ErrorCode;
pub use engine::{Engine, Inspection, Layer, LayerState, Layers, NoEngine, Unsupported};
pub use external::{External, Launch, PROTOCOL};
pub use first::FirstOf;
pub use guest::{
    Bridge, BridgeClosed, Guest, GuestAnswer, GuestCall, GuestOutcome, GuestProgram, StopFlag,
};
pub use host::{Host, HostError, HostReply, LogLevel, LogLine};
pub use journal::{Journal, JournalEntry, PendingCall, RecordedAnswer, UnknownHandle};
pub use ledger::{Issue, Ledger, ReplayMismatch};
pub use limits::Limits;
pub use output::{LogBuffer, cut_text};
pub use pause::{Pause, PauseChanged, PauseGuard};
pub use program::Program;
pub use report::{RunError, RunReport, RunStatus, RunValue, Truncated};

#[cfg(test)]
mod tests;
