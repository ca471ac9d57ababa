//! Tests of `schema`.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::check::{Strictness, check};
use super::*;
use crate::json5::Document;
use crate::load::{WrittenProvider, load_text};
use crate::server::WrittenServer;
use crate::{settings, tool_search};

/// The keys that a struct reads, out of the message about one that it does not.
fn keys_of<T: DeserializeOwned>() -> Vec<String> {
    let error = serde_json::from_value::<T>(json!({ "\u{1}": 0 }))
        .err()
        .expect("unknown key");
    let message = error.to_string();
    let (_, known) = message
        .split_once("expected")
        .or(message.split_once("there are no"))
        .expect("list");
    let mut keys: Vec<String> = known
        .split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect();
    keys.sort();
    keys
}

#[test]
fn the_table_and_the_structs_have_the_same_keys() {
    fn check<T: DeserializeOwned>(path: &str) {
        let kind = kind_at(&path.parse().expect(path)).expect(path);
        let shape = kind.shape().expect(path);
        let mut keys: Vec<&str> = shape.fields.iter().map(|field| field.key).collect();
        keys.sort_unstable();
        assert_eq!(keys_of::<T>(), keys, "{path}");
    }
    check::<settings::Tools>("tools");
    check::<tool_search::ToolSearchOptions>("tools.toolSearch");
    check::<tool_search::ControlNameOptions>("tools.toolSearch.controlNames");
    check::<tool_search::SearchOptions>("tools.toolSearch.search");
    check::<settings::Rules>("tools.byProvider.x");
    check::<settings::Rules>("tools.profiles.x");
    check::<settings::Rules>("tools.byChannel.x");
    check::<settings::Rules>("tools.sandbox");
    check::<settings::Rules>("tools.subagents");
    check::<settings::Agents>("agents");
    check::<settings::AgentDefaults>("agents.defaults");
    check::<settings::Agent>("agents.list[0]");
    check::<settings::AgentTools>("agents.list[0].tools");
    check::<WrittenServer>("mcpServers.x");
    check::<settings::Hooks>("hooks");
    check::<settings::Hook>("hooks.before_tool_call[0]");
    check::<settings::Approvals>("approvals");
    check::<WrittenProvider>("providers.x");
    check::<settings::Gateway>("gateway");
    check::<settings::GatewayTls>("gateway.tls");
    check::<settings::GatewayAuth>("gateway.auth");
    check::<settings::GatewayToken>("gateway.auth.tokens[0]");
    check::<settings::GatewayLimits>("gateway.limits");
    check::<settings::Sandbox>("sandbox");
    check::<settings::Telemetry>("telemetry");
    check::<settings::Store>("store");
}

/// A value that a kind accepts, with every key set and the last of the allowed words.
fn sample(kind: &Kind) -> Value {
    match kind {
        Kind::Bool => json!(true),
        Kind::Text => json!("text"),
        Kind::Template => json!("http://h/${VAR:-x}"),
        Kind::Word(word) => ["name", "127.0.0.1:1", &"a".repeat(64)]
            .into_iter()
            .find(|text| (word.accepts)(text))
            .map(Value::from)
            .expect(word.what),
        Kind::Choice(values) => json!(values.last().expect("a word")),
        Kind::Count(count) => json!(count.max),
        Kind::List(inner) => json!([sample(inner)]),
        Kind::Map(inner) => json!({ "some": sample(inner) }),
        Kind::Object(shape) => {
            let fields = shape.fields.iter();
            Value::Object(
                fields
                    .map(|f| (f.key.to_owned(), sample(&f.kind)))
                    .collect(),
            )
        }
        Kind::Either(kinds) => sample(kinds.last().expect("a kind")),
    }
}

/// As `sample`, but such that names differ and the one entry of each kind makes sense.
fn full_file() -> Value {
    let mut file = sample(&table::ROOT_KIND);
    let names = json!({ "search": "a", "describe": "b", "call": "c", "code": "d" });
    for place in ["/tools", "/agents/defaults", "/agents/list/0"] {
        file.pointer_mut(place).expect(place)["toolSearch"]["controlNames"] = names.clone();
    }
    file["mcpServers"]["some"]["type"] = json!("http");
    file["mcpServers"]["some"]["transport"] = json!("http");
    file["mcpServers"]["some"]["disabled"] = json!(false);
    file
}

