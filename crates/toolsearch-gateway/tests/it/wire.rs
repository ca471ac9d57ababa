//! The protocol on the wire: greeting, odd messages, cancellation, concurrency, the end.

use std::time::Duration;

use serde_json::{Value, json};
use toolsearch_gateway::ServeError;

use crate::world::{INLINE, NEWEST, Step, Wired, World, options, tool};

fn inline(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": INLINE,
        "io.modelcontextprotocol/clientInfo": { "name": "inline", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

#[tokio::test]
async fn known_versions_are_answered_in_kind_and_others_with_the_newest() {
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        (INLINE, NEWEST),
        ("2023-01-01", NEWEST),
        ("tomorrow", NEWEST),
    ] {
        let mut wired = Wired::raw("tools", vec![tool("echo")]);
        let answer = wired.initialize(asked).await;
        let result = &answer["result"];
        assert_eq!(result["protocolVersion"], answered, "{asked}");
        assert_eq!(result["serverInfo"]["name"], "toolsearch");
        assert_eq!(
            result["capabilities"],
            json!({ "tools": { "listChanged": true } })
        );
        assert_eq!(wired.list().await.len(), 3);
        let opened = wired.world.opened.lock().unwrap().clone();
        assert_eq!(
            (opened[0].name.as_str(), opened[0].version.as_str()),
            ("by hand", "7")
        );
        assert_eq!(opened[0].protocol, asked);
    }
}

#[tokio::test]
async fn an_odd_greeting_is_taken_and_one_without_a_version_is_refused() {
    let mut wired = Wired::raw("tools", vec![tool("echo")]);
    wired
        .write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    wired.write(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    assert_eq!(wired.ask(0, "ping", json!({})).await["result"], json!({}));
    assert_eq!(
        wired.ask(1, "initialize", json!({})).await["error"]["code"],
        -32602
    );
    assert_eq!(
        wired.ask(2, "tools/list", json!({})).await["error"]["code"],
        -32602
    );
    let odd = json!({ "protocolVersion": NEWEST, "capabilities": { "roots": 7 }, "clientInfo": 3 });
    let answer = wired.ask(3, "initialize", odd).await;
    assert_eq!(answer["result"]["protocolVersion"], NEWEST);
    assert_eq!(wired.world.opened.lock().unwrap()[0].name, "unnamed");
}

#[tokio::test]
async fn a_source_without_a_session_is_told_to_the_client() {
    let (world, steps) = World::new("tools", vec![]);
    let world = world.refusing("the policy hides every tool");
    let mut wired = Wired::over((world, steps), options());
    let answer = wired.initialize(NEWEST).await;
    assert_eq!(answer["error"]["message"], "the policy hides every tool");
    let end = wired.serving.await.unwrap();
    assert!(matches!(end, Err(ServeError::Refused(why)) if why == "the policy hides every tool"));
}

#[tokio::test]
async fn arguments_may_be_missing_and_must_be_an_object() {
    let mut wired = Wired::open("direct", vec![tool("echo")]).await;
    for (id, params) in [
        (json!(1), json!({ "name": "echo", "arguments": null })),
        (json!(2), json!({ "name": "echo" })),
        (json!("s-3"), json!({ "name": "echo", "arguments": {} })),
        (json!(4), json!({ "name": "echo", "arguments": "" })),
        (json!(5), json!({ "name": "echo", "arguments": " null " })),
    ] {
        let answer = wired.ask(id.clone(), "tools/call", params).await;
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["structuredContent"], json!({}), "{answer}");
    }
    let answer = wired
        .ask(
            6,
            "tools/call",
            json!({ "name": "echo", "arguments": "{\"a\": 1}" }),
        )
        .await;
    assert_eq!(answer["result"]["structuredContent"], json!({ "a": 1 }));
    assert_eq!(wired.received().len(), 6);
    for params in [
        json!({ "name": "echo", "arguments": [] }),
        json!({ "name": "echo", "arguments": 7 }),
        json!({ "name": "echo", "arguments": "[1]" }),
        json!({ "name": "echo", "arguments": "not JSON" }),
        json!({ "arguments": {} }),
        json!({ "name": 7 }),
        json!([]),
    ] {
        let answer = wired.ask(7, "tools/call", params.clone()).await;
        assert_eq!(answer["id"], 7);
        assert_eq!(answer["error"]["code"], -32602, "{params}");
    }
    assert_eq!(wired.received().len(), 6, "nothing was run");
}

#[tokio::test]
async fn odd_messages_are_answered_and_disturb_nobody() {
    let mut wired = Wired::open("tools", vec![tool("echo")]).await;
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let deep = format!(r#"{{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{deep}}}"#);
    for (line, id, code) in [
        ("{broken", json!(null), -32700),
        ("17", json!(null), -32600),
        ("[]", json!(null), -32600),
        (
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            json!(1.5),
            -32600,
        ),
        (
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            json!(null),
            -32600,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, json!(1), -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, json!(1), -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":3}"#,
            json!(1),
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}"#,
            json!(2),
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":3,"method":"resources/list"}"#,
            json!(3),
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":4,"method":"no/such"}"#,
            json!(4),
            -32601,
        ),
        (&deep, json!("deep"), -32602),
        (
            &format!("\"{}\"", "x".repeat(1024 * 1024)),
            json!(null),
            -32600,
        ),
    ] {
        wired.write(line).await;
        let answer = wired.next().await;
        let shown: String = line.chars().take(80).collect();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{shown}"
        );
    }
    for line in [
        "",
        "   ",
        r#"{"jsonrpc":"2.0","id":9,"result":{}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#,
    ] {
        wired.write(line).await;
    }
    wired.is_quiet().await;
    let ping = |id: u8| json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
    wired
        .write(&format!("\u{feff}{}\r", json!([ping(1), ping(2)])))
        .await;
    let mut ids = [
        wired.next().await["id"].take(),
        wired.next().await["id"].take(),
    ];
    ids.sort_by_key(ToString::to_string);
    assert_eq!(ids, [json!(1), json!(2)]);
}

