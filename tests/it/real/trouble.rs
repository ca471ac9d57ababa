//! Servers that are broken beside one that works, and a tool that a server adds late.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::real;
use super::world::NODE;
use crate::support::{Gateway, Home, Lines, Mode, eventually, names};

/// One that is not there, one that prints anything but messages, one that never answers.
const BAD: [&str; 3] = ["absent", "chatty", "mute"];

fn bad_servers(start_timeout_ms: u64) -> Value {
    let silence = "while read -r line; do :; done";
    let chatter = format!("echo 'Server ready on port 3000!'; echo '{{}}'; echo; {silence}");
    json!({
        "absent": { "command": "/nowhere/mcp-server-absent" },
        "chatty": { "command": "sh", "args": ["-c", chatter], "startTimeoutMs": start_timeout_ms },
        "mute": { "command": "sh", "args": ["-c", silence], "startTimeoutMs": start_timeout_ms },
    })
}

/// A home with the bad servers beside a memory that works.
fn home(start_timeout_ms: u64) -> Home {
    let home = Home::new();
    let mut servers = bad_servers(start_timeout_ms);
    servers["memory"] = json!({
        "command": real(&format!("{NODE}/mcp-server-memory")),
        "env": { "MEMORY_FILE_PATH": home.path("memory.jsonl") },
    });
    home.configure(&Mode::Tools.setting(), &servers);
    home
}

#[test]
fn bad_servers_hold_nobody_up() {
    let patience = Duration::from_secs(60);
    let started = Instant::now();
    let mut gateway = Gateway::serve(home(60_000));
    assert_eq!(
        names(&gateway.list()),
        ["tool_search", "tool_describe", "tool_call"]
    );
    eventually("the healthy server is found", || {
        let found = gateway.found("create entities in the graph");
        found
            .contains(&"mcp:memory:create_entities".to_owned())
            .then_some(())
    });
    let entity = json!({ "name": "x", "entityType": "thing", "observations": [] });
    gateway.tool(
        "mcp:memory:create_entities",
        &json!({ "entities": [entity] }),
    );
    assert!(gateway.home.path("memory.jsonl").is_file());
    let answer = gateway.search("qzxv wqpk");
    assert_eq!(answer["reason"], "still_connecting", "{answer}");
    assert!(
        started.elapsed() < patience,
        "all of this did not wait for the mute server"
    );
}

#[test]
fn bad_servers_are_named_where_tools_are_missed() {
    let home = home(1500);
    let document = home.document(&["catalog", "list", "--json"]);
    let servers = document["servers"].as_array().unwrap();
    assert_eq!(names(servers), ["absent", "chatty", "memory", "mute"]);
    for server in servers {
        let healthy = server["name"] == "memory";
        assert_eq!(
            server["state"],
            if healthy { "ready" } else { "failed" },
            "{server}"
        );
        let error = server["error"].as_str().unwrap_or_default();
        assert_eq!(error.is_empty(), healthy, "{server}");
    }
    assert!(
        servers[1]["error"]
            .as_str()
            .unwrap()
            .contains("Server ready on port 3000!"),
        "{document}"
    );
    let tools = document["tools"].as_array().unwrap();
    assert!(
        tools
            .iter()
            .any(|tool| tool["id"] == "mcp:memory:read_graph")
    );

    let answer = home.document(&["search", "--json", "qzxv wqpk"]);
    assert_eq!(answer["reason"], "server_unavailable");
    assert_eq!(unavailable(&answer), BAD);

    let mut gateway = Gateway::serve(home);
    // The healthy server's tools are known from before, so it need not be up yet.
    let answer = eventually("all three have failed, and nothing else is missing", || {
        // The same words again and again would be told to stop.
        let query = format!("qzxv {:?}", Instant::now());
        let answer = gateway.search(&query);
        let notes = answer["unavailable"].as_array().unwrap().clone();
        let failed = notes.iter().filter(|note| note["state"] == "failed");
        let only = failed.count() == BAD.len() && notes.len() == BAD.len();
        only.then_some(answer)
    });
    assert_eq!(unavailable(&answer), BAD);
    assert_eq!(answer["reason"], "server_unavailable", "{answer}");
    assert!(
        answer["note"].as_str().unwrap().contains("do not retry"),
        "{answer}"
    );
}

fn unavailable(answer: &Value) -> Vec<&str> {
    let notes = answer["unavailable"].as_array().unwrap();
    notes
        .iter()
        .map(|note| note["server"].as_str().unwrap())
        .collect()
}

/// `server-everything` has one tool more after `initialized` than before.
#[test]
fn a_tool_that_comes_late_is_found() {
    let program = real(&format!("{NODE}/mcp-server-everything"));
    let late = late_tool(&program);
    let home = Home::new();
    let servers = json!({ "everything": { "command": program, "args": ["stdio"] } });
    home.configure(&Mode::Tools.setting(), &servers);
    let mut gateway = Gateway::serve(home);
    let id = format!("mcp:everything:{late}");
    eventually(&format!("{id} is found"), || {
        gateway
            .found(&late.replace(['-', '_'], " "))
            .contains(&id)
            .then_some(())
    });
    let described = gateway.describe(&id);
    assert_eq!(described["name"], late);
}

/// The tool that the server itself lists only after the handshake.
fn late_tool(program: &str) -> String {
    let mut command = std::process::Command::new(program);
    command.arg("stdio");
    let mut server = Gateway::greet_slowly(Lines::start(command), Home::new());
    let before = server.list();
    server.notify("notifications/initialized");
    let before = names(&before);
    eventually("a tool comes late", || {
        let after = server.list();
        let mut late = names(&after)
            .into_iter()
            .filter(|name| !before.contains(name));
        late.next().map(str::to_owned)
    })
}
