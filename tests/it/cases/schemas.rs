//! Schemas as servers write them.

use serde_json::{Map, Value, json};

use super::{bare, tool};
use crate::support::{Gateway, Mode, Upstream, names};

/// What the client of the gateway reads of each tool when all are shown directly.
fn declared(tools: Vec<Value>) -> (Gateway, Map<String, Value>) {
    let mut gateway = Gateway::open(Mode::Direct, &[Upstream::new("forms", tools)]);
    let list = gateway.list();
    let entry = |tool: &Value| {
        let name = tool["name"].as_str().unwrap().to_owned();
        (name, tool["inputSchema"].clone())
    };
    let schemas = list.iter().map(entry).collect();
    (gateway, schemas)
}

/// No provider refuses a request for this schema.
fn check_accepted(name: &str, schema: &Value) {
    assert_eq!(schema["type"], "object", "{name}: {schema}");
    assert!(schema["properties"].is_object(), "{name}: {schema}");
    for word in ["anyOf", "oneOf", "allOf", "not", "enum"] {
        assert_eq!(schema.get(word), None, "{name}: {schema}");
    }
}

fn hidden(tools: Vec<Value>) -> Gateway {
    Gateway::open(Mode::Tools, &[Upstream::new("forms", tools)])
}

/// Described as its server wrote it, and called with arguments that arrive as they are.
fn check_described_and_called(gateway: &mut Gateway, tool: &Value, args: &Value) {
    let name = tool["name"].as_str().unwrap();
    let described = gateway.describe(&format!("mcp:forms:{name}"));
    assert_eq!(described["inputSchema"], tool["inputSchema"], "{name}");
    gateway.tool(name, args);
    let last = gateway.received("forms").pop();
    assert_eq!(last, Some((name.to_owned(), args.clone())));
}

#[test]
fn sch_01_combinators_at_the_root() {
    let either = tool(
        "attach_label",
        json!({
            "type": "object",
            "properties": { "label": { "type": "string" } },
            "required": ["label"],
            "anyOf": [
                { "properties": { "issue": { "type": "integer" } }, "required": ["issue"] },
                { "properties": { "merge": { "type": "integer" } }, "required": ["merge"] },
            ],
        }),
    );
    let both = tool(
        "copy_range",
        json!({
            "allOf": [{ "$ref": "#/$defs/Source" }, { "$ref": "#/$defs/Target" }],
            "$defs": {
                "Source": { "type": "object", "properties": { "from": { "type": "string" } }, "required": ["from"] },
                "Target": { "type": "object", "properties": { "into": { "type": "string" } }, "required": ["into"] },
            },
        }),
    );
    let one = tool(
        "open_page",
        json!({
            "oneOf": [
                { "type": "object", "properties": { "url": { "type": "string" } }, "required": ["url"] },
                { "type": "object", "properties": { "tab": { "type": "integer" } }, "required": ["tab"] },
            ],
        }),
    );
    let tools = vec![either, both, one, bare("plain")];
    let (_gateway, schemas) = declared(tools.clone());
    for (name, parameters) in [
        ("attach_label", &["label", "issue", "merge"][..]),
        ("copy_range", &["from", "into"]),
        ("open_page", &["url", "tab"]),
        ("plain", &[]),
    ] {
        let schema = &schemas[name];
        check_accepted(name, schema);
        for parameter in parameters {
            assert!(
                schema["properties"].get(parameter).is_some(),
                "{name}: {schema}"
            );
        }
    }
    assert_eq!(schemas["copy_range"]["required"], json!(["from", "into"]));

    let mut gateway = hidden(tools.clone());
    check_described_and_called(
        &mut gateway,
        &tools[0],
        &json!({ "label": "bug", "merge": 7 }),
    );
    check_described_and_called(
        &mut gateway,
        &tools[1],
        &json!({ "from": "A1", "into": "B1" }),
    );
    check_described_and_called(&mut gateway, &tools[2], &json!({ "tab": 2 }));
}

#[test]
fn sch_02_objects_without_properties() {
    let tools = vec![
        tool("uptime", json!({ "type": "object" })),
        tool("version", json!({})),
        tool("whoami", json!({ "type": "object", "properties": null })),
    ];
    let (_gateway, schemas) = declared(tools.clone());
    let mut gateway = hidden(tools);
    for name in ["uptime", "version", "whoami"] {
        check_accepted(name, &schemas[name]);
        assert_eq!(schemas[name]["properties"], json!({}), "{name}");
        assert_eq!(gateway.found(name)[0], format!("mcp:forms:{name}"));
        gateway.tool(name, &json!({}));
        let result = gateway.call("tool_call", &json!({ "id": name }));
        assert_eq!(result["isError"], false, "{name} without args: {result}");
    }
    for (name, arguments) in gateway.received("forms") {
        assert_eq!(arguments, json!({}), "{name}");
    }
}

