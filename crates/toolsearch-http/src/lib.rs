//! Requests over HTTP to addresses that somebody configured: which addresses are taken, how a client is
//! made, how much of an answer is read, and what is said of a request without one.
//!
//! Not here: keys, headers, retries, and the form of what is sent.

mod address;
mod answer;
mod client;
#[cfg(test)]
mod tests;

pub use address::{BadAddress, address, below, is_loopback};
pub use answer::{Unsent, printable, read, said, unsent};
pub use client::{ClientOptions, Redirects, TlsUnavailable, client};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
