//! What a model said in one turn.

use crate::call::Call;

/// An answer that is not what the protocol says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the provider's answer cannot be read: {0}")]
pub struct Unreadable(pub String);

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum End {
    /// The model was done, or called tools.
    #[default]
    Done,
    /// A limit on the provider's side cut it off.
    Cut,
    /// The provider withheld it.
    Filtered,
}

/// One turn, read.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Turn {
    /// Its words; may be empty when it calls tools.
    pub text: String,
    /// Calls of functions, custom tools and client-run searches, in order.
    pub calls: Vec<Call>,
    /// Ids of calls in forms that only the client knows, such as a computer's. The turn cannot go on
    /// without the client.
    pub foreign: Vec<String>,
    /// How it ended.
    pub end: End,
}
