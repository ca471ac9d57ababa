//! Reading manifests.

use std::time::Duration;

use serde_json::{Value, json};
use toolsearch_catalog::{CatalogMode, Execution, Trust};
use toolsearch_invoke::Provider;
use toolsearch_plugin::{HookMoment, Manifest, Plugin};

fn read(manifest: Value) -> Result<Manifest, String> {
    Manifest::from_value(manifest, "/nowhere").map_err(|error| error.to_string())
}

fn with_tool(change: Value) -> Value {
    let mut tool = json!({
        "name": "forecast",
        "inputSchema": {"type": "object"},
        "command": ["./forecast"],
    });
    for (key, value) in change.as_object().expect("an object") {
        if value.is_null() {
            tool.as_object_mut().expect("an object").remove(key);
        } else {
            tool[key] = value.clone();
        }
    }
    json!({"name": "weather", "tools": [tool]})
}

#[tokio::test]
async fn a_whole_manifest_becomes_a_listing() {
    let manifest = read(json!({
        "name": "weather",
        "description": "Weather everywhere.",
        "command": ["python3", "weather.py"],
        "timeoutMs": 5000,
        "env": ["WEATHER_KEY"],
        "tools": [
            {
                "name": "forecast",
                "title": "Forecast",
                "description": "Weather of the next days.",
                "inputSchema": {"type": "object", "required": ["place"]},
                "outputSchema": {"type": "object"},
                "annotations": {"readOnlyHint": true, "openWorldHint": true},
            },
            {
                "name": "alarm",
                "inputSchema": true,
                "catalogMode": "direct-only",
                "execution": "sequential",
                "command": ["./alarm"],
                "timeoutMs": 100,
                "env": ["SIREN"],
            },
        ],
    }))
    .expect("a manifest");
    let (forecast, alarm) = (&manifest.tools[0], &manifest.tools[1]);
    assert_eq!(forecast.command.program, "python3");
    assert_eq!(forecast.command.args, ["weather.py"]);
    assert_eq!(forecast.command.timeout, Some(Duration::from_secs(5)));
    assert_eq!(alarm.command.program, "./alarm");
    assert_eq!(alarm.command.timeout, Some(Duration::from_millis(100)));
    assert!(alarm.command.env.iter().eq(["SIREN", "WEATHER_KEY"]));

    let listing = Plugin::new(manifest.clone()).list().await;
    assert_eq!(listing.owner, "weather");
    assert_eq!(listing.description, "Weather everywhere.");
    let [forecast, alarm] = &listing.tools[..] else {
        panic!("two tools, not {:?}", listing.tools);
    };
    assert_eq!(forecast.id.as_str(), "plugin:weather:forecast");
    assert_eq!(forecast.title.as_deref(), Some("Forecast"));
    assert_eq!(forecast.trust, Trust::Trusted);
    assert_eq!(forecast.annotations.read_only_hint, Some(true));
    assert_eq!(forecast.annotations.destructive_hint, None);
    assert_eq!(forecast.input_schema["required"][0], "place");
    assert!(forecast.output_schema.is_some());
    assert_eq!(alarm.catalog_mode, CatalogMode::DirectOnly);
    assert_eq!(alarm.execution, Execution::Sequential);
}

#[test]
fn every_fault_names_its_key() {
    check(&[
        (json!([]), "`manifest` must be an object, not a list"),
        (json!({"tools": []}), "`name` is missing"),
        (
            json!({"name": "a b", "tools": []}),
            "`name` must be 1 to 64",
        ),
        (json!({"name": "a"}), "`tools` is missing"),
        (
            json!({"name": "a", "tools": {}}),
            "`tools` must be a list of tools",
        ),
        (
            json!({"name": "a", "tools": [], "descripton": ""}),
            "`descripton` is no key of a plugin manifest; did you mean `description`?",
        ),
        (
            json!({"name": "a", "tools": [1]}),
            "`tools[0]` must be an object, not 1",
        ),
    ]);
}

