//! The turn loop between a model and a session: send the conversation with the session's surface,
//! run what the model calls, send the results, until it answers or a limit is reached.
//!
//! * [`Model`] is the contract of whatever completes a conversation; [`Provider`] is a model behind the
//!   API of a provider, in any [`Dialect`].
//! * [`Agent`] runs the loop. Calls of one turn run in parallel, their answers keep the order. A
//!   [`Conversation`] goes on over several messages.
//! * [`ClientTools`] runs tools that the session hands back to its client.
//!
//! Every call goes through the session, so policy, approval, hooks and telemetry hold here as behind
//! every other door. Not here: planning sessions, wire forms, and keeping conversations.

mod agent;
mod calls;
mod client;
mod conversation;
mod http;
mod model;
mod provider;
mod report;
mod retry;

pub use agent::{Agent, Limits};
pub use client::ClientTools;
pub use conversation::Conversation;
pub use http::BadAddress;
pub use model::{Message, Model, ModelError, ModelRequest, ModelTurn, Sent, Used, Words};
pub use provider::Provider;
pub use report::{AgentReport, CallReport, End, Limit, Observer, RequestReport, Step};
pub use toolsearch_dialect::{Arguments, Call, Dialect};

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
