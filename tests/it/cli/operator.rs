//! Servers added, tried and removed from the shell; `doctor` and `preflight`, which say why a tool is
//! missing.

use serde_json::{Value, json};

use super::{World, text};

/// Adds a scripted server that lists `create_issue` and `delete_repo`.
fn add(world: &World, name: &str, further: &[&str]) {
    let tool = |name: &str| json!({ "name": name, "inputSchema": { "type": "object" } });
    let tools = json!({ "tools": [tool("create_issue"), tool("delete_repo")], "results": {} });
    let scenario = world.write(&format!("{name}.scenario"), &tools.to_string());
    let log = world.path(&format!("{name}.log"));
    let server = env!("CARGO_BIN_EXE_scripted-server");
    let mut args = vec!["mcp", "add", name];
    args.extend(further);
    args.extend(["--", server, text(&scenario), text(&log)]);
    let ran = world.run(&args);
    assert_eq!(ran.code, 0, "{ran:?}");
}

fn world() -> World {
    let world = World::with_config("{\n  // kept\n  tools: { deny: ['mcp:*:delete_*'] },\n}\n");
    add(&world, "tracker", &[]);
    world
}

fn line<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    let lines = list.as_array().expect("a list");
    let mut found = lines.iter().filter(|line| line[key] == name);
    found
        .next()
        .unwrap_or_else(|| panic!("{name} is missing: {list}"))
}

#[test]
fn a_server_is_added_tried_and_removed() {
    let world = world();
    let file = world.read("toolsearch.json5");
    assert!(file.contains("// kept"), "{file}");
    let listed = world.json(&["mcp", "list"], 0);
    let tracker = line(&listed["servers"], "name", "tracker");
    assert_eq!(tracker["state"], "ready");
    assert_eq!(tracker["tools"], 2);
    let tried = world.json(&["mcp", "test", "tracker"], 0);
    assert_eq!(tried["toolNames"], json!(["create_issue", "delete_repo"]));
    assert_eq!(tried["software"], "scripted 1.0.0");
    assert_eq!(world.run(&["mcp", "remove", "tracker"]).code, 0);
    let without = world.read("toolsearch.json5");
    assert!(
        without.contains("// kept") && !without.contains("scripted"),
        "{without}"
    );
    world
        .run(&["mcp", "remove", "tracker"])
        .fails(2, &["tracker", "mcp list"]);
}

#[test]
fn a_server_that_is_there_is_not_written_over_by_accident() {
    let world = world();
    let before = world.read("toolsearch.json5");
    world
        .run(&["mcp", "add", "tracker", "--", "other"])
        .fails(2, &["tracker", "--replace"]);
    assert_eq!(world.read("toolsearch.json5"), before);
    let replaced = world.run(&["mcp", "add", "tracker", "--replace", "--", "other"]);
    assert_eq!(replaced.code, 0, "{replaced:?}");
    assert!(
        world
            .read("toolsearch.json5")
            .contains("command: \"other\"")
    );
}

#[test]
fn an_address_and_its_secrets_are_written_as_variables() {
    let world = World::new();
    let config = world.path("own.json5");
    let added = world.run(&[
        "--config",
        text(&config),
        "mcp",
        "add",
        "docs",
        "--url",
        "https://docs.example/mcp",
        "-H",
        "Authorization: Bearer ${DOCS_TOKEN}",
        "--transport",
        "sse",
        "--trusted",
    ]);
    assert_eq!(added.code, 0, "{added:?}");
    assert!(!added.err.contains("kept in the file"), "{added:?}");
    let file = world.read("own.json5");
    for part in [
        "url: \"https://docs.example/mcp\"",
        "Authorization: \"Bearer ${DOCS_TOKEN}\"",
        "transport: \"sse\"",
        "trust: \"trusted\"",
    ] {
        assert!(file.contains(part), "{part}: {file}");
    }
    let noted = world.run(&["mcp", "add", "x", "--env", "API_KEY=k", "--", "y"]);
    assert!(noted.err.contains("API_KEY"), "{noted:?}");
}

#[test]
fn bad_names_and_commands_change_nothing() {
    let world = world();
    let before = world.read("toolsearch.json5");
    world
        .run(&["mcp", "add", "", "--", "x"])
        .fails(2, &["cannot be named"]);
    world.run(&["mcp", "add", "nothing"]).fails(2, &["COMMAND"]);
    world
        .run(&["mcp", "add", "x", "--url", "ftp://x"])
        .fails(2, &["nothing was changed"]);
    world
        .run(&["mcp", "add", "x", "--url", "https://x", "-H", "nonsense"])
        .fails(2, &["nonsense", "--header"]);
    assert_eq!(world.read("toolsearch.json5"), before);
}

#[test]
fn servers_of_another_program_are_taken_over() {
    let world = world();
    let other = world.write(
        ".cursor/mcp.json",
        r#"{ "mcpServers": {
            "files": { "command": "files-server", "args": ["."], "env": { "ROOT": "${HOME}" } },
            "tracker": { "command": "another" } } }"#,
    );
    let before = world.read("toolsearch.json5");
    let dry = world.json(&["mcp", "import", "--dry-run", text(&other)], 0);
    assert_eq!(world.read("toolsearch.json5"), before);
    assert_eq!(dry["added"], json!(["files"]));
    assert_eq!(dry["kept"], json!(["tracker"]));
    let done = world.json(&["mcp", "import", text(&other)], 0);
    assert_eq!(done["added"], json!(["files"]));
    let after = world.read("toolsearch.json5");
    assert!(
        after.contains("files-server") && after.contains("// kept"),
        "{after}"
    );
    assert!(!after.contains("another"), "{after}");
    let replaced = world.json(&["mcp", "import", "--replace", text(&other)], 0);
    assert_eq!(replaced["replaced"], json!(["files", "tracker"]));
    assert!(world.read("toolsearch.json5").contains("another"));
}