#[test]
fn every_fault_of_a_tool_names_its_key() {
    check(&[
        (
            with_tool(json!({"name": null})),
            "`tools[0].name` is missing",
        ),
        (with_tool(json!({"name": ""})), "`tools[0].name` must be"),
        (with_tool(json!({"name": "-x"})), "`tools[0].name` must be"),
        (
            with_tool(json!({"inputSchema": null})),
            "`tools[0].inputSchema` is missing",
        ),
        (
            with_tool(json!({"inputSchema": "x"})),
            "`tools[0].inputSchema` must be a JSON Schema",
        ),
        (
            with_tool(json!({"outputSchema": 3})),
            "`tools[0].outputSchema` must be a JSON Schema",
        ),
        (
            with_tool(json!({"command": null})),
            "`tools[0].command` is missing",
        ),
        (
            with_tool(json!({"command": []})),
            "`tools[0].command` must be",
        ),
        (
            with_tool(json!({"command": [""]})),
            "`tools[0].command` must be",
        ),
        (
            with_tool(json!({"command": ["a\u{0}b"]})),
            "`tools[0].command` must be",
        ),
        (
            with_tool(json!({"command": "ls"})),
            "`tools[0].command` must be",
        ),
        (
            with_tool(json!({"timeoutMs": 0})),
            "`tools[0].timeoutMs` must be",
        ),
        (
            with_tool(json!({"timeoutMs": 1.5})),
            "`tools[0].timeoutMs` must be",
        ),
        (with_tool(json!({"env": ["A=B"]})), "`tools[0].env` must be"),
        (
            with_tool(json!({"catalogMode": "hidden"})),
            "`tools[0].catalogMode` must be",
        ),
        (
            with_tool(json!({"execution": "alone"})),
            "`tools[0].execution` must be",
        ),
        (
            with_tool(json!({"annotations": {"readOnly": true}})),
            "`tools[0].annotations.readOnly` is no key of a plugin manifest; did you mean \
             `readOnlyHint`?",
        ),
        (
            with_tool(json!({"annotations": {"readOnlyHint": "yes"}})),
            "`tools[0].annotations.readOnlyHint` must be true or false",
        ),
        (
            with_tool(json!({"input_schema": {}})),
            "`tools[0].input_schema` is no key of a plugin manifest; did you mean `inputSchema`?",
        ),
    ]);
    assert!(read(with_tool(json!({}))).is_ok());
}

fn check(cases: &[(Value, &str)]) {
    for (manifest, expected) in cases {
        let error = read(manifest.clone()).expect_err(expected);
        assert!(error.starts_with(expected), "{error}\nexpected: {expected}");
    }
}

#[test]
fn a_name_stands_once() {
    let mut manifest = with_tool(json!({}));
    let tool = manifest["tools"][0].clone();
    manifest["tools"].as_array_mut().expect("a list").push(tool);
    let error = read(manifest).expect_err("twice");
    assert!(
        error.starts_with("`tools[1].name` is `forecast`"),
        "{error}"
    );
}

#[test]
fn hooks_stand_in_the_manifest_in_their_order() {
    let manifest = read(json!({
        "name": "guard",
        "command": ["./guard"],
        "env": ["GUARD_KEY"],
        "hooks": {
            "after_tool_call": [{"command": ["./redact", "-v"]}],
            "before_tool_call": [
                {"name": "gate", "matcher": ["mcp:*:delete_*"], "timeoutMs": 50, "onFailure": "open"},
                {"env": ["MORE"]},
            ],
        },
    }))
    .expect("a manifest of hooks alone");
    assert!(manifest.tools.is_empty());
    let [gate, second, redact] = &manifest.hooks[..] else {
        panic!("three hooks: {:?}", manifest.hooks);
    };
    assert_eq!(gate.name, "plugin guard: gate");
    assert_eq!((gate.moment, gate.may_fail), (HookMoment::Before, true));
    assert_eq!(gate.matcher, ["mcp:*:delete_*"]);
    assert_eq!(gate.timeout, Duration::from_millis(50));
    assert_eq!(gate.command.program, "./guard");
    assert_eq!(second.name, "plugin guard: before_tool_call 2");
    assert_eq!(
        (second.may_fail, second.matcher.len()),
        (false, 0),
        "closed, for all tools"
    );
    assert!(second.command.env.iter().eq(["GUARD_KEY", "MORE"]));
    assert_eq!(
        (redact.moment, redact.command.program.as_str()),
        (HookMoment::After, "./redact")
    );

    let hook = |hook: Value| {
        let hooks = json!({"before_tool_call": [hook]});
        read(json!({"name": "guard", "hooks": hooks})).expect_err("a fault")
    };
    for (value, part) in [
        (
            json!({"command": ["x"], "onFailure": "ajar"}),
            "hooks.before_tool_call[0].onFailure",
        ),
        (
            json!({"command": ["x"], "matcher": "*"}),
            "hooks.before_tool_call[0].matcher",
        ),
        (
            json!({"command": ["x"], "name": "a b"}),
            "hooks.before_tool_call[0].name",
        ),
        (json!({"name": "gate"}), "hooks.before_tool_call[0].command"),
        (
            json!({"command": ["x"], "matchers": []}),
            "did you mean `matcher`",
        ),
        (json!("x"), "hooks.before_tool_call[0]"),
    ] {
        let error = hook(value.clone());
        assert!(error.contains(part), "{value}: {error}");
    }
    let error = read(json!({"name": "guard", "hooks": {"before": []}})).expect_err("unknown");
    assert!(error.contains("hooks.before"), "{error}");
    let error = read(json!({"name": "guard", "hooks": {}})).expect_err("nothing at all");
    assert!(error.contains("tools"), "{error}");
}
