//! Names as servers choose them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{bare, tool};
use crate::support::{Gateway, Mode, Upstream, names, text};

fn is_provider_name(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=64).contains(&name.len()) && name.chars().all(legal)
}

/// Opens the same servers in a mode.
fn open(mode: Mode, servers: &[(&str, &[&str])]) -> Gateway {
    let upstreams: Vec<Upstream> = servers
        .iter()
        .map(|(owner, tools)| Upstream::new(owner, tools.iter().map(|name| bare(name)).collect()))
        .collect();
    Gateway::open(mode, &upstreams)
}

/// The names under which tools are declared, and which tool of which server each of them reaches.
fn reached(servers: &[(&str, &[&str])]) -> BTreeMap<String, (String, String)> {
    let mut gateway = open(Mode::Direct, servers);
    let list = gateway.list();
    let mut reached = BTreeMap::new();
    for alias in names(&list) {
        assert!(is_provider_name(alias), "{alias}");
        let before: Vec<usize> = servers
            .iter()
            .map(|(owner, _)| gateway.received(owner).len())
            .collect();
        let result = gateway.call(alias, &json!({}));
        assert_eq!(result["isError"], false, "{alias}: {result}");
        for ((owner, _), before) in servers.iter().zip(before) {
            for (name, _) in gateway.received(owner).drain(before..) {
                let old = reached.insert(alias.to_owned(), ((*owner).to_owned(), name));
                assert_eq!(old, None, "{alias} reached two tools");
            }
        }
    }
    reached
}

#[test]
fn nam_01_one_name_on_several_servers() {
    let servers: [(&str, &[&str]); 4] = [
        ("ledger", &["export"]),
        ("photos", &["export"]),
        ("shop-live", &["refund"]),
        ("shop-test", &["refund"]),
    ];
    let mut gateway = open(Mode::Tools, &servers);
    for (name, owners) in [
        ("export", ["ledger", "photos"]),
        ("refund", ["shop-live", "shop-test"]),
    ] {
        let result = gateway.call("tool_call", &json!({ "id": name, "args": {} }));
        assert_eq!(result["isError"], true);
        for owner in owners {
            assert!(
                text(&result).contains(&format!("mcp:{owner}:{name}")),
                "{result}"
            );
            assert_eq!(gateway.received(owner), []);
        }
        for owner in owners {
            gateway.tool(&format!("mcp:{owner}:{name}"), &json!({ "to": owner }));
            assert_eq!(
                gateway.received(owner),
                [(name.to_owned(), json!({ "to": owner }))]
            );
        }
    }
    let reached = reached(&servers);
    assert_eq!(reached.len(), 4);
    let targets: Vec<&(String, String)> = reached.values().collect();
    for (owner, tools) in servers {
        let target = (owner.to_owned(), tools[0].to_owned());
        assert!(targets.contains(&&target), "{target:?}: {reached:?}");
    }
}

#[test]
fn nam_02_names_that_clean_to_the_same_text() {
    let same = [
        "list.items",
        "list_items",
        "list-items",
        "List_Items",
        "list/items",
    ];
    let forward = reached(&[("store", &same)]);
    assert_eq!(forward.len(), same.len());
    for name in same {
        assert!(
            forward.values().any(|(_, reached)| reached == name),
            "{name}: {forward:?}"
        );
    }
    let mut turned = same;
    turned.reverse();
    turned.swap(0, 2);
    assert_eq!(
        reached(&[("store", &turned)]),
        forward,
        "the order of a list decides nothing"
    );

    let mut gateway = open(Mode::Tools, &[("store", &same)]);
    for name in same {
        gateway.tool(&format!("mcp:store:{name}"), &json!({}));
        assert_eq!(gateway.received("store").pop().unwrap().0, name);
    }
}

#[test]
fn nam_03_names_in_other_scripts() {
    let tools = [
        "发送消息",
        "读取日历",
        "メモを書く",
        "🚀deploy",
        "naïve",
        "naïvé",
    ];
    let servers: [(&str, &[&str]); 1] = [("办公室", &tools)];
    let forward = reached(&servers);
    assert_eq!(forward.len(), tools.len(), "{forward:?}");
    assert_eq!(reached(&servers), forward, "the same names every time");

    let mut gateway = open(Mode::Tools, &servers);
    for name in tools {
        assert!(
            gateway.found(name).contains(&format!("mcp:办公室:{name}")),
            "{name}"
        );
        let described = gateway.describe(name);
        assert_eq!(described["name"], name);
        gateway.tool(name, &json!({}));
        assert_eq!(gateway.received("办公室").pop().unwrap().0, name);
    }
    for (alias, (_, name)) in &forward {
        gateway.tool(alias, &json!({}));
        assert_eq!(
            gateway.received("办公室").pop().unwrap().0,
            *name,
            "by its alias {alias}"
        );
    }
}

#[test]
fn nam_05_legal_names_that_providers_refuse() {
    let tools = [
        "team.members.list",
        "invoice-draft/send",
        "jobs:retry",
        "EXPORT_v3",
    ];
    let servers: [(&str, &[&str]); 1] = [("erp", &tools)];
    let aliases = reached(&servers);
    let mut gateway = open(Mode::Tools, &servers);
    for (alias, (_, name)) in &aliases {
        for spelling in [name, alias] {
            assert_eq!(gateway.describe(spelling)["name"], **name, "{spelling}");
            gateway.tool(spelling, &json!({}));
            assert_eq!(
                gateway.received("erp").pop().unwrap().0,
                *name,
                "{spelling}"
            );
        }
    }
    let mut gateway = open(Mode::Directory, &servers);
    for (alias, (_, name)) in &aliases {
        for spelling in [name, alias] {
            let result = gateway.call(spelling, &json!({}));
            assert_eq!(result["isError"], false, "{spelling}: {result}");
            assert_eq!(
                gateway.received("erp").pop().unwrap().0,
                *name,
                "{spelling}"
            );
        }
    }
}

#[test]
fn nam_07_hyphens_are_part_of_a_name() {
    let library = json!({ "type": "object", "properties": { "library": { "type": "string" } }, "required": ["library"] });
    let tools: Vec<Value> = vec![
        tool("resolve-docs-id", library),
        tool(
            "get-docs",
            json!({ "type": "object", "properties": { "id": { "type": "string" } } }),
        ),
        bare("search"),
    ];
    let mut gateway = Gateway::open(Mode::Tools, &[Upstream::new("docs-hub", tools)]);
    let args = json!({ "library": "serde" });
    for spelling in [
        "resolve-docs-id",
        "mcp:docs-hub:resolve-docs-id",
        "docs-hub:resolve-docs-id",
        // What a model makes of it.
        "resolve_docs_id",
    ] {
        gateway.tool(spelling, &args);
        let call = gateway.received("docs-hub").pop().unwrap();
        assert_eq!(
            call,
            ("resolve-docs-id".to_owned(), args.clone()),
            "{spelling}"
        );
    }
    assert_eq!(gateway.received("docs-hub").len(), 4);
}
