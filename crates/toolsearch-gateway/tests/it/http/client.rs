//! rmcp's own client over HTTP, in both forms.

use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
use rmcp::transport::StreamableHttpClientTransport;
use serde_json::json;

use super::served::Served;
use crate::world::tool;

#[tokio::test]
async fn a_client_lists_and_calls_in_both_forms() {
    // Nothing is encrypted here, but the client of rmcp wants to be able to.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let served = Served::new(vec![tool("echo")]).await;
    let discover = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::NO_INITIALIZE],
    };
    for lifecycle in [ClientLifecycleMode::Initialize, discover] {
        let url = format!("http://{}/mcp", served.address);
        let transport = StreamableHttpClientTransport::from_uri(url);
        let client = serve_client_with_lifecycle(ClientConfig::default(), transport, lifecycle)
            .await
            .unwrap();
        let tools = client.list_all_tools().await.unwrap();
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, ["tool_search", "tool_describe", "tool_call"]);
        let mut call = json!({ "id": "native:demo:echo", "args": { "n": 7 } });
        let arguments = std::mem::take(call.as_object_mut().unwrap());
        let params = CallToolRequestParams::new("tool_call").with_arguments(arguments);
        let result = serde_json::to_value(client.call_tool(params).await.unwrap()).unwrap();
        assert_eq!(result["structuredContent"], json!({ "n": 7 }), "{result}");
        client.cancel().await.unwrap();
    }
}
