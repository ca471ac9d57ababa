//! How sessions come and go, and how the gateway ends.

use std::time::Duration;

use hyper::{Method, StatusCode};
use serde_json::json;
use toolsearch_gateway::http::HttpOptions;

use super::served::{Served, ask, http_options, initialize, request};
use crate::world::{Step, tool};

fn few() -> HttpOptions {
    let mut http = http_options();
    http.sessions = 2;
    http
}

#[tokio::test]
async fn sessions_in_use_are_kept_and_one_too_many_is_told_why() {
    let served = Served::with(vec![tool("echo")], few()).await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        let id = served.session("/mcp", &[]).await;
        let get = request(Method::GET, "/mcp", &[("mcp-session-id", &id)], "");
        streams.push(served.ask(get).await);
    }
    let mut answer = served.post("/mcp", &[], &initialize()).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.header("retry-after").is_some());
    assert!(answer.whole().await.contains("gateway.limits.sessions"));
    assert_eq!(served.control.sessions(), 2);
}

#[tokio::test]
async fn many_sessions_hold_and_leave_nothing() {
    let served = Served::new(vec![tool("echo")]).await;
    let mut ids = Vec::new();
    for _ in 0..250 {
        ids.push(served.session("/mcp", &[]).await);
    }
    assert_eq!(served.control.sessions(), 250);
    let mut answer = served.call(&ids[0], "echo", json!({ "n": 1 })).await;
    assert_eq!(
        answer.json().await["result"]["structuredContent"],
        json!({ "n": 1 })
    );
    for id in &ids {
        let delete = request(Method::DELETE, "/mcp", &[("mcp-session-id", id)], "");
        assert_eq!(served.ask(delete).await.status, StatusCode::NO_CONTENT);
    }
    assert_eq!(served.control.sessions(), 0);
}

#[tokio::test]
async fn stopping_answers_what_runs_and_takes_nothing_new() {
    let mut served = Served::new(vec![tool("slow")]).await;
    let id = served.session("/mcp", &[]).await;
    let arguments = json!({ "id": "native:demo:slow", "args": {} });
    let params = json!({ "name": "tool_call", "arguments": arguments });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let headers = [("mcp-session-id", id.as_str())];
    let slow = request(Method::POST, "/mcp", &headers, &call.to_string());
    let slow = tokio::spawn(ask(served.address, slow));
    assert_eq!(served.happened().await, Step::Started("slow".to_owned()));
    served.stop();
    // The socket is closed before anything else happens.
    while tokio::net::TcpStream::connect(served.address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    served.house.world.tools.release.notify_one();
    let answer = slow.await.unwrap().json().await;
    assert_eq!(answer["result"]["content"][0]["text"], "released");
    served.serving.await.unwrap().unwrap();
    assert_eq!(served.control.sessions(), 0);
}

#[tokio::test]
async fn what_does_not_end_in_time_is_cut_off() {
    let mut http = http_options();
    http.drain = Duration::from_millis(10);
    let mut served = Served::with(vec![tool("slow")], http).await;
    let id = served.session("/mcp", &[]).await;
    let get = request(Method::GET, "/mcp", &[("mcp-session-id", &id)], "");
    let mut stream = served.ask(get).await;
    served.stop();
    assert_eq!(stream.event().await, None);
    served.serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn health_needs_no_token_and_says_little() {
    let served = Served::new(vec![]).await;
    for (path, expected) in [("/healthz", "ok\n"), ("/readyz", r#"{"status":"ready"}"#)] {
        let ask = request(Method::GET, path, &[("host", "probe.example")], "");
        let mut answer = served.ask(ask).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.whole().await, expected);
    }
}
