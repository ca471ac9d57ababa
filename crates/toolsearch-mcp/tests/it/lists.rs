//! Reading the list: every tool by itself, every page, every change.

use super::*;
use toolsearch_catalog::{RejectedReason, Trust};
use toolsearch_invoke::{OutageKind, Provider};

#[tokio::test]
async fn fields_of_a_tool_are_taken_over() {
    let full = json!({
        "name": "create_event", "title": "Create event", "description": null,
        "inputSchema": { "type": "object", "properties": { "at": { "type": "string" } } },
        "outputSchema": { "type": "object" },
        "annotations": { "readOnlyHint": false, "destructiveHint": true, "title": "other" },
        "icons": [{ "src": "x" }], "_meta": { "k": 1 }, "later": [true],
    });
    let server = server(&json!({ "tools": [full] }));
    let listing = server.list().await;
    assert_eq!(listing.outage, None);
    assert_eq!(listing.description, "Use with care.");
    let tool = &listing.tools[0];
    assert_eq!(tool.id.as_str(), "mcp:demo:create_event");
    assert_eq!(tool.title.as_deref(), Some("Create event"));
    assert_eq!(tool.description, "");
    assert_eq!(tool.input_schema["properties"]["at"]["type"], "string");
    assert!(tool.output_schema.is_some());
    assert_eq!(tool.annotations.destructive_hint, Some(true));
    assert_eq!(tool.annotations.idempotent_hint, None);
    assert_eq!(tool.trust, Trust::Untrusted);
    let meta: Vec<&String> = tool.meta.keys().collect();
    assert_eq!(meta, ["icons", "_meta", "later"]);
    let status = server.status();
    assert_eq!(status.protocol.as_deref(), Some("2025-11-25"));
    assert_eq!(status.software.as_deref(), Some("scripted 1"));
    assert_eq!((status.tools, status.starts), (1, 1));
}

#[tokio::test]
async fn what_a_server_says_about_itself_stands_with_every_tool_in_few_words() {
    let said = |instructions: &str| {
        let software = json!({ "title": "Forge", "description": "Code\u{7} hosting" });
        let tools = json!([{ "name": "a" }, { "name": "b" }]);
        json!({ "tools": tools, "software": software, "instructions": instructions })
    };
    let listing = server(&said("\nIssues and branches. Call a first.\nMore"))
        .list()
        .await;
    for tool in &listing.tools {
        let about = tool.owner_description.as_deref();
        assert_eq!(about, Some("Forge. Code hosting. Issues and branches"));
    }
    let listing = server(&said(&"long ".repeat(300))).list().await;
    let about = listing.tools[0].owner_description.as_deref();
    assert!(about.is_some_and(|about| about.chars().count() <= 401));
}

#[tokio::test]
async fn one_bad_tool_costs_no_other() {
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let tools = format!(
        r#"{{"tools":[
            {{"name":"absent"}},
            {{"name":"null","inputSchema":null}},
            {{"name":"array","inputSchema":[]}},
            {{"name":"text","inputSchema":"object"}},
            {{"name":"never","inputSchema":false}},
            {{"name":"any","inputSchema":true}},
            {{"name":"flags","inputSchema":{{"type":"object","properties":{{"p":true,"q":false}}}}}},
            {{"name":"other_key","parameters":{{"type":"object"}}}},
            {{"description":"no name"}},
            "no object",
            {{"name":"deep","inputSchema":{{"default":{deep}}}}},
            {{"name":"last","inputSchema":{{"type":"object"}}}}
        ]}}"#
    )
    .replace('\n', " ");
    let server = server(&json!({ "on": { "tools/list": [{ "reply_text": tools }] } }));
    let listing = server.list().await;
    assert_eq!(listing.outage, None);
    assert_eq!(
        names(&listing),
        ["absent", "null", "any", "flags", "other_key", "last"]
    );
    assert_eq!(
        *listing.tools[0].input_schema,
        json!({ "type": "object", "properties": {} })
    );
    assert_eq!(listing.tools[3].input_schema["properties"]["p"], true);
    let rejected: Vec<&str> = listing
        .rejected
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    let expected = [
        "array",
        "text",
        "never",
        "tool number 9",
        "tool number 10",
        "deep",
    ];
    assert_eq!(rejected, expected);
    assert_eq!(server.status().rejected, 6);
}

#[tokio::test]
async fn every_page_is_read() {
    let cursors = ["=/a", "=/b", "=/c"];
    let page = |number: usize| -> Value {
        let tools: Vec<Value> = (0..50).map(|i| tool(&format!("t{number}_{i}"))).collect();
        json!({ "tools": tools, "nextCursor": cursors.get(number) })
    };
    let pages: Vec<Value> = (0..4).map(page).collect();
    let scenario = json!({ "pages": pages, "cursors": { "=/a": 1, "=/b": 2, "=/c": 3 } });
    let server = server(&scenario);
    let listing = server.list().await;
    assert_eq!(listing.tools.len(), 200);
    assert!(server.status().warnings.is_empty());
}

