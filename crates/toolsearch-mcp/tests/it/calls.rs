//! Calls: what goes out, what comes back, progress, cancellation, errors.

use super::*;
use toolsearch_invoke::Provider;

const BIG: &str = "123456789012345678901234567890";
const SNOWFLAKE: &str = "1917043659912705296";

#[tokio::test]
async fn digits_survive_both_ways() {
    let log = Log::new();
    let result = format!(
        r#"{{"content":[],"structuredContent":{{"id":{SNOWFLAKE},"big":{BIG},"one":1.0,"far":1e400}}}}"#
    );
    let steps = json!([{ "progress": { "progress": 0.5, "total": 1 } }, { "reply_text": result }]);
    let scenario = json!({ "log": log.path(), "tools": [tool("n")], "call": { "n": steps } });
    let server = server(&scenario);
    let args =
        format!(r#"{{"id":{SNOWFLAKE},"big":{BIG},"one":1.0,"far":1e400,"deep":[{{"x":{BIG}}}]}}"#);
    let heard = Arc::new(Heard::default());
    let mut invocation = invocation("n", serde_json::from_str(&args).unwrap(), PATIENCE);
    invocation.progress = Some(heard.clone());
    let outcome = server.invoke(invocation).await.unwrap();

    let structured = outcome.structured.unwrap().to_string();
    assert_eq!(
        structured,
        format!(r#"{{"id":{SNOWFLAKE},"big":{BIG},"one":1.0,"far":1e+400}}"#)
    );
    let sent = log
        .lines()
        .into_iter()
        .find(|line| line.contains("tools/call"))
        .unwrap();
    assert!(sent.contains(&args.replace("1e400", "1e+400")), "{sent}");
    assert_eq!(
        *heard.0.lock().unwrap(),
        [Progress::new(0.5, Some(1.0), None)]
    );
}

#[tokio::test]
async fn arguments_are_always_an_object() {
    let log = Log::new();
    let server = server(&with_echo(json!({ "log": log.path() }), &[]));
    assert_eq!(call_text(&server, "echo").await, "{}");
    assert_eq!(
        log.with_method("tools/call")[0]["params"]["arguments"],
        json!({})
    );
}

#[tokio::test]
async fn unknown_blocks_and_meta_pass_through() {
    let result = json!({
        "content": [{ "type": "video", "uri": "v" }, { "type": "text", "text": "ok", "later": 1 },
                    { "type": "tool_use", "id": 3 }],
        "isError": true, "_meta": { "k": [1] }, "resultType": "complete", "ttlMs": 5,
    });
    let server = server(&json!({ "tools": [tool("v")], "call": { "v": [{ "reply": result }] } }));
    let outcome = call(&server, "v", json!({})).await.unwrap();
    assert_eq!(Value::Array(outcome.content), result["content"]);
    assert!(outcome.is_error);
    assert_eq!(Value::Object(outcome.meta.unwrap()), result["_meta"]);
}

#[tokio::test]
async fn progress_arrives_in_order_and_before_the_answer() {
    let mut steps: Vec<Value> = (0..50)
        .map(|n| json!({ "progress": { "progress": n, "message": "on" } }))
        .collect();
    steps.push(json!({ "reply": text("ok") }));
    let server = server(&json!({ "tools": [tool("p")], "call": { "p": steps } }));
    let heard = Arc::new(Heard::default());
    let mut invocation = invocation("p", json!({}), PATIENCE);
    invocation.progress = Some(heard.clone());
    server.invoke(invocation).await.unwrap();
    let done: Vec<f64> = heard
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|progress| progress.done)
        .collect();
    assert_eq!(done, (0..50).map(f64::from).collect::<Vec<f64>>());
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_under_its_own_id() {
    let log = Log::new();
    let steps = json!([{ "progress": { "progress": 1 } }, { "wait": "notifications/cancelled" },
                       { "reply": text("too late") }]);
    let scenario = with_echo(
        json!({ "log": log.path(), "call": { "slow": steps } }),
        &["slow"],
    );
    let server = server(&scenario);
    server.list().await;
    let (began, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let mut slow = invocation("slow", json!({}), PATIENCE);
    slow.progress = Some(Arc::new(Tell(began)));
    tokio::select! {
        result = server.invoke(slow) => panic!("the call never ends by itself: {result:?}"),
        _ = begun.recv() => {}
    }
    // The server is still busy with the cancelled call until it reads the cancellation.
    assert_eq!(call_text(&server, "echo").await, "{}");
    let cancelled = log.with_method("notifications/cancelled");
    assert_eq!(cancelled.len(), 1);
    assert_eq!(
        cancelled[0]["params"]["requestId"],
        log.with_method("tools/call")[0]["id"]
    );
}

#[derive(Debug)]
struct Tell(tokio::sync::mpsc::UnboundedSender<()>);

impl ProgressSink for Tell {
    fn progress(&self, _: Progress) {
        let _ = self.0.send(());
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_cancelled() {
    let log = Log::new();
    let steps = json!([{ "wait": "notifications/cancelled" }, { "reply": text("too late") }]);
    let scenario = with_echo(
        json!({ "log": log.path(), "call": { "slow": steps } }),
        &["slow"],
    );
    let server = server(&scenario);
    server.list().await;
    let limit = Duration::from_millis(50);
    let error = server
        .invoke(invocation("slow", json!({}), limit))
        .await
        .unwrap_err();
    assert_eq!(error, InvokeError::Timeout(limit));
    assert_eq!(call_text(&server, "echo").await, "{}");
    assert_eq!(log.with_method("notifications/cancelled").len(), 1);

    let mut spec = spec(&with_echo(json!({ "call": { "slow": steps } }), &["slow"]));
    spec.call_timeout = Some(limit);
    let strict = McpServer::new(spec);
    strict.list().await;
    let error = call(&strict, "slow", json!({})).await.unwrap_err();
    assert_eq!(error, InvokeError::Timeout(limit));
}

#[tokio::test]
async fn errors_of_the_protocol_are_told_apart() {
    let refuse =
        json!({ "code": -32602, "message": "bad \u{1b}[31mdate\u{7}", "data": { "at": ["x"] } });
    let scenario = json!({ "tools": [tool("r")], "call": { "r": [{ "error": refuse }],
        "ask": [{ "reply": { "resultType": "input_required", "inputRequests": {} } }] } });
    let server = server(&scenario);
    let owner = "demo".to_owned();
    let reason = r#"bad date ({"at":["x"]}) [-32602]"#.to_owned();
    let refused = InvokeError::Refused {
        owner: owner.clone(),
        reason,
    };
    assert_eq!(call(&server, "r", json!({})).await, Err(refused));
    assert_eq!(
        call(&server, "nope", json!({})).await,
        Err(InvokeError::Gone { owner })
    );
    let error = call(&server, "ask", json!({})).await.unwrap_err();
    assert!(matches!(error, InvokeError::Refused { .. }), "{error}");
}

#[tokio::test]
async fn the_environment_is_inherited_and_added_to() {
    let scenario = json!({ "tools": [], "call": {
        "path": [{ "env": "PATH" }], "own": [{ "env": "DEMO_OWN" }], "home": [{ "env": "HOME" }] } });
    let spec = spec(&scenario)
        .with_env("DEMO_OWN", "own value")
        .with_env("HOME", "/elsewhere");
    let server = McpServer::new(spec);
    // A launcher may put folders of its own in front.
    assert!(
        call_text(&server, "path")
            .await
            .ends_with(&std::env::var("PATH").unwrap())
    );
    assert_eq!(call_text(&server, "own").await, "own value");
    assert_eq!(call_text(&server, "home").await, "/elsewhere");
}
