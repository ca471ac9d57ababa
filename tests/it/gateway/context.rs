//! Cases CTX: what a client reads is the same bytes whatever the order, and says what is inside.

use serde_json::{Map, Value, json};

use super::caller::Caller;
use crate::support::{Home, HttpGateway, Upstream, eventually, names};

fn tools(owner: &str, count: usize) -> Vec<Value> {
    let tool = |number: usize| {
        json!({ "name": format!("{owner}_{number}"), "description": format!("Tool {number} of {owner}."),
            "inputSchema": { "type": "object", "properties": { "x": { "type": "string" } } } })
    };
    (0..count).map(tool).collect()
}

fn gateway(setting: &Value, owners: &[&str], reversed: bool, count: usize) -> (Home, HttpGateway) {
    let home = Home::new();
    let mut servers = Map::new();
    for owner in owners {
        let mut list = tools(owner, count);
        if reversed {
            list.reverse();
        }
        let (name, entry) = Upstream::new(owner, list).install(&home);
        servers.insert(name, entry);
    }
    home.configure(setting, &Value::Object(servers));
    let gateway = HttpGateway::start(&home, &[]);
    (home, gateway)
}

/// What a client reads at first: list and instructions.
fn read(gateway: &HttpGateway, owners: &[&str]) -> String {
    eventually("all servers are listed", || {
        let caller = Caller::open(gateway, "/mcp", None);
        let text = json!([caller.list(), caller.hello["instructions"]]).to_string();
        owners
            .iter()
            .all(|owner| text.contains(owner))
            .then_some(text)
    })
}

/// CTX-01.
#[test]
fn order_of_servers_and_tools_changes_no_byte() {
    for setting in [json!(false), json!({ "mode": "directory" })] {
        let mut seen = Vec::new();
        for (owners, reversed) in [(["a", "b", "c"], false), (["c", "a", "b"], true)] {
            let (_home, gateway) = gateway(&setting, &owners, reversed, 4);
            seen.push(read(&gateway, &["a_3", "b_3", "c_3"]));
        }
        assert_eq!(seen[0], seen[1], "{setting}");
    }
}

/// CTX-04: few small tools are shown as they are, many are not, and who asks for a mode gets it.
#[test]
fn a_small_catalog_is_shown_directly_unless_a_mode_is_asked_for() {
    for (count, path, direct) in [
        (5, "/mcp", true),
        (30, "/mcp", false),
        (5, "/mcp?mode=tools", false),
        (30, "/mcp?mode=direct", true),
    ] {
        let home = Home::new();
        let (name, entry) = Upstream::new("small", tools("small", count)).install(&home);
        let servers = json!({ "mcpServers": { name: entry }, "agents": {} });
        home.configure_text(&servers.to_string());
        let gateway = HttpGateway::start(&home, &[]);
        let shown = eventually("the server is listed", || {
            let names: Vec<String> = names(&Caller::open(&gateway, path, None).list())
                .iter()
                .map(ToString::to_string)
                .collect();
            let listed = names.iter().any(|name| name.starts_with("small_"));
            (listed == direct).then_some(names)
        });
        assert_eq!(shown.len() == count, direct, "{count} {path}: {shown:?}");
    }
}

/// CTX-05.
#[test]
fn instructions_name_what_is_behind_in_a_fixed_order() {
    let owners = ["datadog", "github"];
    let (_home, gateway) = gateway(&json!({ "mode": "tools" }), &owners, false, 2);
    let text = read(&gateway, &owners);
    for words in ["Tools of: datadog, github.", "datadog (2), github (2)"] {
        assert!(text.contains(words), "{text}");
    }
}
