//! Both eras of the protocol, and what a server may ask a client.

use super::*;
use toolsearch_invoke::{OutageKind, Provider};
use toolsearch_mcp::{Protocol, ServerState};

#[tokio::test]
async fn older_versions_are_spoken() {
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let server = server(&json!({ "protocol": version, "tools": [tool("a")] }));
        assert_eq!(names(&server.list().await), ["a"], "{version}");
        assert_eq!(server.status().protocol.as_deref(), Some(version));
    }
}

#[tokio::test]
async fn an_unknown_version_is_an_error_that_names_both() {
    let server = server(&json!({ "protocol": "2023-01-01", "tools": [tool("a")] }));
    let listing = server.list().await;
    let outage = listing.outage.expect("no common version");
    assert_eq!(outage.kind, OutageKind::Failed);
    assert!(outage.reason.contains("2023-01-01"), "{}", outage.reason);
    assert!(outage.reason.contains("2025-11-25"), "{}", outage.reason);
    assert!(listing.tools.is_empty());
}

#[tokio::test]
async fn a_modern_server_that_refuses_initialize_is_started_afresh() {
    let log = Log::new();
    let refusal = json!({ "code": -32022, "message": "Unsupported protocol version",
                          "data": { "supported": ["2026-07-28"] } });
    let scenario = with_echo(
        json!({ "modern": true, "refuse": refusal, "log": log.path() }),
        &[],
    );
    let server = server(&scenario);
    assert_eq!(names(&server.list().await), ["echo"]);
    let status = server.status();
    assert_eq!(
        (status.protocol.as_deref(), status.starts),
        (Some("2026-07-28"), 2)
    );
    assert_eq!(call_text(&server, "echo").await, "{}");
    let list = &log.with_method("tools/list")[0];
    let meta = &list["params"]["_meta"];
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    assert_eq!(
        meta["io.modelcontextprotocol/clientInfo"]["name"],
        "toolsearch"
    );
    assert_eq!(log.with_method("subscriptions/listen").len(), 1);
}

#[tokio::test]
async fn a_modern_server_announces_changes_to_its_subscriber() {
    let mut modern = spec(&json!({
        "modern": true,
        "tools": [tool("a"), tool("late")],
        "once": { "tools/list": [{ "reply": { "tools": [tool("a")] } }, { "change": 1 }] },
    }));
    modern.protocol = Protocol::Modern;
    let server = McpServer::new(modern);
    let mut changed = server.changed();
    assert_eq!(names(&server.list().await), ["a"]);
    changed.wait_for(|count| *count >= 2).await.unwrap();
    assert_eq!(names(&server.list().await), ["a", "late"]);
}

#[tokio::test]
async fn a_server_of_both_eras_needs_one_process() {
    let server = server(&json!({ "modern": true, "tools": [tool("a")] }));
    assert_eq!(names(&server.list().await), ["a"]);
    let status = server.status();
    assert_eq!(
        (status.protocol.as_deref(), status.starts),
        (Some("2025-11-25"), 1)
    );
}

#[tokio::test]
async fn an_era_can_be_demanded() {
    let mut modern = spec(&json!({ "modern": true, "tools": [tool("a")] }));
    modern.protocol = Protocol::Modern;
    let server = McpServer::new(modern);
    assert_eq!(names(&server.list().await), ["a"]);
    assert_eq!(server.status().protocol.as_deref(), Some("2026-07-28"));

    let mut old = spec(&json!({ "tools": [tool("a")] }));
    old.protocol = Protocol::Modern;
    let outage = McpServer::new(old)
        .list()
        .await
        .outage
        .expect("the server is of the old era");
    assert!(
        outage.reason.contains("server/discover was refused"),
        "{}",
        outage.reason
    );

    let refusal =
        json!({ "code": -32022, "message": "no", "data": { "supported": ["2026-07-28"] } });
    let mut new = spec(&json!({ "modern": true, "refuse": refusal }));
    new.protocol = Protocol::Legacy;
    let outage = McpServer::new(new)
        .list()
        .await
        .outage
        .expect("the server is of the new era");
    assert!(
        outage.reason.contains("initialize was refused"),
        "{}",
        outage.reason
    );
}

#[tokio::test]
async fn a_server_that_names_an_older_version_is_offered_that() {
    let refusal = json!({ "code": -32602, "message": "Unsupported protocol version",
                          "data": { "supported": ["2024-11-05"] } });
    let mark = Log::new();
    let scenario =
        json!({ "mark": mark.path(), "first": { "refuse": refusal }, "tools": [tool("a")] });
    let server = server(&scenario);
    assert_eq!(names(&server.list().await), ["a"]);
    assert_eq!(server.status().protocol.as_deref(), Some("2024-11-05"));
}

#[tokio::test]
async fn requests_of_the_server_are_answered() {
    let log = Log::new();
    let form =
        json!({ "message": "Sure?", "requestedSchema": { "type": "object", "properties": {} } });
    let odd = json!({ "message": 7, "requestedSchema": "?" });
    let ask = |id: Value, method: &str, params: Value| {
        json!({ "send":
        { "jsonrpc": "2.0", "id": id, "method": method, "params": params } })
    };
    let steps = json!([
        ask(json!(2), "ping", json!({})),
        ask(json!("r1"), "roots/list", Value::Null),
        ask(json!("e1"), "elicitation/create", form),
        ask(json!("e2"), "elicitation/create", odd),
        ask(json!("s1"), "sampling/createMessage", json!({ "messages": [], "maxTokens": 1 })),
        ask(json!("u1"), "no/such/method", json!({})),
        { "wait": "u1" },
        { "reply": text("done") },
    ]);
    let server = server(&with_echo(
        json!({ "log": log.path(), "call": { "ask": steps } }),
        &["ask"],
    ));
    server.list().await;
    assert_eq!(call_text(&server, "ask").await, "done");
    // The answers may come in any order; this call is read after the last of them.
    assert_eq!(call_text(&server, "echo").await, "{}");
    let messages = log.messages();
    let answer = |id: Value| {
        let found = messages
            .iter()
            .find(|one| one["id"] == id && one.get("method").is_none());
        found.unwrap_or_else(|| panic!("no answer to {id}")).clone()
    };
    assert_eq!(answer(json!(2))["result"], json!({}));
    assert_eq!(answer(json!("r1"))["result"], json!({ "roots": [] }));
    assert_eq!(answer(json!("e1"))["result"]["action"], "decline");
    assert!(answer(json!("e2"))["error"]["code"].is_number());
    assert_eq!(answer(json!("s1"))["error"]["code"], -32601);
    assert_eq!(answer(json!("u1"))["error"]["code"], -32601);
}

#[tokio::test]
async fn one_connection_serves_everyone_who_asks_at_once() {
    let server = server(&with_echo(json!({}), &[]));
    assert_eq!(server.status().state, ServerState::Stopped);
    let (first, second, third) = tokio::join!(
        server.list(),
        call(&server, "echo", json!({ "n": 1 })),
        server.list()
    );
    assert_eq!(names(&first), names(&third));
    assert_eq!(second.unwrap().joined_text(), r#"{"n": 1}"#);
    assert_eq!(server.status().starts, 1);
    assert_eq!(server.status().state, ServerState::Ready);
}
