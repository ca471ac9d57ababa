//! The gateway over in-memory streams: raw messages written by hand, and rmcp's client.

mod client;
mod modes;
mod replan;
mod results;
mod wire;
mod world;