#[tokio::test]
async fn a_cancelled_call_is_stopped_and_never_answered() {
    let mut wired = Wired::open("direct", vec![tool("slow"), tool("echo")]).await;
    for id in [json!("slow call"), json!(41)] {
        wired.call(id.clone(), "slow", json!({})).await;
        assert_eq!(wired.happened().await, Step::Started("slow".to_owned()));
        wired.cancel(id).await;
        assert_eq!(wired.happened().await, Step::Gone("slow".to_owned()));
        wired.is_quiet().await;
    }
    assert_eq!(
        wired.result("echo", json!({ "n": 1 })).await["isError"],
        false
    );
}

#[tokio::test]
async fn a_slow_call_blocks_nobody() {
    let mut wired = Wired::open("direct", vec![tool("slow"), tool("echo")]).await;
    wired.call("slow", "slow", json!({})).await;
    assert_eq!(wired.happened().await, Step::Started("slow".to_owned()));
    for n in 0..40 {
        wired.call(n, "echo", json!({ "n": n })).await;
    }
    for _ in 0..40 {
        let answer = wired.next().await;
        assert_eq!(answer["result"]["structuredContent"]["n"], answer["id"]);
    }
    wired.world.tools.release.notify_one();
    let answer = wired.next().await;
    assert_eq!(answer["id"], "slow");
    assert_eq!(answer["result"]["content"][0]["text"], "released");
}

