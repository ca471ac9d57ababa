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

mod breaker;
mod cache;
mod carrier;
mod connection;
mod features;
mod http;
mod life;
mod listing;
mod notes;
pub mod oauth;
mod offline;
mod peer;
mod private_file;
mod server;
mod shared;
mod spec;
mod status;
mod stdio;
mod text;
mod trouble;
mod wire;

pub use features::Features;
pub use offline::read_tools;
pub use peer::{Ask, AskKind, AskReply, ClientPeer, ServerEvent};
pub use server::McpServer;
pub use spec::{
    Endpoint, HttpAddress, HttpTransport, Protocol, Secret, ServerSpec, StartLimit, StdioCommand,
    ToolFilter,
};
pub use status::{ServerState, ServerStatus};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
