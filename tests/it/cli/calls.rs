//! `call` and `run`: arguments, results, exit codes.

use serde_json::{Value, json};

use super::World;

#[test]
fn pairs_are_read_as_the_schema_says() {
    let world = World::new();
    let called = world.json(
        &[
            "call",
            "github.create_issue",
            "title=2024",
            "labels=bug",
            "labels=ui",
        ],
        0,
    );
    for (key, value) in [
        ("id", "native:github:create_issue"),
        ("name", "create_issue"),
        ("source", "native"),
    ] {
        assert_eq!(called["tool"][key], value);
    }
    let result = &called["result"];
    assert_eq!(result["isError"], false);
    assert_eq!(result["structuredContent"]["title"], "2024");
    assert_eq!(result["structuredContent"]["labels"], json!(["bug", "ui"]));
    assert_eq!(result["content"][0]["type"], "text");
}

#[test]
fn arguments_come_from_anywhere() {
    let world = World::new();
    let title = |called: &Value| called["result"]["structuredContent"]["title"].clone();
    let id = "native:github:create_issue";
    let called = world.json(&["call", id, "--args", r#"{"title":"a"}"#], 0);
    assert_eq!(title(&called), "a");
    let file = world.write("args.json", r#"{"title":"b"}"#);
    let called = world.json(&["call", id, "--args", &format!("@{}", file.display())], 0);
    assert_eq!(title(&called), "b");
    let ran = world.feed(&["call", id, "--json", "--args", "-"], r#"{"title":"c"}"#);
    assert_eq!(title(&ran.document()), "c");
    let called = world.json(&["call", id, "title:=\"d\""], 0);
    assert_eq!(title(&called), "d");
}

#[test]
fn wrong_arguments_are_named() {
    let world = World::new();
    let id = "native:github:create_issue";
    world.run(&["call", id]).fails(2, &["title", "next:"]);
    world.run(&["call", id, "title"]).fails(2, &["key=value"]);
    world
        .run(&["call", id, "--args", "{"])
        .fails(2, &["--args is not JSON"]);
    world
        .run(&["call", id, "--args", "[1]"])
        .fails(2, &["JSON object"]);
    let error = world.json(&["call", id, "titel=x"], 2);
    assert_eq!(error["error"]["code"], "invalid_arguments");
}

#[test]
fn a_tool_that_fails_is_a_result_and_exit_code_one() {
    let world = World::new();
    let called = world.json(&["call", "native:github:get_issue", "issue_id=ISS-0"], 1);
    assert_eq!(called["result"]["isError"], true);
    assert_eq!(called["tool"]["id"], "native:github:get_issue");
}

#[test]
fn offline_tools_cannot_be_called() {
    let world = World::new();
    world.write("git.tools.json", r#"{"tools":[{"name":"log"}]}"#);
    let ran = world.run(&["call", "mcp:git:log", "--tools", "git.tools.json"]);
    ran.fails(4, &["Nothing here runs", "next:"]);
}

#[test]
fn a_call_that_needs_consent_is_denied_where_nobody_can_be_asked() {
    let world = World::with_config(r#"{ tools: { ask: ["native:github:*"] } }"#);
    let error = world.json(&["call", "native:github:create_issue", "title=x"], 3);
    assert_eq!(error["error"]["code"], "approval_denied");
    let program = world.write(
        "p.js",
        "return tools.call('native:github:create_issue', {title: 'x'})",
    );
    let ran = world.run(&["run", super::text(&program), "--json"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(ran.document()["error"]["code"], "approval_denied");
}

#[test]
fn a_program_searches_describes_and_calls() {
    let world = World::new();
    let program = r#"
        const hits = await openclaw.tools.search("create a GitHub issue");
        const tool = await openclaw.tools.describe(hits[0].id);
        console.log(tool.id);
        return await openclaw.tools.call(tool.id, { title: "Crash on startup", body: "Steps" });
    "#;
    let ran = world.feed(&["run", "--json"], program);
    assert_eq!(ran.code, 0, "{ran:?}");
    let done = ran.document();
    assert_eq!(done["ok"], true);
    assert_eq!(
        done["value"]["result"]["structuredContent"]["title"],
        "Crash on startup"
    );
    assert_eq!(done["logs"].as_array().map(Vec::len), Some(1));
    let call = json!({ "id": "native:github:create_issue", "source": "native", "ok": true });
    assert_eq!(done["calls"], json!([call]));
    assert_eq!(done["telemetry"]["engine"], "quickjs");
}

#[test]
fn a_program_that_fails_says_where() {
    let world = World::new();
    let ran = world.feed(
        &["run", "-", "--json"],
        "const a = 1;\nthrow new TypeError('boom');",
    );
    assert_eq!(ran.code, 1);
    let done = ran.document();
    assert_eq!(
        (&done["ok"], &done["error"]["code"]),
        (&json!(false), &json!("guest_error"))
    );
    assert_eq!(
        (&done["error"]["name"], &done["error"]["line"]),
        (&json!("TypeError"), &json!(2))
    );
    let ran = world.feed(&["run"], "return (");
    ran.fails(1, &["SyntaxError"]);
    assert_eq!(ran.out, "");
    world.run(&["run", "nothing.js"]).fails(2, &["nothing.js"]);
}

#[test]
fn a_result_is_given_whole() {
    let world = World::new();
    let long = "x".repeat(60_000);
    let file = world.write(
        "args.json",
        &json!({ "title": "t", "body": long }).to_string(),
    );
    let args = format!("@{}", file.display());
    let called = world.json(&["call", "native:github:create_issue", "--args", &args], 0);
    assert_eq!(
        called["result"]["structuredContent"]["body"]
            .as_str()
            .map(str::len),
        Some(60_000)
    );
}
