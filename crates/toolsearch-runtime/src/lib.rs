//! The composer. [`Components`] are checked together once and make a [`Runtime`]; a runtime opens
//! [`Session`]s; a session answers everything that a model asks for.
//!
//! Planning: what is listed → policy → placement → catalog and index (shared by fingerprint) →
//! surface. Dispatch, one way for every door: resolve → policy → before hooks → validate → approve →
//! invoke → check output → after hooks → budget → record. This crate knows contracts only; which
//! ranker, engine, mode or source stands behind them is decided by whoever builds the components.

mod attachments;
mod components;
mod dispatch;
mod guard;
mod guest;
mod plan;
mod programs;
mod query;
mod reply;
mod restore;
mod results;
mod session;
mod snapshot;

pub use components::{Clock, Compaction, Components, Misconfigured, Options, SystemClock};
pub use plan::{OpenError, OpenRequest};
pub use programs::{Programs, Watcher};
pub use reply::{ClientAnswer, ClientCall, HeldCall, ModelCall, Pending, Reply, ResumeError};
pub use restore::{RestoreError, SAVED_VERSION};
pub use session::Session;
pub use snapshot::Snapshot;

use std::sync::Arc;

use crate::plan::Plans;

/// Opens sessions. Cloning shares everything.
#[derive(Debug, Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) parts: Components,
    pub(crate) options: Options,
    pub(crate) plans: Plans,
}

impl Runtime {
    /// Checks the parts together.
    ///
    /// # Errors
    /// [`Misconfigured`] when they cannot work together.
    pub fn new(parts: Components, options: Options) -> Result<Self, Misconfigured> {
        options.check()?;
        let plans = Plans::default();
        Ok(Self {
            shared: Arc::new(Shared {
                parts,
                options,
                plans,
            }),
        })
    }

    /// The options in force.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    /// Plans a session.
    ///
    /// # Errors
    /// [`OpenError`] when policy hides everything by mistake, client tool names collide, or no index
    /// can be made.
    pub async fn open(&self, request: OpenRequest) -> Result<Session, OpenError> {
        plan::open(&self.shared, request).await
    }
}

#[cfg(test)]
mod tests;
