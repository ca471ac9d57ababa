//! The built program between real clients and real servers: the client of the MCP Python SDK and the
//! one of rmcp on this side, servers from npm and PyPI on the other. Whatever is called has its
//! effect on the disk, and that is where it is looked for.
//!
//! `cargo xtask test --real` installs what is needed and runs this module.

mod client;
mod effects;
mod http;
mod inspector;
mod models;
mod results;
mod trouble;
mod upstream_http;
mod world;
