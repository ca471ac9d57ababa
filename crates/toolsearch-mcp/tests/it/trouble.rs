//! Servers that print junk, die, hang, refuse to end, or leak.

use super::*;
use toolsearch_invoke::{OutageKind, Provider};
use toolsearch_mcp::{ServerState, ToolFilter};

#[tokio::test]
async fn junk_on_standard_output_is_skipped_and_counted() {
    let banner = "Demo server v1.2 starting...\n\n✓ ready 🚀\n{\"level\":\"info\",\"method\":\"GET\"}\n[1,2]\n";
    let scenario = json!({
        "tools": [tool("a"), tool("b"), tool("c")],
        "start": [{ "raw": banner }],
        "call": { "a": [{ "raw": "Request: GET /x\r\n{broken json\n" }, { "reply": text("ok") }] },
    });
    let server = server(&scenario);
    assert_eq!(server.list().await.tools.len(), 3);
    assert_eq!(call_text(&server, "a").await, "ok");
    let status = server.status();
    assert_eq!((status.junk_lines, status.starts), (6, 1));
    assert_eq!(status.junk[1], "✓ ready 🚀");
}

#[tokio::test]
async fn long_answers_in_odd_pieces_arrive_whole() {
    let long = "ä".repeat(1_000_000);
    let scenario = json!({ "tools": [tool("long")], "call": {
        "long": [{ "reply_chunked": { "result": text("x"), "sizes": [1] } }],
        "huge": [{ "reply_chunked": { "result": { "content": [{ "type": "text", "text": "HUGE" }] },
                                      "sizes": [7, 4093, 65537] } }],
        "last": [{ "reply_unended": text("the end") }, { "exit": 0 }],
    } });
    // The scenario is an argument of the process and so cannot hold a megabyte itself.
    let mut spec = spec(&scenario);
    let toolsearch_mcp::Endpoint::Stdio(command) = &mut spec.endpoint else {
        unreachable!()
    };
    let code = "import sys; sys.path.insert(0, sys.argv.pop(1)); import scripted, json\n\
                s = json.loads(sys.argv[2]); s['call']['huge'][0]['reply_chunked']['result']\
                ['content'][0]['text'] = 'ä' * 1000000; scripted.Server(s).run()";
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    command.args.splice(
        0..0,
        [
            "-c".to_owned(),
            code.to_owned(),
            folder.display().to_string(),
        ],
    );
    let server = McpServer::new(spec);
    assert_eq!(call_text(&server, "long").await, "x");
    assert_eq!(call_text(&server, "huge").await, long);
    assert_eq!(call_text(&server, "last").await, "the end");
}

#[tokio::test]
async fn a_server_that_dies_fails_its_call_and_comes_back() {
    let die = json!([{ "stderr": "first\nout of paper\n" }, { "exit": 3 }]);
    let server = server(&with_echo(json!({ "call": { "die": die } }), &["die"]));
    server.list().await;
    let error = call(&server, "die", json!({})).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("server demo exited (3)"), "{text}");
    assert!(text.contains("out of paper"), "{text}");
    let status = server.status();
    assert_eq!(
        (status.state, status.exit.as_deref()),
        (ServerState::Failed, Some("exited (3)"))
    );
    assert_eq!(call_text(&server, "echo").await, "{}");
    assert_eq!(server.status().starts, 2);
    assert_eq!(server.list().await.outage, None);
}

