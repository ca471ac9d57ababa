//! The gateway in the files of MCP clients.

use serde_json::{Value, json};

use super::{World, text};

#[test]
fn an_entry_is_written_kept_and_taken_out_again() {
    let world = World::with_config("{}");
    let before = "{\n  // mine\n  \"mcpServers\": { \"other\": { \"command\": \"x\" } }\n}\n";
    let file = world.write("client/mcp.json", before);
    let args = ["connect", "cursor", "--file", text(&file), "--agent", "a"];
    world.write("toolsearch.json5", "{ agents: { list: [{ id: 'a' }] } }");
    let dry = world.json(&[&args[..], &["--dry-run"]].concat(), 0);
    assert_eq!(dry["changed"], false);
    assert_eq!(world.read("client/mcp.json"), before);
    let done = world.json(&args, 0);
    let written = world.read("client/mcp.json");
    assert!(
        written.contains("// mine") && written.contains("\"other\""),
        "{written}"
    );
    assert_eq!(world.read("client/mcp.json.before-toolsearch"), before);
    let args_of_entry = done["entry"]["args"].as_array().expect("arguments");
    let config = world.path("toolsearch.json5");
    assert_eq!(args_of_entry[..2], [json!("serve"), json!("--config")]);
    assert!(
        std::path::Path::new(args_of_entry[2].as_str().expect("a path"))
            .ends_with("toolsearch.json5")
    );
    assert!(config.is_file());
    assert_eq!(args_of_entry[3..], [json!("--agent"), json!("a")]);
    assert_eq!(world.json(&args, 0)["changed"], false);
    world.json(&[&args[..], &["--remove"]].concat(), 0);
    let after = world.read("client/mcp.json");
    assert!(
        after.contains("\"other\"") && !after.contains("toolsearch"),
        "{after}"
    );
    world
        .run(&[&args[..], &["--remove"]].concat())
        .fails(2, &["toolsearch", "--name"]);
}

#[test]
fn every_client_is_written_in_its_own_shape() {
    let world = World::new();
    world.json(&["connect", "vscode"], 0);
    let file: Value = serde_json::from_str(&world.read(".vscode/mcp.json")).expect("JSON");
    assert!(
        file["servers"]["toolsearch"]["command"].is_string(),
        "{file}"
    );
    world.json(&["connect", "claude-code"], 0);
    let file: Value = serde_json::from_str(&world.read(".mcp.json")).expect("JSON");
    assert_eq!(file["mcpServers"]["toolsearch"]["args"], json!(["serve"]));
}

#[test]
fn a_toml_file_keeps_every_other_line() {
    let world = World::new();
    let before = "model = \"m\" # mine\n\n[mcp_servers.other]\ncommand = \"x\"\n";
    let file = world.write("config.toml", before);
    let args = ["connect", "codex", "--file", text(&file)];
    world.json(&args, 0);
    let written = world.read("config.toml");
    assert!(written.starts_with(before), "{written}");
    let table: toml::Table = toml::from_str(&written).expect("TOML");
    assert_eq!(
        table["mcp_servers"]["toolsearch"]["args"][0].as_str(),
        Some("serve")
    );
    assert_eq!(world.json(&args, 0)["changed"], false);
    world.json(&[&args[..], &["--remove"]].concat(), 0);
    assert_eq!(world.read("config.toml"), before);
    world.write(
        "config.toml",
        "[mcp_servers.toolsearch]\ncommand = \"mine\"\n",
    );
    world.run(&args).fails(2, &["another entry"]);
}