#[test]
fn preflight_says_why_a_tool_is_missing() {
    let world = world();
    world.run(&["mcp", "add", "absent", "--", "/nonexistent/program"]);
    let asked = [
        "preflight",
        "create_issue",
        "mcp:tracker:delete_repo",
        "mcp:absent:anything",
        "mcp:tracker:create_isue",
        "mcp:nowhere:x",
    ];
    let found = world.json(&asked, 4);
    assert_eq!(found["ready"], false);
    let state = |id: &str| line(&found["tools"], "id", id)["state"].clone();
    assert_eq!(state("mcp:tracker:create_issue"), "ready");
    assert_eq!(state("mcp:tracker:delete_repo"), "denied");
    assert_eq!(state("mcp:absent:anything"), "failed");
    assert_eq!(state("mcp:tracker:create_isue"), "unknown");
    assert_eq!(state("mcp:nowhere:x"), "unknown");
    let denied = line(&found["tools"], "id", "mcp:tracker:delete_repo");
    assert!(
        denied["detail"]
            .as_str()
            .is_some_and(|why| why.contains("mcp:*:delete_*")),
        "{denied}"
    );
    let ready = world.json(&["preflight", "mcp:tracker:create_issue"], 0);
    assert_eq!(ready["ready"], true);
    world.json(&["preflight", "mcp:tracker:delete_repo"], 3);
    let servers = world.json(&["preflight"], 4);
    assert_eq!(
        line(&servers["servers"], "name", "absent")["state"],
        "failed"
    );
    world.json(&["preflight", "--server", "tracker"], 0);
    world
        .run(&["preflight", "--server", "trackr"])
        .fails(2, &["trackr", "tracker"]);
}

#[test]
fn the_filter_of_a_server_is_named_as_the_reason() {
    let world = world();
    let set = world.run(&[
        "config",
        "set",
        "mcpServers.tracker.tools",
        "{ deny: ['create_*'] }",
    ]);
    assert_eq!(set.code, 0, "{set:?}");
    let found = world.json(&["preflight", "mcp:tracker:create_issue"], 4);
    let tool = line(&found["tools"], "id", "mcp:tracker:create_issue");
    assert_eq!(tool["state"], "left-out");
    assert!(
        tool["detail"]
            .as_str()
            .is_some_and(|why| why.contains("mcpServers.tracker.tools"))
    );
}

#[test]
fn doctor_looks_at_everything_and_goes_on() {
    let world = world();
    let fine = world.json(&["doctor"], 0);
    let checks = &fine["checks"];
    for name in [
        "configuration",
        "mode",
        "server tracker",
        "policy",
        "session logs",
    ] {
        assert_eq!(line(checks, "name", name)["status"], "ok", "{checks}");
    }
    let policy = line(checks, "name", "policy")["detail"]
        .as_str()
        .expect("words");
    assert!(policy.starts_with("1 of 2"), "{policy}");
    let walls = line(checks, "name", "engine quickjs")["detail"]
        .as_str()
        .expect("words");
    assert!(walls.contains("process"), "{walls}");
    world.run(&["mcp", "add", "absent", "--", "/nonexistent/program"]);
    let failing = world.json(&["doctor"], 4);
    let absent = line(&failing["checks"], "name", "server absent");
    assert_eq!(absent["status"], "fail");
    assert!(
        absent["fix"]
            .as_str()
            .is_some_and(|fix| fix.contains("mcp test absent")),
        "{absent}"
    );
    assert_eq!(
        line(&failing["checks"], "name", "server tracker")["status"],
        "ok"
    );
    let shown = world.run(&["doctor"]);
    assert!(shown.out.contains("server absent"), "{shown:?}");
}

#[test]
fn doctor_tells_of_a_file_that_cannot_be_used() {
    let world = World::with_config("{ tools: { profil: 'full' } }");
    let found = world.json(&["doctor"], 2);
    let file = line(&found["checks"], "name", "configuration");
    assert_eq!(file["status"], "fail");
    assert!(
        file["detail"]
            .as_str()
            .is_some_and(|why| why.contains("profil")),
        "{file}"
    );
}

#[test]
fn what_a_server_prints_besides_messages_is_named() {
    let world = World::new();
    let scenario = world.write("chatty.scenario", r#"{ "tools": [], "results": {} }"#);
    let script = "echo starting up; exec \"$0\" \"$@\"";
    let server = env!("CARGO_BIN_EXE_scripted-server");
    let log = world.path("chatty.log");
    let command = ["sh", "-c", script, server, text(&scenario), text(&log)];
    let mut args = vec!["mcp", "add", "chatty", "--"];
    args.extend(command);
    let added = world.run(&args);
    assert_eq!(added.code, 0, "{added:?}");
    let found = world.json(&["doctor"], 0);
    let check = line(&found["checks"], "name", "server chatty");
    assert_eq!(check["status"], "warn", "{check}");
    let fix = check["fix"].as_str().expect("advice");
    assert!(fix.contains("standard error"), "{check}");
}