#[tokio::test]
async fn calls_beyond_the_limit_wait_and_are_answered_all() {
    let mut few = options();
    few.calls = 2;
    few.open_requests = 4;
    let mut wired = Wired::over(World::new("direct", vec![tool("echo")]), few);
    wired.initialize(NEWEST).await;
    for n in 0..100 {
        wired.call(n, "echo", json!({ "n": n })).await;
    }
    let mut ids: Vec<u64> = Vec::new();
    for _ in 0..100 {
        ids.push(wired.next().await["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (0..100).collect::<Vec<_>>());
}

#[tokio::test]
async fn cancelled_requests_leave_their_room_to_others() {
    let mut few = options();
    few.open_requests = 2;
    let mut wired = Wired::over(World::new("direct", vec![tool("slow")]), few);
    wired.initialize(NEWEST).await;
    for n in 0..10 {
        wired.call(n, "slow", json!({})).await;
        assert_eq!(wired.happened().await, Step::Started("slow".to_owned()));
        wired.cancel(n).await;
        assert_eq!(wired.happened().await, Step::Gone("slow".to_owned()));
    }
    wired.is_quiet().await;
}

#[tokio::test]
async fn progress_reaches_the_client_before_the_answer() {
    let mut wired = Wired::open("tools", vec![tool("steps")]).await;
    for token in [json!("t"), json!(9)] {
        let params = json!({
            "name": "tool_call",
            "arguments": { "id": "steps" },
            "_meta": { "progressToken": token },
        });
        wired.send(5, "tools/call", params).await;
        for done in [1.0, 2.0, 3.0] {
            let report = wired.next().await;
            assert_eq!(report["method"], "notifications/progress");
            assert_eq!(report["params"]["progressToken"], token);
            assert_eq!(report["params"]["progress"].as_f64(), Some(done));
            assert_eq!(report["params"]["total"].as_f64(), Some(3.0));
            assert_eq!(report["params"]["message"], format!("step {done}"));
        }
        let answer = wired.next().await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }
}

#[tokio::test]
async fn faults_in_a_call_stay_in_that_call() {
    let tools = ["panics", "fails", "unavailable", "echo"]
        .map(tool)
        .to_vec();
    let mut wired = Wired::open("direct", tools).await;
    let panicked = wired.result("panics", json!({})).await;
    assert_eq!(panicked["isError"], true);
    assert!(
        panicked["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("fault in toolsearch")
    );
    let failed = wired.result("fails", json!({})).await;
    assert_eq!(
        (&failed["isError"], &failed["content"][0]["text"]),
        (&json!(true), &json!("it did not work"))
    );
    let unavailable = wired.result("unavailable", json!({})).await;
    assert_eq!(unavailable["isError"], true);
    assert_eq!(unavailable["_meta"]["toolsearch/error"], "unavailable");
    let unknown = wired.result("ehco", json!({})).await;
    assert_eq!(unknown["isError"], true);
    assert!(
        unknown["content"][0]["text"]
            .as_str()
            .unwrap()
            .contains("native:demo:echo")
    );
    assert_eq!(
        wired.result("echo", json!({ "a": 1 })).await["structuredContent"],
        json!({ "a": 1 })
    );
}

#[tokio::test]
async fn calls_that_run_at_the_end_of_input_are_still_answered() {
    let mut wired = Wired::open("direct", vec![tool("slow")]).await;
    wired.call("last", "slow", json!({})).await;
    assert_eq!(wired.happened().await, Step::Started("slow".to_owned()));
    wired.shut().await;
    wired.world.tools.release.notify_one();
    assert_eq!(wired.next().await["id"], "last");
    assert_eq!(wired.line().await, None);
    assert!(wired.serving.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn calls_that_do_not_end_are_dropped_some_time_after_the_end_of_input() {
    let mut wired = Wired::open("direct", vec![tool("slow")]).await;
    wired.call("last", "slow", json!({})).await;
    assert_eq!(wired.happened().await, Step::Started("slow".to_owned()));
    wired.shut().await;
    assert_eq!(wired.line().await, None);
    assert!(wired.serving.await.unwrap().is_ok());
    assert_eq!(
        wired.steps.recv().await,
        Some(Step::Gone("slow".to_owned()))
    );
}

#[tokio::test]
async fn a_client_that_vanishes_ends_the_connection() {
    let mut wired = Wired::raw("tools", vec![tool("echo")]);
    wired.shut().await;
    assert!(
        wired.serving.await.unwrap().is_ok(),
        "nothing was asked, nothing failed"
    );

    let wired = Wired::open("tools", vec![tool("echo")]).await;
    assert!(wired.vanish().await.unwrap().is_ok());
}

#[tokio::test]
async fn requests_of_2026_stand_for_themselves() {
    let mut wired = Wired::raw("tools", vec![tool("echo")]);
    let discovered = wired.ask(1, "server/discover", inline(json!({}))).await;
    let result = &discovered["result"];
    assert_eq!(result["resultType"], "complete");
    assert!(
        result["supportedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!(INLINE))
    );
    assert_eq!(
        result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"],
        "toolsearch"
    );
    assert!(
        result["instructions"]
            .as_str()
            .unwrap()
            .contains("demo (1)")
    );
    wired
        .write(r#"{"jsonrpc":"2.0","method":"notifications/anything"}"#)
        .await;

    let listed = wired
        .ask(2, "tools/list", inline(json!({ "cursor": "x" })))
        .await;
    assert_eq!(listed["result"]["resultType"], "complete");
    assert_eq!(listed["result"]["cacheScope"], "private");
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 3);

    let arguments = json!({ "id": "echo", "args": { "a": 1 } });
    let params = inline(json!({ "name": "tool_call", "arguments": arguments }));
    let called = wired.ask(3, "tools/call", params).await;
    assert_eq!(called["result"]["resultType"], "complete");
    assert_eq!(called["result"]["structuredContent"], json!({ "a": 1 }));

    let mut params = inline(json!({}));
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");
    assert_eq!(
        wired.ask(4, "tools/list", params).await["error"]["code"],
        -32022
    );
    assert_eq!(
        wired.world.opened.lock().unwrap().len(),
        1,
        "one session a connection"
    );
    assert_eq!(wired.world.opened.lock().unwrap()[0].name, "inline");

    // Words of the handshake mean nothing here.
    for (id, method) in [(5, "ping"), (6, "initialize")] {
        let mut params = inline(json!({}));
        params["protocolVersion"] = json!(INLINE);
        let answer = wired.ask(id, method, params).await;
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}

/// Answers that nobody reads must not pile up: reading stops, and goes on when the client reads.
#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_read_is_not_read_either() {
    let mut few = options();
    few.open_requests = 8;
    let mut wired = Wired::over(World::new("direct", vec![tool("echo")]), few);
    wired.initialize(NEWEST).await;
    let filler = "x".repeat(8 * 1024);
    let (mut sent, mut answered) = (0, 0);
    // Time passes only when everybody waits: for this client to read, that is.
    while sent < 400 {
        let written = wired.call(sent, "echo", json!({ "filler": filler }));
        match tokio::time::timeout(Duration::from_secs(1), written).await {
            Ok(()) => sent += 1,
            Err(_) => break,
        }
    }
    assert!(sent < 400, "every request was read though no answer was");
    let handled = wired.received().len();
    assert!(
        handled < 64,
        "{handled} calls were run for a client that reads nothing"
    );
    while answered < sent {
        let answer = wired.next().await;
        assert_eq!(answer["result"]["isError"], false);
        answered += 1;
    }
}
