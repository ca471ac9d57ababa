//! Guests that are programs of their own: an interpreter installed on this machine, which a launcher starts
//! within its walls.
//!
//! A [`Guest`](crate::Guest) lives in the launcher's own worker. An [`External`] guest takes the place of that
//! worker: the launcher's process puts up its walls and then becomes the interpreter. From there on
//! the interpreter speaks for itself, on standard input and output, one JSON document a line:
//!
//! | from the guest | meaning |
//! |---|---|
//! | `{"ready":{"version":1,"engine":name,"layers":[…]}}` | first of all; `layers` are the last argument, as JSON, and what the interpreter adds |
//! | `{"refused":{"reason":text}}` | it cannot run programs |
//! | `{"call":{"id":n,"method":m,"args":{…}}}` | calls and sleeps are numbered together, from 0 without gaps |
//! | `{"sleep":{"id":n,"ms":n}}` | asks for an answer of `null` later |
//! | `{"log":{"level":"info","text":t}}`, `{"skipped":{"lines":n}}` | lines, and lines left out at this place |
//! | `{"wait":{"seen":n}}` | nothing to do before the next answer; so many were taken |
//! | `{"done":{"nothing":{"hints":[…]}}}` | and `value` (`value`, `hints`), `cut` (`head`, `hints`), `threw` ([`Thrown`]) |
//!
//! | from the host | meaning |
//! |---|---|
//! | `{"run":{"source":t,"seed":n,"epoch_ms":n,"limits":{…}}}` | the program, once |
//! | `{"answer":{"id":n,"at_ms":n,"value":…}}` | or `"error":{"code","name","message"}`, the fields in this order |
//! | `"stop"` | time is up |

use std::{fmt::Debug, path::PathBuf};

use serde::{Deserialize, Serialize};

use crate::{RunError, Unsupported, javascript::Thrown};

/// The version of the conversation; both sides must speak the same.
pub const PROTOCOL: u32 = 1;

/// An interpreter that a launcher can start.
///
/// Everything here happens on the host's side, before and after a run; it does no more with the text of a
/// program or its error than read it.
pub trait External: Debug + Send + Sync {
    /// The name the engine goes by, e.g. `node`.
    fn name(&self) -> &str;

    /// The walls without which it must not be started, because it has doors of its own.
    fn required(&self) -> &[&str];

    /// Looks for the interpreter and tells how to start it. Asked once; may start processes and take a
    /// few seconds.
    ///
    /// # Errors
    /// [`Unsupported`] with a reason for a person when there is none, or none that is new enough.
    fn launch(&self) -> Result<Launch, Unsupported>;

    /// The text to send for a program.
    fn source(&self, source: &str) -> String;

    /// What a thrown value means to the author of the program, whose own text this is.
    fn explain(&self, source: &str, thrown: &Thrown) -> RunError;
}

/// How to start an interpreter.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch {
    /// The binary.
    pub program: PathBuf,
    /// Its arguments, before the one that tells the walls.
    pub arguments: Vec<String>,
    /// The only files that it can read and run: itself, its loader, its libraries.
    pub files: Vec<PathBuf>,
    /// Most bytes of address space.
    pub address_space: u64,
    /// Most open descriptors.
    pub descriptors: u64,
}

impl Launch {
    /// A binary with these arguments that may read nothing but itself.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, arguments: Vec<String>) -> Self {
        let program = program.into();
        Self {
            files: vec![program.clone()],
            program,
            arguments,
            address_space: 1 << 30,
            descriptors: 64,
        }
    }
}
