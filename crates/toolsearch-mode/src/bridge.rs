//! The controls as a program uses them: the same requests and answers, as values instead of text.

use serde_json::{Map, Value};

use crate::contract::Decoding;
use crate::failure::Failure;
use crate::read;
use crate::render;
use crate::request::Request;
use crate::response::Response;

/// Reads a call that came over the bridge: `search`, `describe` or `call` with an object.
///
/// # Errors
/// [`Failure`] for another method or arguments that cannot be read.
pub fn decode(method: &str, args: &Value, decoding: &Decoding<'_>) -> Result<Request, Failure> {
    match method {
        "search" => read::search(&read::object(args)?, decoding.limits),
        "describe" => read::describe(&read::object(args)?),
        "call" => read::call(read::object(args)?, decoding),
        other => Err(Failure::input(format!(
            "There is no tools.{}. Use tools.search(query), tools.describe(id) or \
             tools.call(id, args).",
            toolsearch_schema::names::sanitise_label(other, 40)
        ))),
    }
}

/// The value that the program gets: a list of hits, a description (a list when several were asked
/// for), or `{tool, result}`.
///
/// # Errors
/// The [`Failure`] of the response, to be thrown in the program.
pub fn encode(request: &Request, response: &Response) -> Result<Value, Failure> {
    match response {
        Response::Search(reply) => Ok(match (&reply.groups[..], request) {
            ([only], Request::Search { batch: false, .. }) => Value::Array(render::hits(only)),
            (groups, _) => Value::Array(groups.iter().map(render::group_value).collect()),
        }),
        Response::Describe(tools) => Ok(match &tools[..] {
            [(tool, card)] => render::description(tool, card),
            several => several
                .iter()
                .map(|(tool, card)| render::description(tool, card))
                .collect(),
        }),
        Response::Call(reply) => {
            let mut value = Map::new();
            value.insert("tool".to_owned(), render::tool_ref(&reply.tool));
            value.insert("result".to_owned(), reply.outcome.to_result_json());
            Ok(Value::Object(value))
        }
        Response::Run(_) => Err(Failure::input("A program cannot start another program.")),
        Response::Failed(failure) => Err(Failure::clone(failure)),
    }
}
