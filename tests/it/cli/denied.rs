//! A tool that policy denies is invisible through every door, and rules that cannot be meant are
//! errors.

use serde_json::{Value, json};

use super::{World, ids, text};

const DENIED: &str = "native:github:create_issue";

fn world() -> World {
    World::with_config(
        r#"{ agents: { list: [{ id: "intern", tools: { deny: ["native:github:create_issue"] } }] } }"#,
    )
}

/// The same question about another name, its answer put under the first one's name.
fn as_if(answer: &Value, other: &str) -> Value {
    serde_json::from_str(&answer.to_string().replace(other, DENIED)).expect("json")
}

#[test]
fn no_list_and_no_count_shows_it() {
    let world = world();
    let list = |args: &[&str]| {
        let mut all = vec!["catalog", "list"];
        all.extend(args);
        world.json(&all, 0)
    };
    let (everyone, intern) = (list(&[]), list(&["--agent", "intern"]));
    assert!(ids(&everyone["tools"]).contains(&DENIED));
    assert!(!intern.to_string().contains(DENIED));
    assert_eq!(
        ids(&everyone["tools"]).len(),
        ids(&intern["tools"]).len() + 1
    );
    let found = world.json(
        &["search", "create issue", "-n", "20", "--agent", "intern"],
        0,
    );
    assert!(!found.to_string().contains(DENIED), "{found}");
    let sizes = |args: &[&str]| {
        let mut all = vec!["catalog", "estimate"];
        all.extend(args);
        world.json(&all, 0)["direct"]["tools"].as_u64()
    };
    assert_eq!(
        sizes(&[]),
        sizes(&["--agent", "intern"]).map(|count| count + 1)
    );
}

#[test]
fn describe_and_call_answer_as_for_a_tool_that_is_not_there() {
    let world = world();
    let nobody = "native:github:create_iXXue";
    for command in ["describe", "call"] {
        let ask = |id: &str| world.json(&[command, id, "--agent", "intern"], 2);
        let (denied, missing) = (ask(DENIED), ask(nobody));
        assert_eq!(denied["error"]["code"], "not_found");
        assert_eq!(denied["error"]["code"], missing["error"]["code"]);
        let message = |answer: &Value| answer["error"]["message"].clone();
        assert_eq!(message(&denied), message(&as_if(&missing, nobody)));
        let near = missing["error"]["suggestions"].to_string();
        assert!(!near.contains(DENIED), "{near}");
    }
    assert_eq!(
        world.run(&["describe", DENIED]).code,
        0,
        "others still see it"
    );
}

#[test]
fn a_program_cannot_see_it_either() {
    let world = world();
    let program = world.write(
        "p.js",
        r#"const hits = await tools.search("create_issue", {limit: 20});
           const errors = [];
           for (const ask of [() => tools.describe("native:github:create_issue"),
                              () => tools.call("native:github:create_issue", {title: "x"})]) {
             try { await ask(); errors.push("answered"); } catch (error) { errors.push(error.message); }
           }
           return { hits: hits.map((hit) => hit.id), errors };"#,
    );
    let ran = world.json(&["run", text(&program), "--agent", "intern"], 0);
    let hits = ran["value"]["hits"].to_string();
    assert!(!hits.contains(DENIED), "{hits}");
    let errors = ran["value"]["errors"].as_array().expect("errors");
    assert_eq!(errors.len(), 2);
    for error in errors {
        assert!(
            error
                .as_str()
                .is_some_and(|text| text.contains("No tool is named")),
            "{error}"
        );
    }
    assert_eq!(ran["calls"], json!([]));
}

#[test]
fn an_allow_list_that_covers_nothing_is_loud() {
    let world = World::with_config(r#"{ tools: { allow: ["mcp:nothing:*", "nope"] } }"#);
    let ran = world.run(&["search", "issue"]);
    ran.fails(2, &["mcp:nothing:*", "nope", "next:"]);
}

#[test]
fn groups_profiles_and_layers_only_narrow() {
    let world = World::with_config(
        r#"{ tools: { profile: "small", profiles: { small: { allow: ["group:issues", "native:slack:*"] } },
                      groups: { issues: ["native:github:*issue*"] }, deny: ["native:github:delete_*"] },
             agents: { list: [{ id: "reader", tools: { allow: ["*get_*", "*search_*"] } }] } }"#,
    );
    let owners = |args: &[&str]| {
        let mut all = vec!["catalog", "list"];
        all.extend(args);
        let listed = world.json(&all, 0);
        let tools = listed["tools"].as_array().expect("tools").clone();
        tools
            .iter()
            .map(|tool| tool["id"].as_str().expect("an id").to_owned())
            .filter(|id| !id.starts_with("native:toolsearch:"))
            .collect::<Vec<_>>()
    };
    let everyone = owners(&[]);
    let fits = |id: &String| id.starts_with("native:github:") || id.starts_with("native:slack:");
    assert!(
        !everyone.is_empty() && everyone.iter().all(fits),
        "{everyone:?}"
    );
    let reader = owners(&["--agent", "reader"]);
    assert!(!reader.is_empty() && reader.len() < everyone.len());
    assert!(reader.iter().all(|id| everyone.contains(id)));
    let bad = World::with_config(r#"{ tools: { allow: ["group:nope"] } }"#);
    bad.run(&["search", "x"]).fails(2, &["group:nope", "next:"]);
    let bad = World::with_config(r#"{ tools: { profile: "nope" } }"#);
    bad.run(&["search", "x"]).fails(2, &["nope", "full"]);
}
