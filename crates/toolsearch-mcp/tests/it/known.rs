//! What is known without asking, what is asked only once, and how starts share a machine.

use super::*;
use toolsearch_invoke::{OutageKind, Provider};
use toolsearch_mcp::{ServerState, StartLimit};

fn cached(scenario: &Value, folder: &Path) -> Arc<McpServer> {
    let mut spec = spec(scenario);
    spec.cache = Some(folder.to_owned());
    McpServer::new(spec)
}

#[tokio::test]
async fn a_list_is_asked_for_once_however_often_it_is_wanted() {
    let log = Log::new();
    let server = server(&with_echo(json!({ "log": log.path() }), &[]));
    for _ in 0..5 {
        server.list().await;
        server.list_within(Duration::ZERO).await;
        call_text(&server, "echo").await;
        assert!(server.list_cached().await.is_some());
    }
    assert_eq!(log.with_method("tools/list").len(), 1);
    assert_eq!(log.with_method("initialize").len(), 1);
}

#[tokio::test]
async fn the_tools_of_an_earlier_process_are_known_before_a_server_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = spec(&with_echo(json!({}), &["more"]));
    first.cache = Some(folder.path().to_owned());
    let server = McpServer::new(first.clone());
    assert!(server.list_cached().await.is_none());
    let live = server.list().await;
    assert!(live.tools.iter().all(|tool| !tool.stale));
    // The file is written beside; ending the server does not wait for it.
    let path = loop {
        let written = std::fs::read_dir(folder.path()).unwrap().flatten();
        let done = written
            .map(|file| file.path())
            .find(|path| path.extension().is_some_and(|end| end == "json"));
        match done {
            Some(path) => break path,
            None => tokio::task::yield_now().await,
        }
    };
    server.shutdown().await;

    let next = McpServer::new(first.clone());
    let known = next.list_cached().await.expect("kept on disk");
    assert_eq!(names(&known), ["echo", "more"]);
    assert!(known.tools.iter().all(|tool| tool.stale));
    assert_eq!(known.description, live.description);
    assert_eq!(
        (next.status().state, next.status().starts),
        (ServerState::Stopped, 0)
    );
    assert!(next.status().stale && next.status().listed_at_ms.is_some());
    // The start goes on; until it is over, the tools stand beside the outage.
    let mut changed = next.changed();
    let early = next.list_within(Duration::ZERO).await;
    assert_eq!(
        early.outage.map(|outage| outage.kind),
        Some(OutageKind::Starting)
    );
    assert_eq!(names(&known), ["echo", "more"]);
    changed.changed().await.unwrap();
    let fresh = next.list().await;
    assert!(fresh.tools.iter().all(|tool| !tool.stale));
    assert!(!next.status().stale);

    // Other settings narrow what was kept; another command makes it another server's.
    let mut narrow = first.clone();
    narrow.tools = toolsearch_mcp::ToolFilter::new(Vec::new(), vec!["more".to_owned()]);
    assert_eq!(
        names(&McpServer::new(narrow).list_cached().await.unwrap()),
        ["echo"]
    );
    let other = cached(&json!({ "tools": [] }), folder.path());
    assert!(other.list_cached().await.is_none());
    let aside = tempfile::tempdir().unwrap();
    let mut beside = first;
    beside.cache = Some(aside.path().to_owned());
    let path = aside.path().join(path.file_name().unwrap());
    for broken in ["{", "{\"format\": 1}", "[]"] {
        std::fs::write(&path, broken).unwrap();
        let known = McpServer::new(beside.clone()).list_cached().await;
        assert!(known.is_none(), "{broken}");
    }
}

#[tokio::test]
async fn the_tools_of_a_server_that_cannot_be_started_are_still_known() {
    let folder = tempfile::tempdir().unwrap();
    let mark = Log::new();
    let scenario = json!({ "mark": mark.path(), "first": with_echo(json!({}), &[]),
                           "start": [{ "exit": 4 }] });
    let server = cached(&scenario, folder.path());
    server.list().await;
    while std::fs::read_dir(folder.path())
        .unwrap()
        .flatten()
        .all(|file| file.path().extension().is_none_or(|end| end != "json"))
    {
        tokio::task::yield_now().await;
    }
    server.shutdown().await;
    let listing = cached(&scenario, folder.path()).list().await;
    assert_eq!(names(&listing), ["echo"]);
    assert!(listing.tools[0].stale);
    assert!(listing.outage.unwrap().reason.contains("exited (4)"));
}

#[tokio::test]
async fn servers_that_hang_do_not_use_up_the_starts() {
    let limit = StartLimit::new(1);
    let limited = |scenario: &Value| {
        let mut spec = spec(scenario);
        spec.start_limit = Some(limit.clone());
        spec.start_timeout = Duration::from_mins(10);
        McpServer::new(spec)
    };
    let mute = json!({ "mute_on": "initialize" });
    let (first, second) = (limited(&mute), limited(&mute));
    for mute in [&first, &second] {
        let listing = mute.list_within(Duration::ZERO).await;
        assert_eq!(
            listing.outage.map(|outage| outage.kind),
            Some(OutageKind::Starting)
        );
    }
    // A call does not wait for a turn, and a list gets one while the others still hang.
    assert_eq!(
        call_text(&limited(&with_echo(json!({}), &[])), "echo").await,
        "{}"
    );
    assert_eq!(
        names(&limited(&with_echo(json!({}), &[])).list().await),
        ["echo"]
    );
    for mute in [first, second] {
        assert_eq!(mute.status().state, ServerState::Starting);
    }
}

#[tokio::test]
async fn a_server_that_answers_no_call_is_left_alone_and_another_is_not() {
    let mut mute = spec(&json!({ "tools": [tool("x")], "mute_on": "tools/call" }));
    mute.call_timeout = Some(Duration::from_millis(50));
    let (mute, healthy) = (McpServer::new(mute), server(&with_echo(json!({}), &[])));
    mute.list().await;
    for _ in 0..4 {
        let error = call(&mute, "x", json!({})).await.unwrap_err();
        assert!(matches!(error, InvokeError::Timeout(_)), "{error}");
        call_text(&healthy, "echo").await;
    }
    let error = call(&mute, "x", json!({})).await.unwrap_err().to_string();
    assert!(
        error.contains("has not answered for a while; next attempt in"),
        "{error}"
    );
    let status = mute.status();
    assert_eq!(status.state, ServerState::Failed);
    assert!(status.last_error_at_ms.is_some());
}
