//! Facts from the field, end to end: a scripted server lists and answers what real ones were seen
//! to, the built program stands before it, and a client writes bare JSON-RPC. What the model reads
//! and what reaches the server is compared; whatever lies between is free.
//!
//! The number in a test's name is that of the case; cases that a single crate decides alone are
//! tested there.

mod arguments;
mod captured;
mod config;
mod names;
mod policy;
mod results;
mod schemas;
mod security;
mod transport;

use serde_json::{Value, json};

/// A tool as a server lists it.
fn tool(name: &str, schema: Value) -> Value {
    json!({ "name": name, "description": format!("Does {name}."), "inputSchema": schema })
}

/// A tool without parameters.
fn bare(name: &str) -> Value {
    tool(name, json!({ "type": "object", "properties": {} }))
}
