//! A configuration that changes while clients are connected, and the end of the gateway.

#[cfg(target_os = "linux")]
use std::fs;

use serde_json::{Map, Value, json};

use super::caller::{Caller, request};
use crate::support::{Home, HttpGateway, Upstream, eventually, json_text};

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("Will {name}."), "inputSchema": { "type": "object" } })
}

fn configure(home: &Home, servers: &[&str]) {
    let servers: Map<String, Value> = servers
        .iter()
        .map(|owner| Upstream::new(owner, vec![tool(&format!("use_{owner}"))]).install(home))
        .collect();
    home.configure(&json!({ "mode": "tools" }), &Value::Object(servers));
}

fn found(caller: &Caller, owner: &str) -> bool {
    let query = json!({ "query": format!("use {owner}") });
    let answer = json_text(&caller.call("tool_search", &query));
    let id = format!("mcp:{owner}:use_{owner}");
    let hits = answer["candidates"].as_array().unwrap();
    hits.iter().any(|hit| hit["id"] == id.as_str())
}

/// Processes of the servers of this home whose names begin so.
#[cfg(target_os = "linux")]
fn processes_of(home: &Home, owner: &str) -> Vec<String> {
    let mark = home.path(owner).display().to_string();
    let mut ids = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(&mark) && line.contains("scripted-server") {
            ids.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    ids
}

/// CTX-03: an added and a removed server reach a session that is open.
#[test]
fn a_changed_file_reaches_open_sessions() {
    let home = Home::new();
    configure(&home, &["stays", "goes"]);
    let gateway = HttpGateway::start(&home, &[]);
    let caller = Caller::open(&gateway, "/mcp", None);
    eventually("both servers are there", || {
        (found(&caller, "stays") && found(&caller, "goes")).then_some(())
    });
    #[cfg(target_os = "linux")]
    let process = processes_of(&home, "stays");
    configure(&home, &["stays", "comes"]);
    gateway.says("the changed configuration is in force");
    eventually("the new server is found", || {
        found(&caller, "comes").then_some(())
    });
    assert!(!found(&caller, "goes"));
    let gone = caller.call(
        "tool_call",
        &json!({ "id": "mcp:goes:use_goes", "args": {} }),
    );
    assert_eq!(gone["isError"], true, "{gone}");
    let stays = caller.call(
        "tool_call",
        &json!({ "id": "mcp:stays:use_stays", "args": {} }),
    );
    assert_ne!(stays["isError"], true, "{stays}");
    // A server that stayed as it was is still the same process.
    #[cfg(target_os = "linux")]
    assert_eq!(processes_of(&home, "stays"), process);
}

#[test]
fn a_bad_file_changes_nothing_and_is_told() {
    let home = Home::new();
    configure(&home, &["stays"]);
    let gateway = HttpGateway::start(&home, &[]);
    let caller = Caller::open(&gateway, "/mcp", None);
    eventually("the server is there", || {
        found(&caller, "stays").then_some(())
    });
    home.configure_text("{ tools: { toolSearch: { mode: 'dance' } } }");
    gateway.says("the previous one stays");
    assert!(found(&caller, "stays"));
    assert!(found(&Caller::open(&gateway, "/mcp", None), "stays"));
    configure(&home, &["stays", "comes"]);
    gateway.says("the changed configuration is in force");
    eventually("the new server is found", || {
        found(&caller, "comes").then_some(())
    });
}

/// TRN-27: nothing of the servers is left.
#[cfg(target_os = "linux")]
#[test]
fn asked_to_end_it_ends_its_servers_too() {
    let home = Home::new();
    configure(&home, &["one", "two"]);
    let mut gateway = HttpGateway::start(&home, &[]);
    let caller = Caller::open(&gateway, "/mcp", None);
    eventually("both servers are there", || {
        (found(&caller, "one") && found(&caller, "two")).then_some(())
    });
    assert_eq!(processes_of(&home, "").len(), 2);
    let ready = request(gateway.address(), "GET", "/readyz", &[], "");
    assert_eq!(ready.status, 200, "{}", ready.body);
    gateway.signal("TERM");
    assert!(gateway.wait().success());
    assert_eq!(processes_of(&home, ""), Vec::<String>::new());
}
