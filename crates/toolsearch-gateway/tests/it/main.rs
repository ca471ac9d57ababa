//! The gateway over in-memory streams: raw messages written by hand, and rmcp's client.
#![expect(
    clippy::unwrap_used,
    reason = "a test stops at the first surprise, in its helpers too"
)]

mod client;
mod http;
mod modes;
mod replan;
mod results;
mod shelves;
mod wire;
mod world;
