//! The configuration file: finding, reading, editing, and what is in force.

use serde_json::json;

use super::{World, text};

#[test]
fn a_typo_names_file_line_key_and_the_nearest_key() {
    let world = World::with_config("{\n  tools: {\n    toolSearhc: true,\n  },\n}\n");
    let ran = world.run(&["search", "issue"]);
    ran.fails(
        2,
        &[
            "toolsearch.json5:3:",
            "tools.toolSearhc",
            "toolSearch",
            "next:",
        ],
    );
    assert_eq!(ran.out, "");
    let checked = world.json(&["config", "validate"], 2);
    assert_eq!(checked["ok"], false);
    assert_eq!(checked["problems"][0]["line"], 3);
    let error = world.json(&["search", "issue"], 2);
    assert_eq!(error["error"]["code"], "configuration");
}

#[test]
fn set_keeps_comments() {
    let world = World::with_config("// mine\n{\n  // why\n  tools: { deny: [], }, // end\n}\n");
    let ran = world.run(&["config", "set", "tools.toolSearch", "true"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = world.read("toolsearch.json5");
    for kept in ["// mine", "// why", "// end", "toolSearch: true"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    assert_eq!(
        world.json(&["config", "get", "tools.toolSearch"], 0),
        json!(true)
    );
    assert_eq!(world.run(&["config", "validate"]).code, 0);
    assert_eq!(world.run(&["config", "unset", "tools.toolSearch"]).code, 0);
    let gone = world.json(&["config", "get", "tools.toolSearch"], 1);
    assert_eq!(gone["error"]["code"], "not_set");
}

#[test]
fn set_refuses_what_would_not_be_valid() {
    let world = World::with_config("{}");
    let ran = world.run(&["config", "set", "tools.toolSearch.mode", "fast"]);
    ran.fails(2, &["nothing was changed", "mode"]);
    assert_eq!(world.read("toolsearch.json5"), "{}");
    world
        .run(&["config", "set", "tools.tolSearch", "true"])
        .fails(2, &["toolSearch"]);
}

#[test]
fn set_makes_the_users_file_where_there_is_none() {
    let world = World::new();
    assert_eq!(
        world
            .run(&["config", "set", "tools.toolSearch.mode", "tools"])
            .code,
        0
    );
    let path = world.json(&["config", "path"], 0);
    let file = path["path"].as_str().expect("a path");
    assert!(
        file.ends_with(".config/toolsearch/toolsearch.json5"),
        "{file}"
    );
    assert_eq!(path["exists"], true);
    let mode = world.run(&["config", "get", "tools.toolSearch.mode"]);
    assert_eq!(mode.out, "tools\n");
}

#[test]
fn what_is_in_force_says_where_it_comes_from() {
    let world = World::with_config(
        r#"{ tools: { toolSearch: { mode: "tools", codeTimeoutMs: 5000 } },
             agents: { list: [{ id: "a", toolSearch: { mode: "directory" } }] } }"#,
    );
    let get = |args: &[&str]| {
        let mut all = vec!["config", "get", "--effective"];
        all.extend(args);
        world.json(&all, 0)["toolSearch"].clone()
    };
    assert_eq!(
        get(&[])["mode"],
        json!({ "value": "tools", "from": "file" })
    );
    let agent = get(&["--agent", "a"]);
    assert_eq!(
        agent["mode"],
        json!({ "value": "directory", "from": "agent a" })
    );
    assert_eq!(agent["codeTimeoutMs"]["value"], 5000);
    let line = get(&["--agent", "a", "--mode", "code"]);
    assert_eq!(
        line["mode"],
        json!({ "value": "code", "from": "command line" })
    );
    assert_eq!(get(&[])["maxSearchLimit"]["from"], "default");
    let ran = world.run(&["search", "issue", "--agent", "nobody"]);
    ran.fails(2, &["nobody", "known: a"]);
}

#[test]
fn numbers_out_of_range_are_cut_with_a_warning() {
    let world = World::with_config("{ tools: { toolSearch: { maxSearchLimit: 500 } } }");
    let ran = world.run(&["search", "create", "--json", "--limit", "100"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.err.contains("warning:") && ran.err.contains("maxSearchLimit"),
        "{ran:?}"
    );
    let hits = ran.document()["candidates"].as_array().map_or(0, Vec::len);
    assert!((21..=50).contains(&hits), "{hits}");
}

#[test]
fn the_file_is_found_by_flag_variable_folder_and_home() {
    let world = World::new();
    let other = world.write("other.json5", "{ tools: { deny: ['*'] } }");
    let found = world.json(&["search", "issue", "--config", "other.json5"], 0);
    assert_eq!(found["candidates"], json!([]));
    let ran = world
        .command(&["config", "path", "--json"])
        .env("TOOLSEARCH_CONFIG", &other)
        .output()
        .expect("it runs");
    assert_eq!(super::Ran::of(&ran).document()["path"], text(&other));
    world
        .run(&["search", "x", "--config", "no.json5"])
        .fails(2, &["no.json5", "next:"]);
    world
        .run(&["config", "get"])
        .fails(2, &["there is no configuration file", "next:"]);
}

#[test]
fn secrets_are_not_printed() {
    let world = World::with_config(
        r#"{ mcpServers: { a: { command: "x", disabled: true, env: { T: "hunter2hunter2", U: "${U}" } } } }"#,
    );
    for args in [
        vec!["config", "get"],
        vec!["config", "get", "mcpServers.a"],
        vec!["catalog", "list"],
    ] {
        let ran = world.run(&args);
        assert!(
            !ran.out.contains("hunter2") && !ran.err.contains("hunter2"),
            "{ran:?}"
        );
    }
    let own = world.run(&["config", "get", "mcpServers.a.env.T"]);
    assert_eq!(own.out, "hunter2hunter2\n", "asked for by its own path");
}

#[test]
fn the_schema_is_json() {
    let schema = World::new().json(&["config", "schema"], 0);
    assert!(schema["properties"]["tools"].is_object() || schema["$defs"].is_object());
}
