//! The configuration file `toolsearch.json5`: strict reading, editing in place, import from other
//! clients.
//!
//! * [`load`] and [`load_text`] give [`Settings`], plain data, with every warning.
//! * [`Settings::effective`] says what tool search comes to for an agent and a command line.
//! * [`edit`] changes one value and leaves comments and layout alone.
//! * [`import`] reads the servers of other programs.
//! * [`locate`] finds the file, [`schema_json`] describes it for editors.
//!
//! This crate starts nothing and talks to nobody: it knows no runtime, no protocol and no other
//! crate of this workspace. The only files it touches are those whose path it is given; the
//! environment reaches it through a lookup function.

pub mod edit;
mod effective;
mod error;
mod expand;
mod file;
pub mod import;
mod json5;
mod load;
mod locate;
mod nearest;
mod path;
mod schema;
mod secret;
mod server;
mod settings;
mod tool_search;

#[cfg(test)]
mod tests;

pub use effective::{
    ControlNames, DIRECT_SCHEMA_BYTES, DIRECT_TOOLS, Effective, Origin, Overrides, Resolved,
    Sourced, Switch, UnknownAgent,
};
pub use error::{ConfigError, Problem, ProblemKind};
pub use expand::{Lookup, Unset, expand};
pub use file::{read as read_file, write_atomic};
pub use json5::{Document, MAX_DEPTH, MAX_FILE_BYTES, Member, Node, NodeKind, Number, Position};
pub use load::{Loaded, load, load_text, validate};
pub use locate::{FILE_NAME, FILE_VARIABLE, Located, LocatedBy, locate};
pub use path::{BadPath, KeyPath, Step};
pub use schema::schema_json;
pub use secret::{Expanded, Secret};
pub use server::{
    Endpoint, NeedsConfiguration, Server, ServerCatalogMode, ServerDefinition, ServerState,
    ServerTrust, ToolFilter, Transport,
};
pub use settings::{
    Agent, AgentDefaults, AgentTools, Agents, ApprovalMode, Approvals, Capture, Dialect, Gateway,
    GatewayAuth, GatewayLimits, GatewayTls, GatewayToken, Hook, Hooks, NativeToolSearch, OnFailure,
    Otherwise, Pins, Provider, Rules, Sandbox, Settings, Store, Telemetry, Tools,
};
pub use tool_search::{
    ControlNameOptions, EmbedderChoice, EngineChoice, SearchMode, SearchOptions, ToolSearchOptions,
    ToolSearchSetting, UnknownWord,
};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
