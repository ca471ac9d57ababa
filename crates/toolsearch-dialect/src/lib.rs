//! The wire forms of model providers, read and edited as raw JSON: OpenAI Chat Completions, OpenAI
//! Responses and Anthropic Messages.
//!
//! A [`Dialect`] takes the offered tools out of a request, puts other declarations and prompt text in,
//! reads what a model answered (whole or as a stream), writes results into the history, and makes one
//! answer for the client out of several turns. Whatever it does not know stays where it is, value for
//! value.
//!
//! Not here: HTTP, sessions, deciding what is hidden, running anything, and keeping state between
//! requests.

mod answer;
mod call;
mod dialect;
mod offer;
mod parts;
mod refusal;
mod request;
mod sse;
mod stream;
mod turn;
mod usage;

pub use call::{Arguments, Call, CallForm, client_call_id, is_client_call_id};
pub use dialect::{Dialect, UnknownDialect};
pub use offer::{Declaration, Native, Note, Offer, Offered, Stay};
pub use refusal::{Refusal, RefusalKind};
pub use request::{Edit, Past, PastResult};
pub use sse::{MAX_EVENT_BYTES, SseDecoder, SseEvent};
pub use stream::{Relay, StreamFault};
pub use turn::{End, Turn, Unreadable};
pub use usage::add_usage;

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
