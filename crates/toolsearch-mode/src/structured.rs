//! The three structured controls, which more than one mode declares.

use serde_json::json;

use crate::contract::{ControlCall, Decoding, Rendered};
use crate::control::Control;
use crate::failure::Failure;
use crate::read;
use crate::render::{self, Speech};
use crate::request::Request;
use crate::response::Response;
use crate::surface::{SurfaceTool, View};

/// Search, describe and call.
pub const CONTROLS: [Control; 3] = [Control::Search, Control::Describe, Control::Call];

/// Declares the three controls. `owners` is a line of owner names; it may be empty.
#[must_use]
pub fn controls(view: &View<'_>, owners: &str) -> Vec<SurfaceTool> {
    let names = view.names;
    let behind = if owners.is_empty() {
        String::new()
    } else {
        format!(" Tools of: {owners}.")
    };
    let search = format!(
        "Find tools among the {} that are not declared here. Say what you need in English: product, \
         verb, object (\"github create issue\"). One need a query; several needs go into `queries`. \
         Hits give the id and the arguments as a type.{behind}",
        view.announced(),
    );
    let describe = format!(
        "Full schema of one tool by its id, when the type that {} gave is not enough.",
        names.search
    );
    let call = format!(
        "Run a tool that {} found: its exact id, and its arguments under `args`.",
        names.search
    );
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": view.limits.max });
    let query = json!({
        "type": "object",
        "properties": { "query": { "type": "string" }, "limit": limit },
        "required": ["query"],
    });
    let search_schema = json!({
        "type": "object",
        "properties": {
            "query": { "type": "string" },
            "limit": limit,
            "readOnly": { "type": "boolean" },
            "queries": { "type": "array", "items": query, "maxItems": view.limits.queries },
        },
    });
    let describe_schema = json!({
        "type": "object",
        "properties": { "id": { "type": "string" } },
        "required": ["id"],
    });
    let call_schema = json!({
        "type": "object",
        "properties": { "id": { "type": "string" }, "args": { "type": "object" } },
        "required": ["id"],
    });
    vec![
        SurfaceTool::control(Control::Search, names, search, search_schema),
        SurfaceTool::control(Control::Describe, names, describe, describe_schema),
        SurfaceTool::control(Control::Call, names, call, call_schema),
    ]
}

/// Reads a call of one of the three.
///
/// # Errors
/// [`Failure`] when the arguments cannot be read.
pub fn decode(call: &ControlCall, decoding: &Decoding<'_>) -> Result<Request, Failure> {
    match call.control {
        Control::Search => read::search(&read::object(&call.arguments)?, decoding.limits),
        Control::Describe => read::describe(&read::object(&call.arguments)?),
        Control::Call => read::call(read::object(&call.arguments)?, decoding),
        Control::Code => Err(Failure::input(format!(
            "Programs are not taken here. Use {}, {} and {}.",
            decoding.names.search, decoding.names.describe, decoding.names.call
        ))),
    }
}

/// Puts an answer into words that name the three controls.
#[must_use]
pub fn encode(response: &Response, decoding: &Decoding<'_>) -> Rendered {
    render::structured(
        response,
        &Speech::structured(decoding.names),
        decoding.limits,
    )
}
