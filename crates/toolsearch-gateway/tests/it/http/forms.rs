//! Both forms of the protocol: sessions with an id, and requests that stand for themselves.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use toolsearch_gateway::EntranceError;

use super::served::{Served, initialize, inline, request};
use crate::world::{INLINE, Step, tool};

#[tokio::test]
async fn a_session_lists_calls_and_ends() {
    let served = Served::new(vec![tool("echo")]).await;
    let id = served.session("/mcp", &[]).await;
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
    let headers = [("mcp-session-id", id.as_str())];
    let answer = served.post("/mcp", &headers, &ready).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    let mut answer = served.in_session(&id, "tools/list", json!({})).await;
    assert_eq!(answer.header("content-type").unwrap(), "application/json");
    let list = answer.json().await;
    assert_eq!(list["id"], 7);
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 3);
    let mut answer = served.call(&id, "echo", json!({ "n": 1 })).await;
    assert_eq!(
        answer.json().await["result"]["structuredContent"],
        json!({ "n": 1 })
    );
    assert_eq!(served.control.sessions(), 1);
    let delete = request(Method::DELETE, "/mcp", &headers, "");
    assert_eq!(served.ask(delete).await.status, StatusCode::NO_CONTENT);
    let mut answer = served.in_session(&id, "tools/list", json!({})).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(answer.whole().await.contains("begin anew"));
    assert_eq!(served.control.sessions(), 0);
}

#[tokio::test]
async fn requests_stand_for_themselves_and_share_a_session() {
    let served = Served::new(vec![tool("echo")]).await;
    let mut discovered = served.alone("server/discover", json!({})).await;
    assert_eq!(discovered.status, StatusCode::OK);
    let discovered = discovered.json().await;
    let versions = discovered["result"]["supportedVersions"].as_array();
    assert!(versions.unwrap().contains(&json!(INLINE)), "{discovered}");
    let list = served.alone("tools/list", json!({})).await.json().await;
    assert_eq!(list["result"]["tools"].as_array().unwrap().len(), 3);
    let params = json!({ "name": "tool_call", "arguments": {
        "id": "native:demo:echo", "args": { "n": 2 },
    }});
    let mut called = served.alone("tools/call", params).await;
    assert!(called.header("mcp-session-id").is_none());
    let called = called.json().await;
    assert_eq!(called["result"]["structuredContent"], json!({ "n": 2 }));
    assert_eq!(called["result"]["resultType"], "complete");
    assert_eq!(served.control.sessions(), 1);
    assert_eq!(served.house.world.opened.lock().unwrap().len(), 1);
}

async fn code(served: &Served, headers: &[(&str, &str)], params: Value) -> (StatusCode, Value) {
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params });
    let mut answer = served.post("/mcp", headers, &message.to_string()).await;
    let status = answer.status;
    (status, answer.json().await["error"]["code"].take())
}

