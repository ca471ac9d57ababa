//! What `catalog lint` points out.

use serde_json::json;

use super::{World, text};

#[test]
fn what_makes_a_tool_hard_to_use_is_pointed_out() {
    let world = World::new();
    let tool = |name: &str, description: &str, properties: serde_json::Value| {
        json!({ "name": name, "description": description,
                "inputSchema": { "type": "object", "properties": properties } })
    };
    let good = "Creates an issue in a repository of the tracker.";
    let described = json!({ "title": { "type": "string", "description": "Its title" } });
    let tools = json!({ "tools": [
        tool("good", good, described.clone()),
        tool("silent", "", json!({})),
        tool("terse", "Gets it", json!({})),
        tool("talkative", &"word ".repeat(500), json!({})),
        tool("bare", good, json!({ "a": { "type": "string" }, "b": { "type": "string" } })),
    ] });
    let file = world.write("tracker.json", &tools.to_string());
    let copy = world.write(
        "copy.json",
        &json!({ "tools": [tool("good", good, described)] }).to_string(),
    );
    let args = [
        "--tools",
        text(&file),
        "--tools",
        text(&copy),
        "catalog",
        "lint",
    ];
    let found = world.json(&args, 0);
    let rules: Vec<(&str, &str)> = found["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(|one| {
            (
                one["id"].as_str().expect("an id"),
                one["rule"].as_str().expect("a rule"),
            )
        })
        .collect();
    assert_eq!(
        rules,
        [
            ("mcp:tracker:bare", "parameters-without-description"),
            ("mcp:tracker:good", "same-as-another"),
            ("mcp:tracker:silent", "no-description"),
            ("mcp:tracker:talkative", "long-description"),
            ("mcp:tracker:terse", "short-description"),
        ]
    );
    world.json(&[&args[..], &["--strict"]].concat(), 1);
    let clean = ["--tools", text(&copy), "catalog", "lint", "--strict"];
    assert_eq!(world.json(&clean, 0)["findings"], json!([]));
}