#[test]
fn sch_03_a_boolean_as_schema_of_a_property() {
    let numbered = |n: u32| {
        tool(
            &format!("step_{n:02}"),
            json!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
        )
    };
    let mut tools: Vec<Value> = (0..60).map(numbered).collect();
    let anything = json!({ "type": "object", "properties": { "key": { "type": "string" }, "value": true }, "required": ["key", "value"] });
    let nothing =
        json!({ "type": "object", "properties": { "key": { "type": "string" }, "gone": false } });
    tools.insert(23, tool("put_value", anything));
    tools.insert(24, tool("drop_value", nothing));
    let (_gateway, schemas) = declared(tools.clone());
    assert_eq!(schemas.len(), 62);
    for (name, schema) in &schemas {
        check_accepted(name, schema);
        for (property, schema) in schema["properties"].as_object().unwrap() {
            assert!(schema.is_object(), "{name}.{property}: {schema}");
        }
    }
    let mut gateway = hidden(tools.clone());
    let odd = json!({ "key": "k", "value": [null, { "deep": [true, 1.50, "x"] }] });
    check_described_and_called(&mut gateway, &tools[23], &odd);
    check_described_and_called(&mut gateway, &tools[24], &json!({ "key": "k" }));
    let hit = &gateway.search("put_value")["candidates"][0];
    assert!(
        hit["input"].as_str().unwrap().contains("value: unknown"),
        "{hit}"
    );
    let refused = gateway.call(
        "tool_call",
        &json!({ "id": "drop_value", "args": { "gone": 1 } }),
    );
    assert_eq!(refused["isError"], true);
    assert_eq!(gateway.received("forms").len(), 2);
}

#[test]
fn sch_05_schemas_that_contain_themselves() {
    let filter = json!({
        "type": "object",
        "properties": { "where": { "$ref": "#/$defs/Condition" } },
        "required": ["where"],
        "$defs": {
            "Condition": {
                "type": "object",
                "properties": {
                    "all": { "type": "array", "items": { "$ref": "#/$defs/Condition" } },
                    "any": { "type": "array", "items": { "$ref": "#/$defs/Condition" } },
                    "column": { "type": "string" },
                    "is": {},
                },
            },
        },
    });
    let mirror = json!({ "type": "object", "properties": { "self": { "$ref": "#" }, "n": { "type": "integer" } } });
    let tools = vec![tool("select_rows", filter), tool("mirror", mirror)];
    let (_gateway, schemas) = declared(tools.clone());
    let mut gateway = hidden(tools.clone());
    for name in ["select_rows", "mirror"] {
        check_accepted(name, &schemas[name]);
        let hit = &gateway.search(name)["candidates"][0];
        assert!(
            hit["input"].as_str().unwrap().chars().count() <= 300,
            "{hit}"
        );
    }
    let nested =
        json!({ "where": { "all": [{ "any": [{ "column": "a", "is": 1 }, { "all": [] }] }] } });
    check_described_and_called(&mut gateway, &tools[0], &nested);
    check_described_and_called(
        &mut gateway,
        &tools[1],
        &json!({ "self": { "self": { "n": 3 } } }),
    );
}

#[test]
fn sch_07_references_to_anywhere_and_nowhere() {
    let schema = json!({
        "type": "object",
        "properties": {
            "begin": { "type": "string" },
            "end": { "$ref": "#/properties/begin" },
            "per cent/day": { "type": "object", "properties": { "rate": { "type": "number" } } },
            "copy": { "$ref": "#/properties/per%20cent~1day" },
            "lost": { "$ref": "#/$defs/NotThere" },
            "remote": { "$ref": "https://schemas.invalid/none.json" },
        },
    });
    let tools = vec![tool("plan_trip", schema)];
    let (_gateway, schemas) = declared(tools.clone());
    check_accepted("plan_trip", &schemas["plan_trip"]);
    let mut gateway = hidden(tools.clone());
    let hit = gateway.search("plan_trip")["candidates"][0].clone();
    let signature = hit["input"].as_str().unwrap();
    for part in [
        "end?: string",
        "copy?: { rate?: number }",
        "lost?: unknown",
        "remote?: unknown",
    ] {
        assert!(signature.contains(part), "{part}: {signature}");
    }
    let args =
        json!({ "begin": "a", "end": "b", "copy": { "rate": 0.5 }, "lost": [1], "remote": "x" });
    check_described_and_called(&mut gateway, &tools[0], &args);
}

