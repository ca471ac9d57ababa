//! `search`, `describe`, `catalog estimate`, `demo` and what they print.

use std::process::Stdio;

use serde_json::Value;

use super::{Ran, World, ids, text};

#[test]
fn search_finds_a_tool_and_prints_one_document() {
    let world = World::new();
    let ran = world.run(&[
        "search", "create", "a", "GitHub", "issue", "--json", "-n", "3",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let found = ran.document();
    let hits = found["candidates"].as_array().expect("hits");
    assert!((1..=3).contains(&hits.len()));
    assert_eq!(hits[0]["id"], "native:github:create_issue");
    for field in ["source", "sourceName", "name", "description", "input"] {
        assert!(hits[0][field].is_string(), "{field}");
    }
    assert!(hits[0].get("inputSchema").is_none(), "no full schema");
    assert!(ran.err.contains("sample tools"), "{ran:?}");
}

#[test]
fn quiet_leaves_out_notes() {
    let ran = World::new().run(&["search", "invoice", "--quiet"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("id "), "a table with a heading");
    assert!(!ran.out.contains('\u{1b}'), "no colours where nobody looks");
}

#[test]
fn nothing_found_says_why() {
    let world = World::new();
    let args = ["search", "xyzzyplugh"];
    let found = world.json(&args, 0);
    assert_eq!(found["candidates"], Value::Array(Vec::new()));
    assert_eq!(found["reason"], "no_match");
    assert_eq!(world.run(&["search", "xyzzyplugh", "--fail-empty"]).code, 1);
    assert_eq!(world.json(&["search", "???"], 0)["reason"], "no_terms");
}

#[test]
fn evidence_is_given_when_asked_for() {
    let world = World::new();
    let found = world.json(&["search", "create issue", "--explain"], 0);
    assert!(found["candidates"][0]["explain"]["score"].is_number());
    let plain = world.json(&["search", "create issue"], 0);
    assert!(plain["candidates"][0].get("explain").is_none());
}

/// Three tools that fit: one says that it only reads, one that it does not, one says nothing.
#[test]
fn tools_that_only_read_are_found_and_the_others_counted() {
    let world = World::new();
    let tools = world.write(
        "finance.json",
        r#"{"tools": [
            {"name": "finance_get_capabilities", "description": "List finance features",
             "inputSchema": {"type": "object"}},
            {"name": "finance_get_quote", "description": "Get a quote",
             "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
            {"name": "finance_place_order", "description": "Place an order",
             "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": false}}
        ]}"#,
    );
    let args = [
        "search",
        "finance get",
        "--read-only",
        "--tools",
        text(&tools),
    ];
    let found = world.json(&args, 0);
    let hits = found["candidates"].as_array().expect("hits");
    assert_eq!(hits.len(), 1, "{found}");
    assert_eq!(hits[0]["name"], "finance_get_quote");
    assert_eq!(found["unsaid"], 1);
    assert!(
        world
            .run(&args)
            .err
            .contains("1 tool that fits does not say")
    );
    let settings = "{ tools: { toolSearch: { assumeReadOnly: true } } }";
    let settings = world.write("assuming.json5", settings);
    let found = world.json(&[&args[..], &["--config", text(&settings)]].concat(), 0);
    assert_eq!(found["candidates"].as_array().map(Vec::len), Some(2));
    assert_eq!(found.get("unsaid"), None);
}

#[test]
fn limits_are_checked() {
    let world = World::new();
    for limit in ["0", "-1", "many", "1.5"] {
        let ran = world.run(&["search", "issue", "--limit", limit]);
        ran.fails(2, &["--help"]);
    }
    let many = world.json(&["search", "create", "--limit", "500"], 0);
    assert_eq!(many["candidates"].as_array().expect("hits").len(), 20);
}

#[test]
fn describe_gives_the_whole_schema() {
    let world = World::new();
    for name in [
        "native:github:create_issue",
        "github.create_issue",
        "github__create_issue",
    ] {
        let tool = world.json(&["describe", name], 0);
        assert_eq!(tool["id"], "native:github:create_issue");
        assert_eq!(tool["inputSchema"]["properties"]["title"]["type"], "string");
        assert!(tool["outputSchema"].is_object());
    }
    let shown = world.json(&["catalog", "show", "native:github:create_issue"], 0);
    assert_eq!(shown["name"], "create_issue");
}

#[test]
fn unknown_ids_suggest() {
    let world = World::new();
    let args = ["describe", "native:github:create_isue"];
    let ran = world.run(&args);
    ran.fails(
        2,
        &["No tool is named", "native:github:create_issue", "next:"],
    );
    assert_eq!(ran.out, "", "nothing on standard output without --json");
    let error = world.json(&args, 2);
    assert_eq!(error["error"]["code"], "not_found");
    let near = error["error"]["suggestions"]
        .as_array()
        .expect("suggestions");
    assert!(
        near.contains(&Value::from("native:github:create_issue")),
        "{near:?}"
    );
    assert!(near.len() <= 3);
}

#[test]
fn ambiguous_names_list_the_exact_ids() {
    let world = World::new();
    world.write(
        "lists/a.tools.json",
        r#"{"tools":[{"name":"create_page"}]}"#,
    );
    world.write(
        "lists/b.tools.json",
        r#"{"tools":[{"name":"create_page"}]}"#,
    );
    let error = world.json(&["describe", "create_page", "--tools", "lists"], 2);
    assert_eq!(error["error"]["code"], "ambiguous");
    assert_eq!(
        error["error"]["suggestions"],
        serde_json::json!(["mcp:a:create_page", "mcp:b:create_page"])
    );
    let one = world.json(&["describe", "b.create_page", "--tools", "lists"], 0);
    assert_eq!(one["id"], "mcp:b:create_page");
}

#[test]
fn estimates_are_of_what_is_sent() {
    let world = World::new();
    let sizes = world.json(&["catalog", "estimate"], 0);
    let modes: Vec<&String> = sizes.as_object().expect("an object").keys().collect();
    assert_eq!(modes, ["direct", "code", "tools", "directory"]);
    let number = |mode: &str, key: &str| sizes[mode][key].as_u64().expect("a number");
    assert!(number("direct", "tools") >= 400);
    assert_eq!((number("code", "tools"), number("tools", "tools")), (1, 3));
    assert!(number("code", "tokens") < 300, "{sizes}");
    assert!(number("tools", "tokens") < 600, "{sizes}");
    assert!(number("direct", "bytes") > 100 * number("code", "bytes"));
    assert!(number("directory", "tokens") > number("tools", "tokens"));
    assert!(!world.logs().exists(), "measuring leaves no session behind");
}

#[test]
fn the_demo_shows_everything_on_one_screen() {
    let world = World::new();
    let ran = world.run(&["demo"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
    assert!(ran.out.lines().count() <= 60, "{}", ran.out);
    for part in [
        "directory",
        "Crash on startup",
        "native:github:create_issue",
        "session log",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}

#[test]
fn the_demo_as_a_document() {
    let shown = World::new().json(&["demo"], 0);
    assert!(
        shown["modes"]["code"]["tokens"].as_u64() < shown["modes"]["direct"]["tokens"].as_u64()
    );
    assert_eq!(shown["program"]["ok"], true);
    assert_eq!(
        shown["program"]["calls"][0]["id"],
        "native:github:create_issue"
    );
    assert_eq!(shown["session"]["schemasSeenAtFirst"], 1);
    assert_eq!(shown["session"]["searches"], 1);
    assert_eq!(shown["session"]["describes"], 1);
    let doors = shown["denied"]["doors"].as_array().expect("doors");
    assert_eq!(doors.len(), 4);
    assert!(
        doors.iter().all(|door| door["reveals"] == false),
        "{doors:?}"
    );
}

#[test]
fn a_closed_pipe_is_no_error() {
    let world = World::new();
    let mut command = world.command(&["catalog", "list", "--quiet"]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let ran = Ran::of(&child.wait_with_output().expect("it ends"));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[test]
fn wrong_usage_is_told() {
    let world = World::new();
    world.run::<&str>(&[]).fails(2, &["Usage"]);
    world.run(&["serach", "x"]).fails(2, &["search"]);
    world
        .run(&["search", "x", "--mode", "fast"])
        .fails(2, &["code", "tools", "directory"]);
    let ran = world.run(&["completions", "bash"]);
    assert!(ran.code == 0 && ran.out.contains("toolsearch"));
    assert!(world.run(&["--version"]).out.starts_with("toolsearch "));
}

#[test]
fn an_offline_list_may_have_bad_tools() {
    let world = World::new();
    let deep = "[".repeat(3000) + &"]".repeat(3000);
    let list = format!(
        r#"{{"tools":[{{"name":"good","inputSchema":true}},{{"name":"deep","inputSchema":{{"a":{deep}}}}},
            {{"name":"odd","inputSchema":5}},{{"noname":1}},{{"name":"last","description":null}}]}}"#
    );
    let file = world.write("odd.tools.json", &list);
    let listed = world.json(&["catalog", "list", "--tools", text(&file)], 0);
    let found = ids(&listed["tools"]);
    assert!(
        found.contains(&"mcp:odd:good") && found.contains(&"mcp:odd:last"),
        "{found:?}"
    );
    assert_eq!(
        listed["rejected"].as_array().map(Vec::len),
        Some(3),
        "{listed}"
    );
    assert_eq!(listed["servers"][0]["state"], "offline");
    world
        .run(&["search", "x", "--tools", "none.json"])
        .fails(2, &["none.json"]);
}
