//! Servers of the configuration. The server here is the program itself, serving its sample tools to
//! another copy.

use serde_json::{Value, json};

use super::{World, binary, ids};

/// The program as a server of its sample tools, with an empty configuration of its own.
fn inner(world: &World, mode: &str) -> Value {
    let own = world.write("inner.json5", "{}");
    json!({ "command": binary(), "args": ["serve", "--mode", mode, "--quiet", "--config", own] })
}

/// A file with one server that works and several that do not.
fn world() -> World {
    let world = World::new();
    let inner = inner(&world, "tools");
    let servers = json!({
        "mcpServers": {
            "inner": inner,
            "absent": { "command": "/nonexistent/program", "startTimeoutMs": 2000 },
            "resting": { "command": "x", "disabled": true },
            "wanting": { "command": "x", "env": { "TOKEN": "${NOT_SET_ANYWHERE}" } },
            "remote": { "url": "not a url" },
        },
    });
    world.write("toolsearch.json5", &servers.to_string());
    world
}

fn server<'a>(listed: &'a Value, name: &str) -> &'a Value {
    let servers = listed["servers"].as_array().expect("servers");
    let mut found = servers.iter().filter(|server| server["name"] == name);
    found
        .next()
        .unwrap_or_else(|| panic!("{name} is not listed: {servers:?}"))
}

#[test]
fn servers_in_trouble_leave_the_others_working() {
    let world = world();
    let listed = world.json(&["catalog", "list"], 0);
    assert_eq!(server(&listed, "inner")["state"], "ready");
    assert!(server(&listed, "inner").get("error").is_none());
    for (name, state) in [
        ("absent", "failed"),
        ("resting", "disabled"),
        ("wanting", "needs-configuration"),
        ("remote", "failed"),
    ] {
        let line = server(&listed, name);
        assert_eq!(line["state"], state);
        assert!(
            line["error"]
                .as_str()
                .is_some_and(|reason| !reason.is_empty()),
            "{line}"
        );
    }
    let wanting = server(&listed, "wanting")["error"].to_string();
    assert!(
        wanting.contains("NOT_SET_ANYWHERE") && wanting.contains("env.TOKEN"),
        "{wanting}"
    );
    assert!(ids(&listed["tools"]).contains(&"mcp:inner:tool_call"));
    let one = &listed["tools"][0];
    for field in ["id", "source", "sourceName", "name", "placement"] {
        assert!(one[field].is_string(), "{field}: {one}");
    }
    assert_eq!(listed["fingerprint"].as_str().map(str::len), Some(32));
}

#[test]
fn a_tool_of_a_server_is_called() {
    let world = world();
    let args = json!({ "id": "native:github:create_issue", "args": { "title": "through two" } });
    let called = world.json(
        &["call", "mcp:inner:tool_call", "--args", &args.to_string()],
        0,
    );
    assert_eq!(called["tool"]["source"], "mcp");
    assert_eq!(
        called["result"]["structuredContent"]["title"],
        "through two"
    );
    let shown = world.json(&["sessions", "show"], 0);
    assert_eq!(shown["calls"][0]["source"], "mcp");
}

#[test]
fn an_empty_search_names_the_servers_in_trouble() {
    let world = world();
    let found = world.json(&["search", "xyzzyplugh"], 0);
    assert_eq!(found["reason"], "server_unavailable");
    let names: Vec<&str> = found["unavailable"]
        .as_array()
        .expect("notes")
        .iter()
        .filter_map(|note| note["server"].as_str())
        .collect();
    assert_eq!(names, ["absent", "remote", "resting", "wanting"]);
    let ran = world.run(&["call", "mcp:absent:anything", "--json"]);
    ran.fails(4, &["absent"]);
    assert_eq!(ran.document()["error"]["code"], "unavailable");
}

#[test]
fn placement_is_told() {
    let world = World::new();
    let mut servers = json!({ "mcpServers": { "inner": inner(&world, "tools") } });
    servers["mcpServers"]["inner"]["catalogMode"] = json!("direct-only");
    world.write("toolsearch.json5", &servers.to_string());
    let listed = world.json(&["catalog", "list"], 0);
    let placements = |listed: &Value| {
        let tools = listed["tools"].as_array().expect("tools").clone();
        let own = tools
            .into_iter()
            .filter(|tool| tool["sourceName"] == "inner");
        own.map(|tool| (tool["name"].clone(), tool["placement"].clone()))
            .collect::<Vec<_>>()
    };
    let direct = placements(&listed);
    assert_eq!(direct.len(), 3, "{direct:?}");
    assert!(
        direct.iter().all(|(_, placement)| placement == "direct"),
        "{direct:?}"
    );

    servers["mcpServers"]["inner"]["catalogMode"] = json!("searchable");
    servers["tools"] = json!({ "toolSearch": { "mode": "tools", "alwaysVisible": ["*call*"] } });
    world.write("toolsearch.json5", &servers.to_string());
    let listed = world.json(&["catalog", "list"], 0);
    let placed = placements(&listed);
    for (name, placement) in &placed {
        let visible = name.as_str().is_some_and(|name| name.contains("call"));
        assert_eq!(
            placement,
            if visible {
                "always-visible"
            } else {
                "searchable"
            },
            "{placed:?}"
        );
    }
}

#[test]
fn a_configuration_that_starts_itself_comes_to_an_end() {
    let world = World::new();
    let servers = json!({
        "mcpServers": { "own": { "command": binary(), "args": ["serve"], "startTimeoutMs": 20000 } },
    });
    world.write("toolsearch.json5", &servers.to_string());
    let ran = world
        .command(&["serve"])
        .env("TOOLSEARCH_NESTING", "4")
        .output()
        .expect("it runs");
    super::Ran::of(&ran).fails(2, &["a server of itself", "--config"]);
}

#[cfg(unix)]
#[test]
fn plugins_are_a_source_and_cost_only_themselves() {
    let world = World::with_config(r#"{ plugins: ["./plugins/*", "./missing"] }"#);
    world.write(
        "plugins/weather/toolsearch.plugin.json5",
        r#"{ name: "weather", tools: [{ name: "forecast", description: "Tells the weather of a city",
             inputSchema: { type: "object", properties: { city: { type: "string" } } },
             command: ["cat"] }] }"#,
    );
    world.write("plugins/broken/toolsearch.plugin.json5", "{ nam: 1 }");
    world.write("plugins/notes/README.md", "no plugin");
    let listed = world.json(&["catalog", "list"], 0);
    assert!(
        ids(&listed["tools"]).contains(&"plugin:weather:forecast"),
        "{listed}"
    );
    assert_eq!(server(&listed, "broken")["state"], "failed");
    assert_eq!(server(&listed, "missing")["state"], "failed");
    let called = world.json(&["call", "weather.forecast", "city=Izmir"], 0);
    assert_eq!(called["tool"]["source"], "plugin");
    assert!(called["result"].to_string().contains("Izmir"), "{called}");
}

#[test]
fn settings_that_make_calls_safer_are_never_passed_over() {
    let absent = r#"{ hooks: { before_tool_call: [{ command: "./no-such-guard" }] } }"#;
    World::with_config(absent)
        .run(&["call", "native:github:create_issue", "title=x"])
        .fails(3, &["no-such-guard", "cannot be run"]);
}
