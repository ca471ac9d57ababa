//! Session logs and the four questions.

use std::fs;

use serde_json::{Value, json};

use super::World;

#[test]
fn the_four_questions_are_answered() {
    let world = World::new();
    let program = "const [hit] = await tools.search('create a github issue');\n\
                   await tools.describe(hit.id);\n\
                   return (await tools.call(hit.id, {title: 'x'})).tool;";
    assert_eq!(world.feed(&["run"], program).code, 0);
    let shown = world.json(&["sessions", "show"], 0);
    assert_eq!(shown["schemasSeenAtFirst"], 1);
    assert_eq!(
        (&shown["searches"], &shown["describes"]),
        (&json!(1), &json!(1))
    );
    let call = &shown["calls"][0];
    assert_eq!(call["id"], "native:github:create_issue");
    assert_eq!(
        (&call["source"], &call["ok"]),
        (&json!("native"), &json!(true))
    );
    assert!(call["parent"].is_string(), "the program is the parent");
    assert_eq!(shown["mode"], "code");
    assert!(shown["bytes"]["toolBytes"].as_u64() < shown["bytes"]["directToolBytes"].as_u64());
    assert!(shown["tokens"]["sent"].as_u64() < shown["tokens"]["direct"].as_u64());
    let ran = world.run(&["sessions", "show", "last"]);
    for answer in [
        "1 of ",
        "1 and 1",
        "native:github:create_issue",
        "a native tool",
    ] {
        assert!(ran.out.contains(answer), "{answer}: {}", ran.out);
    }
}

#[test]
fn every_command_on_tools_leaves_one_log() {
    let world = World::new();
    world.run(&["search", "invoice"]);
    world.run(&["describe", "native:github:create_issue"]);
    world.run(&["call", "native:github:create_issue", "title=secret-title"]);
    let listed = world.json(&["sessions", "list"], 0);
    let sessions = listed["sessions"].as_array().expect("sessions");
    assert_eq!(sessions.len(), 3);
    let count = |key: &str| {
        sessions
            .iter()
            .filter_map(|one| one[key].as_u64())
            .sum::<u64>()
    };
    assert_eq!(
        (count("searches"), count("describes"), count("calls")),
        (1, 1, 1)
    );
    assert_eq!(
        sessions[0]["lastCall"], "native:github:create_issue",
        "the latest first"
    );
    for session in sessions {
        let id = session["session"].as_str().expect("a name");
        assert_eq!(world.json(&["sessions", "show", id], 0)["session"], id);
    }
    let text: String = fs::read_dir(world.logs())
        .expect("a folder")
        .map(|entry| fs::read_to_string(entry.expect("an entry").path()).expect("a log"))
        .collect();
    assert!(
        !text.contains("secret-title"),
        "no argument gets into a log"
    );
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).expect("a line of json");
        assert_eq!(line["v"], 1);
    }
}

#[cfg(unix)]
#[test]
fn logs_are_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.run(&["search", "invoice"]);
    let log = fs::read_dir(world.logs())
        .expect("a folder")
        .next()
        .expect("a log");
    let mode = log
        .expect("an entry")
        .metadata()
        .expect("metadata")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn the_folder_of_the_logs_may_be_said() {
    let world = World::with_config("{ telemetry: { dir: 'my-logs' } }");
    assert_eq!(world.run(&["search", "invoice"]).code, 0);
    assert_eq!(
        fs::read_dir(world.path("my-logs"))
            .expect("a folder")
            .count(),
        1
    );
    assert!(!world.logs().exists());
}

#[test]
fn a_log_that_cannot_be_written_costs_nothing_but_a_warning() {
    let world = World::with_config("{ telemetry: { dir: 'file/below' } }");
    world.write("file", "no folder");
    let ran = world.run(&["search", "invoice", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("not recorded"), "{ran:?}");
    ran.document();
}

#[test]
fn unknown_sessions_are_told() {
    let world = World::new();
    world
        .run(&["sessions", "show"])
        .fails(1, &["no session logs yet", "next:"]);
    for name in ["nope", "../../etc/passwd", ""] {
        world
            .run(&["sessions", "show", name])
            .fails(2, &["there is no log"]);
    }
    assert_eq!(
        world.json(&["sessions", "list"], 0),
        json!({ "sessions": [] })
    );
}

#[test]
fn sessions_are_added_up_followed_and_exported() {
    let world = World::new();
    let title = "title=planted-title";
    world.run(&["search", "create issue"]);
    assert_eq!(
        world
            .run(&["call", "native:github:create_issue", title])
            .code,
        0
    );
    assert_ne!(world.run(&["call", "native:github:create_issue"]).code, 0);
    let stats = world.json(&["sessions", "stats"], 0);
    assert_eq!(
        (&stats["sessions"], &stats["calls"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(stats["searches"], 1);
    assert_eq!(stats["sources"], json!({ "native": 2 }));
    assert_eq!(stats["failed"], json!({ "invalid_arguments": 1 }));
    assert_eq!(
        stats["tools"][0],
        json!({ "id": "native:github:create_issue", "calls": 2 })
    );
    assert_eq!(
        world.json(&["sessions", "stats", "-n", "1"], 0)["sessions"],
        1
    );
    let exported = world.run(&["sessions", "export"]);
    let events: Vec<Value> = exported
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect();
    assert_eq!(events[0]["event"], "opened");
    assert!(
        events.iter().any(|event| event["event"] == "called"),
        "{events:?}"
    );
    assert!(!exported.out.contains("planted-title"));
    let told = world.run(&["sessions", "tail", "--no-follow"]);
    assert!(
        told.out
            .contains("called native:github:create_issue: invalid_arguments"),
        "{told:?}"
    );
    world
        .run(&["sessions", "tail", "nothing"])
        .fails(2, &["nothing", "sessions list"]);
}
