//! MCP servers as a source of tools: each upstream server is one [`McpServer`], a
//! [`toolsearch_invoke::Provider`] and a [`toolsearch_invoke::Invoker`].
//!
//! Tools and results are read from raw JSON, tool by tool and block by block, and numbers keep their
//! digits. A server that prints junk, answers slowly, lists for ever, dies or hangs costs only
//! itself: every wait and every buffer has a limit, and what happened stands in the listing, in the
//! error of the call and in [`ServerStatus`].
//!
//! Not here: where settings come from, which servers there are, who may call what, and the side of
//! the protocol that serves.

mod carrier;
mod connection;
mod life;
mod listing;
mod notes;
mod offline;
mod server;
mod shared;
mod spec;
mod status;
mod stdio;
mod text;
mod wire;

pub use offline::read_tools;
pub use server::McpServer;
pub use spec::{Endpoint, Protocol, Secret, ServerSpec, StdioCommand, ToolFilter};
pub use status::{ServerState, ServerStatus};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
