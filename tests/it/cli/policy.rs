//! The operator asks the rules: what every layer says, and whether decisions are as a file expects.

use serde_json::{Value, json};

use super::{World, text};

const RULES: &str = r#"{
  tools: {
    profile: "coding", deny: ["*:delete_*"], ask: ["*:merge_*"],
    byProvider: { "openai/small": { deny: ["group:vcs"] } },
    byChannel: { mail: { ask: ["group:tickets"] } },
    sandbox: { deny: ["create_issue"] },
    subagents: { ask: ["list_issues"] },
  },
  agents: { list: [
    { id: "intern", tools: { allow: ["get_*", "list_*"] } },
    { id: "owner", tools: { profile: "full", byProvider: { openai: { deny: ["github:add_*"] } } } },
  ] },
}"#;

const CREATE: &str = "native:github:create_issue";

fn layer<'a>(explained: &'a Value, name: &str) -> &'a Value {
    let layers = explained["layers"].as_array().expect("layers");
    let found = layers.iter().find(|one| one["layer"] == name);
    found.unwrap_or_else(|| panic!("{name}: {explained}"))
}

#[test]
fn explain_tells_every_layer_in_order_also_for_a_denied_tool() {
    let world = World::with_config(RULES);
    let denied = world.json(&["policy", "explain", CREATE, "--agent", "intern"], 0);
    assert_eq!(denied["decision"], "deny");
    assert_eq!(denied["listed"], true);
    assert_eq!(denied["reason"]["layer"], "agent intern");
    let mut stages: Vec<&str> = denied["layers"]
        .as_array()
        .expect("layers")
        .iter()
        .map(|one| one["stage"].as_str().expect("a stage"))
        .collect();
    stages.dedup();
    assert_eq!(
        stages,
        [
            "profile",
            "provider",
            "global",
            "agent",
            "agent-provider",
            "sandbox",
            "subagent",
            "channel",
            "session"
        ]
    );
    assert_eq!(
        layer(&denied, "profile coding")["rule"],
        "allow group:vcs (github:*)"
    );
    assert_eq!(
        layer(&denied, "profile full of agent owner")["applies"],
        false
    );
    assert_eq!(layer(&denied, "global")["rule"], "no rule covers it");
    let intern = layer(&denied, "agent intern");
    assert_eq!(
        (&intern["applies"], &intern["decision"], &intern["rule"]),
        (
            &json!(true),
            &json!("deny"),
            &json!("not in the allow list")
        )
    );
    assert_eq!(layer(&denied, "session")["rule"], "no rules are set");
    let ran = world.run(&["policy", "explain", "create_issue", "--agent", "intern"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    for part in [
        "deny native:github:create_issue",
        "agent intern",
        "global",
        "no rules are set",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    assert!(!world.logs().exists(), "asking is no session");
}

#[test]
fn every_part_of_a_subject_counts() {
    let world = World::with_config(RULES);
    for (args, decision, decider) in [
        (&[CREATE][..], "allow", ""),
        (
            &[CREATE, "--provider", "openai/small"],
            "deny",
            "provider openai/small",
        ),
        (&[CREATE, "--provider", "openai/large"], "allow", ""),
        (&[CREATE, "--channel", "mail"], "ask", "channel mail"),
        (&[CREATE, "--channel", "chat"], "allow", ""),
        (&[CREATE, "--sandbox"], "deny", "sandbox"),
        (
            &[CREATE, "--agent", "owner", "--parent", "intern"],
            "deny",
            "agent intern",
        ),
        (
            &[
                "native:github:list_issues",
                "--agent",
                "owner",
                "--parent",
                "intern",
            ],
            "ask",
            "subagents",
        ),
        (
            &[
                "native:github:add_label",
                "--agent",
                "owner",
                "--provider",
                "openai/x",
            ],
            "deny",
            "agent owner with provider openai",
        ),
        (&["native:slack:send_message"], "deny", "profile coding"),
        (
            &["native:slack:send_message", "--agent", "owner"],
            "allow",
            "",
        ),
        (
            &["mcp:absent:delete_all", "--agent", "owner"],
            "deny",
            "global",
        ),
    ] {
        let mut all = vec!["policy", "explain"];
        all.extend(args);
        let said = world.json(&all, 0);
        assert_eq!(said["decision"], decision, "{args:?}: {said}");
        let reason = said["reason"]["layer"].as_str().unwrap_or_default();
        assert_eq!(reason, decider, "{args:?}");
    }
    let absent = world.json(&["policy", "explain", "mcp:absent:delete_all"], 0);
    assert_eq!(absent["listed"], false);
    world
        .run(&["policy", "explain", "creat_isue"])
        .fails(2, &["creat_isue", "create_issue", "next:"]);
    world
        .run(&["policy", "explain", CREATE, "--parent", "nobody"])
        .fails(2, &["nobody", "intern", "owner"]);
}

#[test]
fn expectations_in_lines_are_checked() {
    let world = World::with_config(RULES);
    let lines = "# who may write\n\
                 native:github:create_issue -> allow\n\
                 native:github:create_issue -> deny agent=intern\n\
                 native:github:create_issue -> ask channel=mail\n\n\
                 native:github:create_issue → deny provider=openai/small\n";
    let good = world.write("good.txt", lines);
    let checked = world.json(&["policy", "check", text(&good)], 0);
    assert_eq!(checked, json!({ "checked": 4, "differ": [] }));
    let bad = world.write(
        "bad.txt",
        &format!("{lines}create_issue -> ask agent=intern\nno_such -> deny"),
    );
    let checked = world.json(&["policy", "check", text(&bad)], 1);
    assert_eq!(checked["checked"], 6);
    let differ = checked["differ"].as_array().expect("a list");
    assert_eq!(differ.len(), 2, "{checked}");
    for (key, value) in [
        ("line", json!(7)),
        ("expected", json!("ask")),
        ("found", json!("deny")),
        ("agent", json!("intern")),
    ] {
        assert_eq!(differ[0][key], value, "{checked}");
    }
    assert_eq!(differ[1]["found"], "unknown");
    let ran = world.run(&["policy", "check", text(&bad)]);
    assert_eq!(ran.code, 1, "{ran:?}");
    for part in [
        "line 7",
        "expected ask, found deny",
        "agent intern",
        "2 differ",
    ] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}

#[test]
fn expectations_in_json5_are_checked() {
    let world = World::with_config(RULES);
    let good = world.write(
        "good.json5",
        r#"// who may write
        [ { id: "native:github:create_issue", expect: "allow" },
          { id: "native:github:create_issue", expect: "deny", agent: "intern" },
          { id: "native:github:merge_pull_request", expect: "ask", agent: "owner" } ]"#,
    );
    world.json(&["policy", "check", text(&good)], 0);
    let all = world.write(
        "all.json",
        r#"[{"id": "native:slack:send_message", "expect": "deny"}]"#,
    );
    world.json(&["policy", "check", text(&all)], 0);
    let ran = world.json(&["policy", "check", text(&all), "--agent", "owner"], 1);
    assert_eq!(ran["differ"][0]["found"], "allow");
}

#[test]
fn files_that_cannot_be_meant_are_errors() {
    let world = World::with_config(RULES);
    for (file, words) in [
        ("x -> maybe", &["bad:1", "allow|ask|deny"][..]),
        ("# a\nx allow", &["bad:2"]),
        ("x -> deny who=me", &["bad:1"]),
        ("x -> deny agent=a agent=b", &["bad:1"]),
        ("x -> deny agent=nobody", &["nobody", "intern"]),
        ("\n# nothing\n", &["expects nothing"]),
        ("[]", &["expects nothing"]),
        ("{}", &["list"]),
        ("[\n{ id: 'x', expect: 'no' }]", &["bad:2", "deny"]),
        (
            "[{ id: 'x', expect: 'deny', agnet: 'a' }]",
            &["bad:1", "agnet"],
        ),
        ("[", &["bad"]),
    ] {
        let path = world.write("bad", file);
        let ran = world.run(&["policy", "check", text(&path)]);
        ran.fails(2, words);
    }
    world
        .run(&["policy", "check", "absent"])
        .fails(2, &["absent"]);
}

#[test]
fn an_allow_list_that_covers_nothing_names_near_misses() {
    let world = World::with_config(r#"{ tools: { allow: ["native:gihtub:*"] } }"#);
    let ran = world.run(&["search", "issue"]);
    ran.fails(2, &["native:gihtub:*", "near", "native:github"]);
    let bad = World::with_config(
        r#"{ tools: { profile: "a", profiles: { a: { profile: "b" }, b: { profile: "a" } } } }"#,
    );
    bad.run(&["search", "x"]).fails(2, &["circle"]);
}

#[test]
fn a_session_of_a_channel_keeps_to_its_rules() {
    let world =
        World::with_config(r#"{ tools: { byChannel: { mail: { deny: ["create_issue"] } } } }"#);
    let call = ["call", CREATE, "title=x"];
    assert_eq!(world.run(&call).code, 0);
    let mail = [&call[..], &["--channel", "mail"]].concat();
    let hidden = world.json(&mail, 2);
    assert_eq!(hidden["error"]["code"], "not_found");
    assert_eq!(
        world
            .run(&[&call[..], &["--channel", "chat"]].concat())
            .code,
        0
    );
}
