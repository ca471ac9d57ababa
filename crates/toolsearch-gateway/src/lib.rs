//! The MCP server in front of a session: a client sees the compact surface of a
//! [`toolsearch_runtime::Session`] and calls it.
//!
//! A [`Gateway`] takes its sessions from a [`SessionSource`], so whoever composes the product decides
//! what a session is planned from and when it is planned anew. One connection is one session;
//! [`Gateway::serve_stdio`] serves the one on standard input and output, [`Gateway::serve`] any pair
//! of byte streams. Lists and results cross as raw JSON: content blocks of any type, further fields,
//! `_meta`, and numbers with all their digits.
//!
//! Not here: planning, dispatch and every decision about a call (`toolsearch-runtime`), and the side
//! of the protocol that asks other servers (`toolsearch-mcp`).

mod answer;
mod ask;
mod call;
mod clients;
mod desk;
mod elicit;
mod entrance;
mod gateway;
mod headers;
pub mod http;
mod listen;
mod listing;
mod progress;
pub mod proxy;
mod queue;
mod relay;
mod rounds;
mod service;
mod source;
mod stdio;

pub use ask::ClientCapability;
pub use clients::{ClientName, Clients, NotAnswered, ServerQuestion};
pub use entrance::{Entrance, EntranceError, Entrances};
pub use gateway::{Gateway, GatewayOptions, ServeError};
pub use queue::{ApprovalQueue, QueueAnswer, QueueError, QueueListing, QueuedCall};
pub use relay::{News, Shelf, ShelfError, ShelfEvent, ShelfRequest};
pub use source::{ClientInfo, SessionSource, SourceError};
pub use toolsearch_dialect::Dialect;