#[tokio::test]
async fn a_server_that_keeps_dying_is_left_alone_for_a_while() {
    let scenario = with_echo(json!({ "call": { "die": [{ "exit": 3 }] } }), &["die"]);
    let server = server(&scenario);
    server.list().await;
    call(&server, "die", json!({})).await.unwrap_err();
    call(&server, "die", json!({})).await.unwrap_err();
    let starts = server.status().starts;
    let error = call(&server, "die", json!({}))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("next attempt in"), "{error}");
    assert_eq!(server.status().starts, starts);
    let listing = server.list().await;
    assert_eq!(names(&listing), ["echo", "die"]);
    assert!(listing.tools.iter().all(|tool| tool.stale));
    assert_eq!(
        listing.outage.map(|outage| outage.kind),
        Some(OutageKind::Failed)
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_is_an_outage() {
    let server = McpServer::new(ServerSpec::stdio("none", "no-such-program-here", [""; 0]));
    let outage = server.list().await.outage.expect("nothing to start");
    assert_eq!(
        (outage.owner.as_str(), outage.kind),
        ("none", OutageKind::Failed)
    );
    assert!(
        outage.reason.contains("no-such-program-here"),
        "{}",
        outage.reason
    );
    let error = call(&server, "x", json!({})).await.unwrap_err();
    assert!(matches!(error, InvokeError::Unavailable { .. }), "{error}");
    assert_eq!(server.status().state, ServerState::Failed);
}

#[tokio::test]
async fn a_server_that_dies_while_starting_tells_why() {
    let scenario = json!({ "start": [{ "stderr": "usage: demo --config FILE\n" }, { "exit": 2 }] });
    let outage = server(&scenario).list().await.outage.expect("it ended");
    assert!(
        outage
            .reason
            .contains("exited (2); stderr: usage: demo --config FILE"),
        "{}",
        outage.reason
    );
}

#[tokio::test]
async fn a_server_that_never_answers_fails_after_its_limit() {
    let mut silent = spec(&json!({ "mute_on": "initialize", "start": [{ "raw": "Listening\n" }] }));
    silent.start_timeout = Duration::from_millis(700);
    let server = McpServer::new(silent);
    let outage = server.list().await.outage.expect("it is silent");
    assert_eq!(outage.kind, OutageKind::Failed);
    assert!(
        outage.reason.contains("no answer to initialize within"),
        "{}",
        outage.reason
    );

    let mut listless = spec(&json!({ "mute_on": "tools/list" }));
    listless.list_timeout = Duration::from_millis(100);
    let server = McpServer::new(listless);
    let outage = server.list().await.outage.expect("it does not list");
    assert!(
        outage.reason.contains("tools/list was not answered"),
        "{}",
        outage.reason
    );
}

#[tokio::test]
async fn a_start_that_failed_is_tried_again_without_being_asked() {
    let mark = Log::new();
    let first = json!({ "start": [{ "stderr": "network is down\n" }, { "exit": 1 }] });
    let server = server(&json!({ "mark": mark.path(), "first": first, "tools": [tool("a")] }));
    let mut changed = server.changed();
    let outage = server.list().await.outage.expect("the first start fails");
    assert!(
        outage.reason.contains("network is down"),
        "{}",
        outage.reason
    );
    assert!(
        outage.reason.contains("next attempt in"),
        "{}",
        outage.reason
    );
    changed.changed().await.unwrap();
    assert_eq!(names(&server.list().await), ["a"]);
    assert_eq!(server.status().starts, 2);
}

#[tokio::test]
async fn nothing_is_left_after_shutdown() {
    let scenario =
        json!({ "deaf": true, "tools": [tool("child")], "call": { "child": [{ "child": 1 }] } });
    let mut spec = spec(&scenario);
    let toolsearch_mcp::Endpoint::Stdio(command) = &mut spec.endpoint else {
        unreachable!()
    };
    command.args.splice(
        0..0,
        [
            "-c".to_owned(),
            "exec 3<&0; python3 \"$@\" <&3 & wait".to_owned(),
            "sh".to_owned(),
        ],
    );
    command.command = "sh".to_owned();
    let server = McpServer::new(spec);
    let grandchild: u32 = call_text(&server, "child").await.parse().unwrap();
    let leader = server.status().pid.unwrap();
    assert!(is_alive(grandchild) && is_alive(leader));
    server.shutdown().await;
    assert!(!is_alive(leader), "the leader is left");
    assert!(!is_alive(grandchild), "a grandchild is left");
    let error = call(&server, "child", json!({}))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("shut down"), "{error}");
}

/// Whether a process runs; one that only waits to be collected does not.
fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit(") ")
        .next()
        .and_then(|rest| rest.chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

#[tokio::test]
async fn dropping_a_server_ends_it() {
    let server = server(&with_echo(json!({}), &[]));
    server.list().await;
    let pid = server.status().pid.unwrap();
    drop(server);
    while is_alive(pid) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn secrets_do_not_show() {
    let leak = "token is s3cr3t-value here\n";
    let scenario = json!({
        "start": [{ "raw": leak }, { "stderr": leak }],
        "call": { "x": [{ "error": { "code": 1, "message": leak, "data": leak } }],
                  "die": [{ "stderr": leak }, { "exit": 1 }] },
    });
    let spec = spec(&scenario).with_env("TOKEN", "s3cr3t-value");
    assert!(!format!("{spec:?}").contains("s3cr3t"));
    let server = McpServer::new(spec);
    let mut seen = vec![format!("{:?}", server.list().await)];
    seen.push(call(&server, "x", json!({})).await.unwrap_err().to_string());
    seen.push(
        call(&server, "die", json!({}))
            .await
            .unwrap_err()
            .to_string(),
    );
    seen.push(format!("{:?} {server:?}", server.status()));
    assert!(seen[1].contains("token is [redacted] here"), "{}", seen[1]);
    assert!(seen[3].contains("token is [redacted] here"), "{}", seen[3]);
    assert!(!seen.join("\n").contains("s3cr3t"), "{seen:?}");
}

#[test]
fn filters_match_globs() {
    let filter = |include: &[&str], exclude: &[&str]| {
        let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        ToolFilter::new(own(include), own(exclude))
    };
    for (include, exclude, name, accepted) in [
        (&[][..], &[][..], "anything", true),
        (&["read*"][..], &[][..], "read_file", true),
        (&["read*"][..], &[][..], "write", false),
        (&["*"][..], &["*_all"][..], "read_all", false),
        (&["r?ad"][..], &[][..], "read", true),
        (&["a*b*c"][..], &[][..], "a_b_b_c", true),
        (&["a*b*c"][..], &[][..], "a_b_b_d", false),
        (&["é*"][..], &[][..], "école", true),
    ] {
        let verdict = filter(include, exclude).accepts(name);
        assert_eq!(verdict, accepted, "{include:?} {exclude:?} {name}");
    }
}