#[tokio::test]
async fn a_cursor_that_comes_back_ends_the_list() {
    let log = Log::new();
    let page = json!({ "tools": [tool("a"), tool("b"), tool("c")], "nextCursor": "p1" });
    let server = server(&json!({ "pages": [page], "log": log.path() }));
    let listing = server.list().await;
    assert_eq!(names(&listing), ["a", "b", "c"]);
    assert_eq!(listing.rejected, []);
    assert_eq!(log.with_method("tools/list").len(), 2);
    let warnings = server.status().warnings;
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains("cursor came twice")),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn a_later_page_that_fails_keeps_the_earlier_ones() {
    let scenario = json!({ "pages": [{ "tools": [tool("a")], "nextCursor": "x" }],
        "on": { "tools/list": [{ "reply": { "tools": [tool("a")], "nextCursor": "x" } },
                               { "wait": "tools/list" }, { "exit": 4 }] } });
    let listing = server(&scenario).list().await;
    let outage = listing.outage.expect("the server is gone");
    assert!(outage.reason.contains("exited (4)"), "{}", outage.reason);
    let log = Log::new();
    let scenario = json!({ "log": log.path(), "pages": [
        { "tools": [tool("a")], "nextCursor": "x" }, { "no": "tools" }], "cursors": { "x": 1 } });
    let server = server(&scenario);
    assert_eq!(names(&server.list().await), ["a"]);
    assert_eq!(
        server.status().warnings,
        ["a page of the tool list has no `tools` array"]
    );
}

#[tokio::test]
async fn a_name_that_comes_twice_is_reported() {
    let other = json!({ "name": "a", "description": "another" });
    let server = server(&json!({ "tools": [tool("a"), other, tool("a"), tool("b")] }));
    let listing = server.list().await;
    assert_eq!(names(&listing), ["a", "b"]);
    assert_eq!(listing.rejected.len(), 1);
    assert!(matches!(
        listing.rejected[0].reason,
        RejectedReason::DuplicateId(_)
    ));
    assert_eq!(server.status().warnings, ["the tool `a` came twice"]);
}

#[tokio::test]
async fn filters_and_app_only_tools_are_left_out() {
    let app = json!({ "name": "redraw", "_meta": { "ui": { "visibility": ["app"] } } });
    let both = json!({ "name": "show", "_meta": { "ui": { "visibility": ["app", "model"] } } });
    let mut spec =
        spec(&json!({ "tools": [tool("read"), tool("read_all"), tool("write"), app, both] }));
    spec.tools.exclude = vec!["w*".to_owned(), "*_all".to_owned()];
    let server = McpServer::new(spec);
    let listing = server.list().await;
    assert_eq!(names(&listing), ["read", "show"]);
    assert_eq!(listing.rejected, []);
    let refused = call(&server, "write", json!({})).await.unwrap_err();
    assert!(matches!(refused, InvokeError::Gone { .. }), "{refused}");
}

#[tokio::test]
async fn tools_that_appear_after_the_handshake_are_found() {
    let more = json!([tool("a"), tool("b"), tool("late")]);
    let first = json!([{ "reply": { "tools": [tool("a"), tool("b")] } }, { "change": 1 }]);
    let server = server(&json!({ "tools": more, "once": { "tools/list": first } }));
    let mut changed = server.changed();
    assert_eq!(names(&server.list().await), ["a", "b"]);
    changed.wait_for(|count| *count >= 2).await.unwrap();
    assert_eq!(names(&server.list().await), ["a", "b", "late"]);
}

#[tokio::test]
async fn a_storm_of_changes_leads_to_one_new_list() {
    let log = Log::new();
    let scenario = with_echo(
        json!({ "log": log.path(), "call": { "storm": [{ "change": 200 }, { "reply": text("ok") }] } }),
        &["storm"],
    );
    let server = server(&scenario);
    server.list().await;
    let before = *server.changed().borrow();
    assert_eq!(call_text(&server, "storm").await, "ok");
    // This list waits for the one that the storm set off.
    server.list().await;
    assert!(log.with_method("tools/list").len() <= 3);
    assert!(log.with_method("tools/list").len() >= 2);
    assert_eq!(
        *server.changed().borrow(),
        before,
        "the list is the same as before"
    );
}

#[tokio::test]
async fn a_slow_server_is_reported_as_starting_and_joins_later() {
    let gate = Log::new();
    // The server holds its greeting back until the test has seen that it is late.
    let script = format!(
        "while [ ! -e '{0}' ]; do read -t 1 x < /dev/null; done; exec python3 \"$@\"",
        gate.path().display()
    );
    let mut spec = spec(&json!({ "tools": [tool("a")] }));
    let toolsearch_mcp::Endpoint::Stdio(command) = &mut spec.endpoint else {
        unreachable!()
    };
    command
        .args
        .splice(0..0, ["-c".to_owned(), script, "sh".to_owned()]);
    command.command = "bash".to_owned();
    let server = McpServer::new(spec);
    let mut changed = server.changed();
    let listing = server.list_within(Duration::from_millis(1)).await;
    let outage = listing.outage.expect("not ready yet");
    assert_eq!(outage.kind, OutageKind::Starting);
    std::fs::write(gate.path(), "").unwrap();
    changed.changed().await.unwrap();
    assert_eq!(names(&server.list_within(PATIENCE).await), ["a"]);
    assert_eq!(server.status().starts, 1);
}
