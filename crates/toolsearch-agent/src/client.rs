//! Tools that the client of a session runs itself.

use std::fmt;

use async_trait::async_trait;
use serde_json::{Map, Value};
use toolsearch::catalog::Outcome;

/// Runs the client's own tools, those that a session was opened with as client tools.
///
/// Names and arguments have been checked by the session. Trouble is an [`Outcome`] with `is_error`.
/// Dropping the future cancels the call.
#[async_trait]
pub trait ClientTools: fmt::Debug + Send + Sync {
    /// Runs one tool by the client's own name for it.
    async fn call(&self, name: &str, args: Map<String, Value>) -> Outcome;
}
