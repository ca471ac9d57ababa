//! rmcp's own client in front of the gateway, in both eras.

use std::sync::Arc;

use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, RoleClient, RunningService, serve_client_with_lifecycle};
use serde_json::{Value, json};
use toolsearch_gateway::Gateway;

use crate::world::{World, options, tool};

async fn connect(
    mode: &str,
    lifecycle: ClientLifecycleMode,
) -> RunningService<RoleClient, ClientConfig> {
    let (world, _) = World::new(mode, vec![tool("echo"), tool("fails")]);
    let gateway = Gateway::new(Arc::new(world)).with_options(options());
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (input, output) = tokio::io::split(far);
    tokio::spawn(async move { gateway.serve(input, output).await });
    serve_client_with_lifecycle(ClientConfig::default(), near, lifecycle)
        .await
        .unwrap()
}

async fn check(mode: &str, lifecycle: ClientLifecycleMode, expected: &[&str]) {
    let client = connect(mode, lifecycle).await;
    let info = client.peer_info().expect("greeted");
    let server = info.server_info.clone().expect("named");
    assert_eq!(server.name, "toolsearch");
    let tools = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
    assert_eq!(names, expected, "{mode}");
    let mut call = match mode {
        "direct" => json!({ "n": 7 }),
        _ => json!({ "id": "native:demo:echo", "args": { "n": 7 } }),
    };
    let arguments = std::mem::take(call.as_object_mut().unwrap());
    let name = if mode == "direct" {
        "echo"
    } else {
        "tool_call"
    };
    let params = CallToolRequestParams::new(name).with_arguments(arguments);
    let result = serde_json::to_value(client.call_tool(params).await.unwrap()).unwrap();
    assert_eq!(
        result["structuredContent"],
        json!({ "n": 7 }),
        "{mode}: {result}"
    );
    assert_ne!(result["isError"], Value::Bool(true));
    client.cancel().await.unwrap();
}

#[tokio::test]
async fn a_client_lists_and_calls_in_every_mode() {
    let controls = ["tool_search", "tool_describe", "tool_call"];
    let discover = || ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::NO_INITIALIZE],
    };
    for (mode, expected) in [
        ("direct", &["echo", "fails"][..]),
        ("tools", &controls),
        ("directory", &controls),
    ] {
        check(mode, ClientLifecycleMode::Initialize, expected).await;
        check(mode, discover(), expected).await;
    }
}