#[test]
fn a_file_with_every_key_is_read_without_a_word() {
    let file = full_file();
    let loaded = load_text(&file.to_string(), "t".as_ref(), &|_| None).expect("valid");
    assert_eq!(loaded.warnings, []);
    let server = &loaded.settings.mcp_servers["some"];
    assert!(
        matches!(server.state, crate::ServerState::Ready(_)),
        "{:?}",
        server.state
    );
    assert_eq!(loaded.settings.hooks.before_tool_call.len(), 1);
    assert_eq!(
        loaded.settings.providers["some"].base_url.expose(),
        "http://h/x"
    );
}

#[test]
fn defaults_in_the_table_are_those_of_the_structs() {
    /// Only the values that have a default, at every object that is not in a list or map.
    fn defaults(shape: &Shape) -> Value {
        let mut values = Map::new();
        for field in shape.fields {
            let default = match (&field.kind, field.default) {
                (_, Some(json)) => serde_json::from_str(json).expect(json),
                (
                    Kind::Count(Count {
                        default: Some(default),
                        ..
                    }),
                    None,
                ) => json!(default),
                // What must be complete has no defaults.
                (Kind::Object(inner), None) if inner.fields.iter().any(|field| field.required) => {
                    continue;
                }
                (Kind::Object(inner), None) => defaults(inner),
                _ => continue,
            };
            values.insert(field.key.to_owned(), default);
        }
        Value::Object(values)
    }
    let mut file = defaults(&table::ROOT);
    file["tools"]["toolSearch"] = defaults(kind_at_text("tools.toolSearch"));
    file["mcpServers"] = json!({ "s": defaults(kind_at_text("mcpServers.s")) });
    let read = |file: &Value| {
        load_text(&file.to_string(), "t".as_ref(), &|_| None)
            .expect("valid")
            .settings
    };
    let (mut with, without) = (read(&file), read(&json!({ "mcpServers": { "s": {} } })));
    let effective = |settings: &settings::Settings| {
        let effective = settings
            .effective(None, &crate::Overrides::default())
            .expect("no agent");
        let mut values = effective.to_json();
        for (_, value) in values.as_object_mut().expect("object") {
            value.as_object_mut().expect("entry").remove("from");
        }
        values["enabled"] = Value::Null;
        values
    };
    assert_eq!(effective(&with), effective(&without));
    assert_eq!(with.tools.profile.take().as_deref(), Some("full"));
    with.tools.tool_search = without.tools.tool_search.clone();
    assert_eq!(with, without);
}

fn kind_at_text(path: &str) -> &'static Shape {
    kind_at(&path.parse().expect(path))
        .and_then(Kind::shape)
        .expect(path)
}

#[test]
fn the_json_schema_describes_every_key() {
    let schema = schema_json();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["additionalProperties"], false);
    let search = &schema["$defs"]["toolSearch"]["properties"];
    assert_eq!(search["codeTimeoutMs"]["maximum"], 60_000);
    assert_eq!(search["codeTimeoutMs"]["default"], 10_000);
    assert_eq!(
        search["mode"]["enum"],
        json!(["code", "tools", "directory"])
    );
    assert_eq!(search["mode"]["default"], "code");
    assert_eq!(schema["$defs"]["agent"]["required"], json!(["id"]));
    let server = &schema["properties"]["mcpServers"]["additionalProperties"];
    assert_eq!(server["$ref"], "#/$defs/mcpServer");
    let text = schema.to_string();
    for (at, _) in text.match_indices("#/$defs/") {
        let name = text[at + 8..].split('"').next().expect("name");
        assert!(schema["$defs"][name].is_object(), "{name}");
    }
    assert_eq!(schema_json(), schema);
}

