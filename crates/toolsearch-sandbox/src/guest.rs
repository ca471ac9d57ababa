//! The child side of an engine: a language runtime that is driven step by step, synchronously.
//!
//! A launcher owns the process, its walls and the pipe; a [`Guest`] owns the language. They meet in
//! the [`Bridge`]. Nothing here is asynchronous, because the child does one thing at a time.

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{HostError, Limits, LogLine, RunError};

/// A language runtime inside a child process. It runs one program and is thrown away.
pub trait Guest {
    /// The name the engine goes by, e.g. `quickjs`.
    fn name(&self) -> &str;

    /// Loads everything that needs the operating system, before the last wall goes up.
    ///
    /// # Errors
    /// A reason for a person.
    fn prepare(&mut self) -> Result<(), String>;

    /// Runs the program to its end.
    ///
    /// The guest numbers its calls from 0 without gaps, keeps at most
    /// [`Limits::in_flight`] of them unanswered, takes answers one at a time and only when it has nothing
    /// else to do, and tends the bridge and looks at `stop` often. All calls it sent are answered before it returns, except
    /// when it was stopped. It drops the bridge before it returns.
    fn run(
        &mut self,
        program: &GuestProgram,
        limits: &Limits,
        stop: &StopFlag,
        bridge: Box<dyn Bridge>,
    ) -> GuestOutcome;
}

/// The part of a program that the child needs.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestProgram {
    /// The text as the model wrote it.
    pub source: String,
    /// Seed of the random numbers.
    pub seed: u64,
    /// The clock at the first instruction, in milliseconds since 1970-01-01 UTC.
    pub epoch_ms: i64,
}

impl GuestProgram {
    /// A program.
    #[must_use]
    pub fn new(source: impl Into<String>, seed: u64, epoch_ms: i64) -> Self {
        Self {
            source: source.into(),
            seed,
            epoch_ms,
        }
    }
}

/// The way from a guest to its host.
pub trait Bridge: Debug {
    /// Sends a call, at the latest with the next [`tend`](Bridge::tend); its answer comes out of [`receive`](Bridge::receive) later.
    ///
    /// # Errors
    /// [`BridgeClosed`] when the host is gone; the guest gives up.
    fn call(&mut self, call: &GuestCall<'_>) -> Result<(), BridgeClosed>;

    /// Asks to be woken after `ms` milliseconds by an answer to `id`.
    ///
    /// # Errors
    /// [`BridgeClosed`] when the host is gone.
    fn sleep(&mut self, id: u32, ms: u64) -> Result<(), BridgeClosed>;

    /// Logs a line. The bridge keeps the budget.
    ///
    /// # Errors
    /// [`BridgeClosed`] when the host is gone.
    fn log(&mut self, line: LogLine) -> Result<(), BridgeClosed>;

    /// Looks around: sends what waits to be sent, raises the stop flag if the host ended the run. Cheap; a
    /// busy guest calls it often.
    ///
    /// # Errors
    /// [`BridgeClosed`] when the host is gone.
    fn tend(&mut self) -> Result<(), BridgeClosed> {
        Ok(())
    }

    /// Waits for the next answer. To be called only when something was asked and is not answered.
    ///
    /// # Errors
    /// [`BridgeClosed`] when the host is gone or asked to stop.
    fn receive(&mut self) -> Result<GuestAnswer, BridgeClosed>;
}

/// One call of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuestCall<'a> {
    /// Its number, from 0 without gaps; sleeps count too.
    pub id: u32,
    /// `search`, `describe` or `call`.
    pub method: &'a str,
    /// The arguments, as JSON text of one object.
    pub args: &'a str,
}

/// One answer for a guest.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestAnswer {
    /// Which call it answers.
    pub id: u32,
    /// The guest's clock now, in milliseconds since its first instruction.
    pub at_ms: u64,
    /// A value as JSON text, or an error. The answer to a sleep is `null`.
    pub answer: Result<String, HostError>,
}

impl GuestAnswer {
    /// An answer.
    #[must_use]
    pub fn new(id: u32, at_ms: u64, answer: Result<String, HostError>) -> Self {
        Self { id, at_ms, answer }
    }
}

/// The conversation is over; nothing can be asked any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the host ended the conversation")]
pub struct BridgeClosed;

/// How a guest's run ended.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuestOutcome {
    /// The program returned nothing.
    Nothing {
        /// Advice for its author.
        hints: Vec<String>,
    },
    /// The program returned this JSON text.
    Value {
        /// Well-formed JSON, within [`Limits::output_bytes`].
        json: String,
        /// Advice for its author.
        hints: Vec<String>,
    },
    /// The value was larger than [`Limits::output_bytes`]; this is the head of its JSON text.
    Cut {
        /// The head.
        head: String,
        /// Advice for its author.
        hints: Vec<String>,
    },
    /// The program failed or was stopped.
    Failed(RunError),
}

/// Tells a busy guest that its time is over. Cheap to look at; never taken back.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises it.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}
