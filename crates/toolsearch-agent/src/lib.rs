//! The turn loop between a model and a session: send the conversation with the session's surface,
//! run what the model calls, send the results, until it answers or a limit is reached.
//!
//! * [`Model`] is the contract of whatever completes a conversation; [`OpenAiChat`] speaks Chat
//!   Completions over HTTP.
//! * [`Agent`] runs the loop. Calls of one turn run in parallel, their answers keep the order.
//! * [`ClientTools`] runs tools that the session hands back to its client.
//!
//! Every call goes through the session, so policy, approval, hooks and telemetry hold here as behind
//! every other door. Not here: planning sessions, other wire forms, and keeping conversations.

mod agent;
mod answer;
mod calls;
mod chat;
mod client;
mod http;
mod model;
mod report;

pub use agent::{Agent, Limits};
pub use chat::OpenAiChat;
pub use client::ClientTools;
pub use http::BadAddress;
pub use model::{
    Arguments, Message, Model, ModelError, ModelRequest, ModelTurn, Sent, ToolCall, ToolSpec,
};
pub use report::{AgentReport, CallReport, End, Limit, Observer, RequestReport, Step};

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