#[tokio::test]
async fn headers_that_say_something_else_are_refused() {
    let served = Served::new(vec![tool("echo")]).await;
    let params = || inline(json!({ "name": "tool_search", "arguments": { "query": "echo" } }));
    let version = ("mcp-protocol-version", INLINE);
    let method = ("mcp-method", "tools/call");
    let good = [version, method, ("mcp-name", "tool_search")];
    assert_eq!(code(&served, &good, params()).await.0, StatusCode::OK);
    let wrapped = [version, method, ("mcp-name", "=?base64?dG9vbF9zZWFyY2g=?=")];
    assert_eq!(code(&served, &wrapped, params()).await.0, StatusCode::OK);
    let mismatch = (StatusCode::BAD_REQUEST, json!(-32020));
    for bad in [
        &[method, ("mcp-name", "tool_search")][..],
        &[version, ("mcp-name", "tool_search")],
        &[version, method],
        &[version, method, ("mcp-name", "tool_call")],
        &[version, method, method, ("mcp-name", "tool_search")],
        &[
            version,
            ("mcp-method", "tools/list"),
            ("mcp-name", "tool_search"),
        ],
        &[
            ("mcp-protocol-version", "2025-11-25"),
            method,
            ("mcp-name", "tool_search"),
        ],
    ] {
        assert_eq!(code(&served, bad, params()).await, mismatch, "{bad:?}");
    }
    let bare = json!({ "name": "tool_search", "arguments": { "query": "echo" } });
    let missing = (StatusCode::BAD_REQUEST, json!(-32602));
    assert_eq!(code(&served, &good, bare).await, missing);
    let mut unknown = params();
    unknown["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    let headers = [("mcp-protocol-version", "2031-01-01"), method, good[2]];
    let unsupported = (StatusCode::BAD_REQUEST, json!(-32022));
    assert_eq!(code(&served, &headers, unknown).await, unsupported);
    let mut missing = served.alone("tools/dance", json!({})).await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    assert_eq!(missing.json().await["error"]["code"], -32601);
}

#[tokio::test]
async fn progress_comes_before_the_answer_under_the_callers_own_token() {
    let served = Served::new(vec![tool("steps")]).await;
    let arguments = json!({ "id": "native:demo:steps", "args": {} });
    let params = json!({ "name": "tool_call", "arguments": arguments,
        "_meta": { "progressToken": "mine" } });
    let id = served.session("/mcp", &[]).await;
    for mut answer in [
        served.in_session(&id, "tools/call", params.clone()).await,
        served.alone("tools/call", params.clone()).await,
    ] {
        assert_eq!(answer.header("content-type").unwrap(), "text/event-stream");
        for step in 1..=3 {
            let event = answer.event().await.expect("progress");
            assert_eq!(event["method"], "notifications/progress");
            assert_eq!(event["params"]["progressToken"], "mine");
            assert_eq!(event["params"]["progress"].as_f64(), Some(f64::from(step)));
        }
        let event = answer.event().await.expect("an answer");
        assert_eq!(event["id"], 7);
        assert_eq!(event["result"]["content"][0]["text"], "done");
        assert_eq!(answer.event().await, None);
    }
}

#[tokio::test]
async fn a_caller_that_leaves_or_cancels_ends_its_call() {
    let mut served = Served::new(vec![tool("slow"), tool("echo")]).await;
    let started = Step::Started("slow".to_owned());
    let gone = Step::Gone("slow".to_owned());
    let id = served.session("/mcp", &[]).await;
    let arguments = json!({ "id": "native:demo:slow", "args": {} });
    let params = json!({ "name": "tool_call", "arguments": arguments });
    let message = json!({ "jsonrpc": "2.0", "id": "s", "method": "tools/call", "params": params });
    let address = served.address;
    let begin = |headers: Vec<(&'static str, String)>, message: Value| {
        tokio::spawn(async move {
            let headers: Vec<(&str, &str)> = headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let request = request(Method::POST, "/mcp", &headers, &message.to_string());
            super::served::ask(address, request).await
        })
    };
    // Cancelled by a message.
    let calling = begin(vec![("mcp-session-id", id.clone())], message.clone());
    assert_eq!(served.happened().await, started);
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": "s" } });
    let headers = [("mcp-session-id", id.as_str())];
    let answer = served.post("/mcp", &headers, &cancel.to_string()).await;
    assert_eq!(answer.status, StatusCode::ACCEPTED);
    assert_eq!(served.happened().await, gone);
    assert_eq!(calling.await.unwrap().status, StatusCode::ACCEPTED);
    // The connection is dropped, in both forms.
    let mut alone = message.clone();
    alone["params"] = inline(alone["params"].take());
    let own = [
        ("mcp-protocol-version", INLINE),
        ("mcp-method", "tools/call"),
    ];
    let mut own: Vec<_> = own.map(|(name, value)| (name, value.to_owned())).into();
    own.push(("mcp-name", "tool_call".to_owned()));
    for (headers, message) in [
        (vec![("mcp-session-id", id.clone())], message),
        (own, alone),
    ] {
        let calling = begin(headers, message);
        assert_eq!(served.happened().await, started);
        calling.abort();
        assert_eq!(served.happened().await, gone);
    }
    // The session goes on.
    let mut answer = served.call(&id, "echo", json!({ "n": 3 })).await;
    assert_eq!(
        answer.json().await["result"]["structuredContent"],
        json!({ "n": 3 })
    );
}

#[tokio::test]
async fn a_changed_list_is_told_on_the_stream_and_to_subscribers() {
    let served = Served::new(vec![tool("echo")]).await;
    let id = served.session("/mcp", &[]).await;
    let get = request(Method::GET, "/mcp", &[("mcp-session-id", &id)], "");
    let mut stream = served.ask(get).await;
    assert_eq!(stream.status, StatusCode::OK);
    let wanted = json!({ "notifications": { "toolsListChanged": true } });
    let mut subscribed = served.alone("subscriptions/listen", wanted).await;
    let event = subscribed.event().await.expect("acknowledged");
    assert_eq!(event["method"], "notifications/subscriptions/acknowledged");
    let subscription = "io.modelcontextprotocol/subscriptionId";
    assert_eq!(event["params"]["_meta"][subscription], 7);
    // Another tool changes what the controls say.
    served
        .house
        .world
        .now_lists(vec![tool("echo"), crate::world::owned("other", "more")]);
    served.house.world.says_changed();
    let event = stream.event().await.expect("a change");
    assert_eq!(event["method"], "notifications/tools/list_changed");
    let event = subscribed.event().await.expect("a change");
    assert_eq!(event["method"], "notifications/tools/list_changed");
    assert_eq!(event["params"]["_meta"][subscription], 7);
}

#[tokio::test]
async fn a_batch_is_answered_in_one_document() {
    let served = Served::new(vec![tool("echo")]).await;
    let id = served.session("/mcp", &[]).await;
    let batch = json!([
        { "jsonrpc": "2.0", "id": 1, "method": "ping" },
        { "jsonrpc": "2.0", "method": "notifications/initialized" },
        { "jsonrpc": "2.0", "id": 2, "method": "tools/list" },
    ]);
    let headers = [("mcp-session-id", id.as_str())];
    let mut answer = served.post("/mcp", &headers, &batch.to_string()).await;
    let answers = answer.json().await;
    assert_eq!(answers[0]["id"], 1);
    assert_eq!(answers[1]["id"], 2);
    assert_eq!(answers.as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn odd_requests_are_told_what_is_wrong() {
    let served = Served::new(vec![tool("echo")]).await;
    let check = async |request, status: StatusCode, word: &str| {
        let mut answer = served.ask(request).await;
        let text = answer.whole().await;
        assert_eq!(answer.status, status, "{text}");
        assert!(text.contains(word), "{text}");
    };
    let post = |headers: &[(&str, &str)], body: &str| request(Method::POST, "/mcp", headers, body);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    check(post(&[], list), StatusCode::BAD_REQUEST, "initialize").await;
    let unknown = [("mcp-session-id", "0123456789abcdef")];
    check(
        post(&unknown, list),
        StatusCode::NOT_FOUND,
        "no such session",
    )
    .await;
    check(post(&[], "{"), StatusCode::BAD_REQUEST, "-32700").await;
    check(post(&[], "[]"), StatusCode::BAD_REQUEST, "-32600").await;
    let plain = [("content-type", "text/plain")];
    let wrong = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    check(post(&plain, list), wrong, "application/json").await;
    let large = format!("\"{}\"", "x".repeat(300 * 1024));
    check(post(&[], &large), StatusCode::PAYLOAD_TOO_LARGE, "262144").await;
    let odd = [("mcp-protocol-version", "1999-01-01"), unknown[0]];
    check(
        post(&odd, list),
        StatusCode::BAD_REQUEST,
        "MCP-Protocol-Version",
    )
    .await;
    let get = request(Method::GET, "/mcp", &[], "");
    check(get, StatusCode::METHOD_NOT_ALLOWED, "POST").await;
    let get = request(Method::GET, "/mcp", &[("accept", "text/html")], "");
    check(get, StatusCode::NOT_ACCEPTABLE, "event-stream").await;
    let nobody = request(Method::POST, "/mcp/nobody", &[], &initialize());
    let why = EntranceError::UnknownAgent.to_string();
    check(nobody, StatusCode::NOT_FOUND, &why).await;
    let mode = request(Method::POST, "/mcp?mode=dance", &[], &initialize());
    let why = EntranceError::UnknownMode.to_string();
    check(mode, StatusCode::BAD_REQUEST, &why).await;
    let lost = request(Method::GET, "/elsewhere", &[], "");
    check(lost, StatusCode::NOT_FOUND, "").await;
}

#[tokio::test]
async fn agents_and_modes_come_with_the_path_or_a_header() {
    let served = Served::new(vec![tool("echo")]).await;
    served.session("/mcp/support?mode=tools", &[]).await;
    let headers = [
        ("x-toolsearch-agent", "sales"),
        ("x-toolsearch-mode", "tools"),
    ];
    served.session("/mcp", &headers).await;
    let entered = served.house.entered.lock().unwrap().clone();
    assert_eq!(entered[0].agent.as_deref(), Some("support"));
    assert_eq!(entered[0].mode.as_deref(), Some("tools"));
    assert_eq!(entered[1].agent.as_deref(), Some("sales"));
    assert_eq!(entered[1].mode.as_deref(), Some("tools"));
}