#[test]
fn paths_lead_to_kinds() {
    let expected = |path: &str| kind_at(&path.parse().expect(path)).map(Kind::expected);
    assert_eq!(
        expected("tools.toolSearch").as_deref(),
        Some("true or false, or an object")
    );
    assert_eq!(
        expected("mcpServers.x.env.TOKEN").as_deref(),
        Some("a string")
    );
    assert_eq!(expected("tools.allow[3]").as_deref(), Some("a string"));
    assert_eq!(expected("tools.allow.x"), None);
    assert_eq!(expected("tools.nothing"), None);
}

fn problems(text: &str) -> Vec<String> {
    let document = Document::parse(text, "f").expect(text);
    check(&document, Strictness::File)
        .errors
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn unknown_keys_name_the_key_that_was_meant() {
    let check = |text: &str, expected: &str| assert_eq!(problems(text), [expected], "{text}");
    check(
        "{tols: {}}",
        "f:1:2: tols: unknown key; did you mean `tools`?",
    );
    check(
        "{tools: {\n toolSearch: { maxSearchLimits: 3 } }}",
        "f:2:16: tools.toolSearch.maxSearchLimits: unknown key; did you mean `maxSearchLimit`?",
    );
    check(
        "{toolSearch: true}",
        "f:1:2: toolSearch: unknown key; did you mean `tools.toolSearch`?",
    );
    check(
        "{servers: {}}",
        "f:1:2: servers: unknown key; did you mean `mcpServers`?",
    );
    let server = |key: &str| format!("{{mcpServers: {{s: {{command: 'c', {key}: 1}}}}}}");
    let meant = |key: &str, meant: &str| {
        let found = problems(&server(key));
        let end = format!("mcpServers.s.{key}: unknown key; did you mean `{meant}`?");
        assert!(found.len() == 1 && found[0].ends_with(&end), "{found:?}");
    };
    meant("environment", "env");
    meant("arguments", "args");
    meant("cmd", "command");
    meant("serverUrl", "url");
    meant("timeout", "callTimeoutMs");
    check(
        "{telemetry: {zzzz: 1}}",
        "f:1:14: telemetry.zzzz: unknown key; known here: dir, capture",
    );
    check(
        "{store: {zzzz: 1}}",
        "f:1:10: store.zzzz: unknown key; known here: dir",
    );
}

#[test]
fn wrong_values_name_what_is_expected() {
    let check = |text: &str, expected: &str| assert_eq!(problems(text), [expected], "{text}");
    check("[]", "f:1:1: expected an object, found an array");
    check(
        "{tools: {allow: 'x'}}",
        "f:1:17: tools.allow: expected an array, each element a string, found a string",
    );
    check(
        "{tools: {allow: ['x', 1]}}",
        "f:1:23: tools.allow[1]: expected a string, found a number",
    );
    check(
        "{tools: {toolSearch: 'yes'}}",
        "f:1:22: tools.toolSearch: expected true or false, or an object, found a string",
    );
    check(
        "{tools: {toolSearch: {mode: 'cod'}}}",
        "f:1:29: tools.toolSearch.mode: expected one of \"code\", \"tools\", \"directory\", found \"cod\"; did you mean \"code\"?",
    );
    check(
        "{tools: {toolSearch: {codeTimeoutMs: {}}}}",
        "f:1:38: tools.toolSearch.codeTimeoutMs: expected a whole number from 1000 to 60000, found an object",
    );
    check(
        "{agents: {list: [{}]}}",
        "f:1:18: agents.list[0]: `id` is missing; it takes a string that is not empty",
    );
    check(
        "{gateway: {listen: 'here'}}",
        "f:1:20: gateway.listen: expected an address and port such as \"127.0.0.1:7332\", found \"here\"",
    );
}

#[test]
fn every_fault_is_reported_in_file_order() {
    let text = "{\n store: 1,\n tols: 2,\n agents: { list: [{ id: '' }, { nme: 'x', id: 'b' }] },\n plugins: [1],\n}";
    let lines: Vec<String> = problems(text)
        .iter()
        .map(|p| p.split(':').nth(1).expect("line").to_owned())
        .collect();
    assert_eq!(lines, ["2", "3", "4", "4", "5"]);
}
