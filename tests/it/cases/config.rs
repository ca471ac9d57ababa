//! Configuration files as people write them, through the program: what the child process gets, and
//! what is told of a server that cannot run.

use serde_json::{Map, Value, json};

use super::bare;
use crate::support::{Gateway, Home, Lines, Mode, Upstream, text};

/// A server that tells its arguments and its environment.
fn telltale(owner: &str) -> Upstream {
    Upstream::new(owner, vec![bare("tell")]).answers("tell", "\"surroundings\"")
}

/// A gateway whose own environment has these variables.
fn open(home: Home, variables: &[(&str, &str)]) -> Gateway {
    let mut command = home.command(&["serve"]);
    command.envs(variables.iter().copied());
    Gateway::greet(Lines::start(command), home)
}

fn told(gateway: &mut Gateway, owner: &str) -> Value {
    let result = gateway.tool(&format!("mcp:{owner}:tell"), &json!({}));
    result["structuredContent"].clone()
}

fn configured(upstreams: &[Upstream], more: Value) -> Home {
    let home = Home::new();
    let mut servers: Map<String, Value> = upstreams
        .iter()
        .map(|upstream| upstream.install(&home))
        .collect();
    let Value::Object(more) = more else {
        panic!("servers are an object")
    };
    servers.extend(more);
    home.configure(&Mode::Tools.setting(), &Value::Object(servers));
    home
}

#[test]
fn cfg_02_variables_are_filled_in_once_and_never_passed_on() {
    let full = telltale("full")
        .with(
            "args",
            json!([
                "--root",
                "${ROOT}/data",
                "--tag=${env:TAG}",
                "${PORT:-8123}",
                "costs $5 and $$",
                "${}"
            ]),
        )
        .with(
            "env",
            json!({
                "KEPT": "${EMPTY:-instead}",
                "TRICKY": "${TRICK}",
                "PLAIN": "$ROOT",
            }),
        );
    let lacking = telltale("lacking").with("env", json!({ "TOKEN": "${NO_SUCH_VARIABLE_HERE}" }));
    let home = configured(&[full, lacking], json!({}));
    let variables = [
        ("ROOT", "/srv/r"),
        ("TAG", "v2"),
        ("EMPTY", ""),
        ("TRICK", "${ROOT}"),
    ];
    let mut gateway = open(home, &variables);
    let told = told(&mut gateway, "full");
    assert_eq!(
        told["args"],
        json!([
            "--root",
            "/srv/r/data",
            "--tag=v2",
            "8123",
            "costs $5 and $$",
            "${}"
        ])
    );
    assert_eq!(told["env"]["KEPT"], "instead");
    assert_eq!(
        told["env"]["TRICKY"], "${ROOT}",
        "a value is not filled in again"
    );
    assert_eq!(told["env"]["PLAIN"], "$ROOT");

    let answer = gateway.search("qzxv wqpk");
    let notes = answer["unavailable"].as_array().unwrap();
    assert_eq!(notes.len(), 1, "{answer}");
    assert_eq!(notes[0]["server"], "lacking");
    assert_eq!(notes[0]["state"], "needs-configuration");
    let reason = notes[0]["reason"].as_str().unwrap();
    assert!(
        reason.contains("NO_SUCH_VARIABLE_HERE") && reason.contains("env.TOKEN"),
        "{reason}"
    );
}

#[test]
fn cfg_04_variables_are_added_to_those_that_are_there() {
    let upstream =
        telltale("child").with("env", json!({ "EXTRA": "one", "SHARED": "from the file" }));
    let home = configured(&[upstream], json!({}));
    let mut gateway = open(home, &[("SHARED", "from outside"), ("INHERITED", "yes")]);
    let told = told(&mut gateway, "child");
    assert_eq!(told["env"]["PATH"], std::env::var("PATH").unwrap());
    assert_eq!(told["env"]["INHERITED"], "yes");
    assert_eq!(told["env"]["EXTRA"], "one");
    assert_eq!(told["env"]["SHARED"], "from the file");
}

#[test]
fn cfg_05_one_bad_entry_costs_itself() {
    let bad = json!({
        "only_a_limit": { "startTimeoutMs": 60000 },
        "both": { "command": "x", "url": "http://127.0.0.1:9/mcp" },
    });
    let home = configured(&[telltale("good")], bad);
    let output = home.run(&["catalog", "list", "--json"]);
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    for name in ["only_a_limit", "both"] {
        let about = complaints.lines().filter(|line| line.contains(name));
        assert_eq!(about.count(), 1, "{complaints}");
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let states: Vec<(&str, &str)> = document["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| {
            (
                server["name"].as_str().unwrap(),
                server["state"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        states,
        [
            ("both", "failed"),
            ("good", "ready"),
            ("only_a_limit", "failed")
        ]
    );
    let mut gateway = Gateway::serve(home);
    gateway.tool("mcp:good:tell", &json!({}));
}

#[test]
fn cfg_08_a_file_from_windows() {
    let home = Home::new();
    let args = json!([
        "C:\\Users\\Jo Doe\\mcp\\index.js",
        "D:\\data\\",
        "a&b",
        "%PATH%"
    ]);
    let (owner, entry) = telltale("win").with("args", args.clone()).install(&home);
    let text =
        json!({ "mcpServers": { owner: entry }, "tools": { "toolSearch": { "mode": "tools" } } });
    let text = serde_json::to_string_pretty(&text)
        .unwrap()
        .replace('\n', "\r\n");
    home.configure_text(&format!("\u{feff}{text}\r\n"));
    let mut gateway = Gateway::serve(home);
    assert_eq!(told(&mut gateway, "win")["args"], args);
}

#[test]
fn cfg_11_a_key_of_another_program_is_never_passed_over() {
    let slipped = json!({ "slipped": {
        "command": "x", "environment": { "IDLE": "60" }, "arguments": ["--y"],
    } });
    let home = configured(&[telltale("good")], slipped);
    let output = home.run(&["catalog", "list", "--json"]);
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    for (wrong, meant) in [("environment", "env"), ("arguments", "args")] {
        let about: Vec<&str> = complaints
            .lines()
            .filter(|line| {
                line.contains(&format!("`{wrong}`")) || line.contains(&format!(".{wrong}"))
            })
            .collect();
        assert!(
            about
                .iter()
                .any(|line| line.contains(&format!("`{meant}`"))),
            "{wrong}: {complaints}"
        );
        assert!(
            about.iter().any(|line| line.contains("toolsearch.json5:")),
            "{wrong}: {complaints}"
        );
    }
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn cfg_12_a_server_that_is_switched_off_is_explained() {
    let off = json!({ "painter": { "command": "x", "disabled": true } });
    let home = configured(&[telltale("notes")], off);
    let answer = home.document(&["search", "--json", "paint a picture"]);
    assert_eq!(answer["candidates"], json!([]));
    assert_eq!(answer["unavailable"][0]["server"], "painter");
    assert_eq!(answer["unavailable"][0]["state"], "disabled");
    let mut gateway = Gateway::serve(home);
    let result = gateway.call("tool_search", &json!({ "query": "paint a picture" }));
    let said = text(&result);
    assert!(
        said.contains("painter") && said.contains("disabled"),
        "{said}"
    );
}