#[test]
fn sch_09_malformed_schemas_cost_nobody_else_anything() {
    let tools = vec![
        // `required` has slipped into the properties.
        tool(
            "quote",
            json!({ "type": "object", "properties": { "symbol": { "type": "string" }, "required": ["symbol"] } }),
        ),
        tool(
            "wait",
            json!({ "type": "object", "properties": { "seconds": { "type": "int" } } }),
        ),
        tool(
            "ask",
            json!({ "type": "string", "description": "the question" }),
        ),
        tool(
            "fine",
            json!({ "type": "object", "properties": { "q": { "type": "string" } } }),
        ),
        bare("also_fine"),
    ];
    let (gateway, schemas) = declared(tools.clone());
    let known = ["also_fine", "ask", "fine", "quote", "wait"];
    let shown: Vec<&String> = schemas.keys().collect();
    assert_eq!(shown, known);
    for (name, schema) in &schemas {
        check_accepted(name, schema);
        for (property, schema) in schema["properties"].as_object().unwrap() {
            assert!(schema.is_object(), "{name}.{property}: {schema}");
        }
    }
    assert_eq!(schemas["quote"]["required"], json!(["symbol"]));
    assert_eq!(schemas["wait"]["properties"]["seconds"]["type"], "integer");
    drop(gateway);

    let mut gateway = hidden(tools.clone());
    check_described_and_called(&mut gateway, &tools[0], &json!({ "symbol": "ABC" }));
    check_described_and_called(&mut gateway, &tools[1], &json!({ "seconds": 3 }));
    check_described_and_called(&mut gateway, &tools[3], &json!({ "q": "why" }));
    check_described_and_called(&mut gateway, &tools[4], &json!({}));
}

#[test]
fn sch_10_schemas_that_are_missing_or_of_another_kind() {
    let with = |name: &str, key: &str, value: Value| json!({ "name": name, "description": "d", key: value });
    let tools = vec![
        json!({ "name": "none", "description": "d" }),
        with("null", "inputSchema", Value::Null),
        with("list", "inputSchema", json!([])),
        with("text", "inputSchema", json!("object")),
        with(
            "other_key",
            "parameters",
            json!({ "type": "object", "properties": { "q": {} } }),
        ),
        json!(["not", "a", "tool"]),
        json!({ "description": "has no name" }),
        bare("good"),
    ];
    let mut gateway = hidden(tools.clone());
    for name in ["none", "null", "other_key", "good"] {
        gateway.tool(&format!("mcp:forms:{name}"), &json!({}));
    }
    assert_eq!(gateway.received("forms").len(), 4);

    let document = gateway.home.document(&["catalog", "list", "--json"]);
    let listed: Vec<&str> = document["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["sourceName"] == "forms")
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(listed, ["good", "none", "null", "other_key"]);
    let rejected = document["rejected"].as_array().unwrap();
    assert_eq!(
        names(rejected),
        ["list", "text", "tool number 6", "tool number 7"]
    );
    for tool in rejected {
        assert_eq!(tool["server"], "forms");
        assert!(!tool["reason"].as_str().unwrap().is_empty());
    }
}

#[test]
fn sch_12_descriptions_null_empty_and_endless() {
    let described = |name: &str, description: Value| json!({ "name": name, "description": description, "inputSchema": { "type": "object", "properties": {} } });
    let long = |sentence: &str, times: usize, end: &str| format!("{}{end}", sentence.repeat(times));
    let ten = long(
        "Reads the ledger of one branch. ",
        340,
        "Never use it for frobnicated ledgers.",
    );
    let forty = long("Writes a page of the almanac. ", 1400, "The end.");
    let tools = vec![
        described("d_null", Value::Null),
        json!({ "name": "d_absent", "inputSchema": { "type": "object", "properties": {} } }),
        described("d_empty", json!("")),
        described("d_ten", json!(ten)),
        described("d_forty", json!(forty)),
    ];
    let mut gateway = hidden(tools.clone());
    for name in ["d_null", "d_absent", "d_empty"] {
        assert_eq!(gateway.found(name)[0], format!("mcp:forms:{name}"));
        gateway.tool(name, &json!({}));
    }
    // What only the end says is searchable, and what is shown of it says that it was cut.
    let answer = gateway.search("frobnicated ledgers");
    let hit = &answer["candidates"][0];
    assert_eq!(hit["id"], "mcp:forms:d_ten");
    let shown = hit["description"].as_str().unwrap();
    assert!(
        shown.chars().count() <= 180 && shown.ends_with('…'),
        "{shown}"
    );
    assert!(answer.to_string().chars().count() <= 1200, "{answer}");
    assert_eq!(gateway.describe("d_ten")["description"], ten);
    assert_eq!(gateway.describe("d_forty")["description"], forty);

    let gateway = Gateway::open(Mode::Directory, &[Upstream::new("forms", tools)]);
    let text = gateway.hello["instructions"].as_str().unwrap();
    assert!(
        text.contains("d_forty") && text.chars().count() <= 18_000,
        "{}",
        text.len()
    );
}
