//! Command hooks of the configuration, and the example plugin: real processes on the way of a call.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::{World, text};

const CREATE: &str = "native:github:create_issue";

/// A world with one hook before and one after calls; `more` stands beside their commands.
fn world(before: &str, after: &str, more: &str) -> World {
    let world = World::new();
    world.write("hooks/before.sh", before);
    world.write("hooks/after.sh", after);
    world.write(
        "toolsearch.json5",
        &format!(
            r#"{{ hooks: {{
              before_tool_call: [{{ name: "guard", command: "sh", args: ["hooks/before.sh"], {more} }}],
              after_tool_call: [{{ name: "redactor", command: "sh", args: ["hooks/after.sh"], {more} }}],
            }} }}"#
        ),
    );
    world
}

#[test]
fn a_hook_that_blocks_or_fails_keeps_the_call_from_running() {
    for (script, words) in [
        (
            "echo 'not on Sundays' >&2; exit 2",
            &["guard", "not on Sundays"][..],
        ),
        ("exit 1", &["guard", "exit code 1"]),
        ("echo yes", &["guard", "not JSON"]),
        ("sleep 600", &["guard", "no answer after 300 ms"]),
    ] {
        let more = if script.starts_with("sleep") {
            "timeoutMs: 300"
        } else {
            ""
        };
        let world = world(script, "touch after-ran", more);
        let ran = world.run(&["call", CREATE, "title=x"]);
        ran.fails(3, words);
        assert!(!world.path("after-ran").exists(), "{script}: it ran");
    }
}

#[test]
fn a_hook_that_fails_is_passed_over_only_where_the_file_says_so() {
    let open = world("exit 1", "exit 1", r#"onFailure: "open""#);
    assert_eq!(open.run(&["call", CREATE, "title=x"]).code, 0);
    let blocked = world("exit 2", "exit 1", r#"onFailure: "open""#);
    assert_eq!(blocked.run(&["call", CREATE, "title=x"]).code, 3);
}

#[test]
fn changed_arguments_are_validated_again() {
    let world = world(r#"echo '{"args": {"title": "changed"}}'"#, "", "");
    let called = world.json(&["call", CREATE, "title=x"], 0);
    assert_eq!(called["result"]["structuredContent"]["title"], "changed");
    world.write("hooks/before.sh", r#"echo '{"args": {"label": 7}}'"#);
    world
        .run(&["call", CREATE, "title=x"])
        .fails(2, &["title", "do not fit"]);
}

#[test]
fn a_hook_that_asks_has_nobody_to_ask_here() {
    let world = world(
        r#"echo '{"decision": "ask", "reason": "odd hour"}'"#,
        "touch after-ran",
        "",
    );
    let ran = world.run(&["call", CREATE, "title=x"]);
    ran.fails(3, &["approved"]);
    assert!(!world.path("after-ran").exists());
}

#[test]
fn a_result_is_replaced_or_withheld() {
    let replaced = r#"echo '{"result": {"content": [{"type": "text", "text": "redacted"}]}}'"#;
    let world = world("", replaced, "");
    let called = world.json(&["call", CREATE, "title=secret"], 0);
    assert!(!called.to_string().contains("secret"), "{called}");
    assert_eq!(called["result"]["content"][0]["text"], "redacted");
    world.write("hooks/after.sh", "echo 'holds a card' >&2; exit 2");
    world
        .run(&["call", CREATE, "title=x"])
        .fails(3, &["redactor", "withheld", "holds a card"]);
}

#[test]
fn matchers_are_globs_and_groups_over_ids() {
    for (matcher, code) in [
        (r#"["native:github:create_*"]"#, 3),
        (r#"["group:vcs"]"#, 3),
        (r#"["native:slack:*", "get_*"]"#, 0),
        ("[]", 3),
    ] {
        let world = world("exit 2", "", &format!("matcher: {matcher}"));
        let ran = world.run(&["call", CREATE, "title=x"]);
        assert_eq!(ran.code, code, "{matcher}: {ran:?}");
    }
    let unknown = world("exit 2", "", r#"matcher: ["group:nope"]"#);
    unknown
        .run(&["call", CREATE, "title=x"])
        .fails(2, &["guard", "group:nope"]);
}

#[test]
fn calls_of_a_program_pass_the_same_hooks() {
    let world = world("cat >> seen; echo 'no' >&2; exit 2", "", "");
    let program = world.write(
        "p.js",
        r#"try { await tools.call("native:github:create_issue", {title: "x"}); return "ran"; }
           catch (error) { return error.message; }"#,
    );
    let ran = world.json(&["run", text(&program)], 0);
    let said = ran["value"].as_str().expect("a text");
    assert!(said.contains("guard"), "{said}");
    let seen: serde_json::Value = serde_json::from_str(&world.read("seen")).expect("one call");
    assert_eq!(seen["tool"]["id"], CREATE);
    assert_eq!(seen["args"], json!({ "title": "x" }));
    assert!(seen["parent"].is_string(), "{seen}");
}

/// A world whose only tools are those of the example plugin.
fn weather() -> World {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/plugins/*");
    let world = World::new();
    let config = json!({ "plugins": [examples] });
    world.write("toolsearch.json5", &config.to_string());
    world
}

#[test]
fn the_example_plugin_is_found_described_and_called() {
    let world = weather();
    let found = world.json(&["search", "weather forecast"], 0);
    assert!(
        found.to_string().contains("plugin:weather:forecast"),
        "{found}"
    );
    let places = world.json(&["call", "plugin:weather:places"], 0);
    let places = &places["result"]["structuredContent"]["places"];
    assert_eq!(places, &json!(["Harbour", "Highmoor", "Saltmarsh"]));
    let forecast = |days: &str| {
        let args = ["call", "plugin:weather:forecast", "place=Harbour", days];
        world.json(&args, 0)["result"]["structuredContent"].clone()
    };
    let two = forecast("days=2");
    assert_eq!(two["days"].as_array().map(Vec::len), Some(2), "{two}");
    assert_eq!(two, forecast("days=2"), "the same for everybody");
    let nowhere = world.run(&["call", "plugin:weather:forecast", "place=Nowhere"]);
    assert_eq!(nowhere.code, 1, "{nowhere:?}");
    let told = format!("{}{}", nowhere.out, nowhere.err);
    assert!(told.contains("Saltmarsh"), "{told}");
    world
        .run(&["call", "plugin:weather:forecast", "place=Harbour", "days=9"])
        .fails(2, &["days"]);
}

#[test]
fn the_example_plugin_sees_the_variables_it_asks_for() {
    let world = weather();
    let args = ["call", "plugin:weather:report", "place=Harbour", "sky=rain"];
    let unset = world.run(&args);
    assert_eq!(unset.code, 1, "{unset:?}");
    let reports = world.path("reports");
    let output = world
        .command(&args)
        .env("WEATHER_REPORTS", &reports)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    let noted = fs::read_to_string(reports).expect("a report");
    assert!(noted.contains("rain"), "{noted}");
}
