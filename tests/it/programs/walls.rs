//! What walls a configuration asks for, and what becomes of programs where one does not stand.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Gateway, Home, Lines};

/// A wall that QuickJS never has: it belongs to Node.
const STRICT: &str = r#"{
  sandbox: { require: ["seccomp", "permission"] },
  tools: { toolSearch: { mode: "code", engine: "quickjs" } },
}"#;

fn home(config: &str) -> Home {
    let home = Home::new();
    home.configure_text(config);
    fs::write(home.path("program.js"), "return 1;").unwrap();
    home
}

#[test]
fn nothing_runs_behind_fewer_walls_than_asked_for() {
    let strict = home(STRICT);
    let output = strict.run(&["run", "program.js"]);
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("permission") && !told.contains("seccomp"),
        "{told}"
    );

    let held = home(r#"{ sandbox: { require: ["process", "rlimits", "seccomp"] } }"#);
    assert_eq!(held.document(&["run", "program.js", "--json"])["value"], 1);
}

#[test]
fn mode_code_becomes_tools_and_that_is_said_once() {
    let home = home(STRICT);
    let mut command = home.command(&["serve"]);
    let errors = fs::File::create(home.path("errors")).unwrap();
    command.stderr(Stdio::from(errors));
    let mut gateway = Gateway::greet(Lines::start(command), home.twin());
    for _ in 0..2 {
        let names: Vec<Value> = gateway
            .list()
            .iter()
            .map(|tool| tool["name"].clone())
            .collect();
        assert!(names.contains(&json!("tool_search")), "{names:?}");
        assert!(!names.contains(&json!("tool_search_code")), "{names:?}");
    }
    drop(gateway);
    let told = fs::read_to_string(home.path("errors")).unwrap();
    assert_eq!(told.matches("permission").count(), 1, "{told}");
}

#[test]
fn doctor_tells_the_walls_also_where_they_do_not_suffice() {
    let checks = |config: &str| home(config).document(&["doctor", "--json"]);
    let entry = |document: &Value, name: &str| {
        let checks = document["checks"].as_array().unwrap();
        let found = checks.iter().find(|check| check["name"] == name);
        found
            .unwrap_or_else(|| panic!("{name}: {document}"))
            .clone()
    };
    let fine = checks("{}");
    let walls = entry(&fine, "engine quickjs")["detail"].to_string();
    for wall in ["process", "no_new_privs", "landlock", "rlimits", "seccomp"] {
        assert!(walls.contains(wall), "{walls}");
    }
    let output = home(STRICT).run(&["doctor", "--json"]);
    let strict: Value = serde_json::from_slice(&output.stdout).unwrap();
    let refused = entry(&strict, "engine quickjs")["detail"].to_string();
    assert!(
        refused.contains("permission") && refused.contains("rlimits"),
        "{refused}"
    );
    assert_eq!(entry(&strict, "mode")["status"], "fail", "{strict}");
}

#[test]
fn a_wall_that_nobody_has_is_a_mistake_of_the_configuration() {
    let output = home(r#"{ sandbox: { require: ["secomp"] } }"#).run(&["run", "program.js"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("sandbox.require") && told.contains("seccomp"),
        "{told}"
    );
}
