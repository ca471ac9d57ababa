//! Runs a guest in a locked-down child process: one process, one run, then gone.
//!
//! * **Host side.** [`ProcessEngine`] is an [`Engine`](toolsearch_sandbox::Engine). It starts a worker, holds
//!   the conversation, keeps the wall clock and the limits, and kills. It trusts nothing that a worker
//!   says.
//! * **Child side.** [`worker_main`] locks its own process down (Landlock, resource limits, the engine
//!   loaded, then seccomp), so that the program that starts it needs neither `fork` nor `unsafe`.
//!   A binary that wants to be its own worker calls [`is_worker`] as the first thing in `main`:
//!
//! ```no_run
//! use toolsearch_sandbox::Guest;
//! use toolsearch_sandbox_process::{is_worker, worker_main};
//!
//! fn start(guest: impl Guest) {
//!     if is_worker() {
//!         worker_main(guest);
//!     }
//!     // The program itself: arguments, logging, a runtime.
//! }
//! ```
//!
//! No language lives here; a worker is given its [`Guest`](toolsearch_sandbox::Guest) by the binary, or
//! becomes the interpreter that an [`External`](toolsearch_sandbox::External) guest names.

mod bridge;
mod clock;
mod conversation;
#[cfg(target_os = "linux")]
mod descriptors;
mod engine;
mod keeper;
mod lines;
mod oracle;
mod spawn;
mod stdin;
mod walls;
mod wire;
mod worker;

pub use engine::{Options, ProcessEngine};
#[doc(hidden)]
pub use oracle::read_frames;
pub use spawn::Worker;
pub use worker::{WORKER_ARG, is_worker, launcher_main, worker_main};
