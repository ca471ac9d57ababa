//! The MCP Python SDK over HTTP, in both forms of the protocol.

use std::fs;

use serde_json::json;

use super::client::{Client, Kind};
use super::world::{World, find};
use crate::support::{HttpGateway, Mode, names};

fn finds_and_calls(kind: Kind) {
    let world = World::new(Mode::Tools);
    let gateway = HttpGateway::start(&world.home, &[]);
    let mut client = Client::over_http(kind, &gateway.url);
    assert_eq!(client.protocol, kind.protocol());
    assert_eq!(client.server, "toolsearch");
    assert!(client.instructions.contains("files"));
    assert_eq!(
        names(&client.list()),
        ["tool_search", "tool_describe", "tool_call"]
    );
    let query = "write text into a file";
    let hit = find(&mut client, query, "mcp:files:write_file");
    let note = world.file("note.txt");
    let args = json!({ "path": note, "content": "over HTTP\n" });
    client.works("tool_call", json!({ "id": hit["id"], "args": args }));
    assert_eq!(fs::read_to_string(&note).unwrap(), "over HTTP\n");
}

#[test]
fn the_python_sdk_over_http_with_a_session() {
    finds_and_calls(Kind::SdkHandshake);
}

#[test]
fn the_python_sdk_over_http_without_one() {
    finds_and_calls(Kind::SdkDiscover);
}
