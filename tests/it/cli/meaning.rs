//! Search by meaning with a server of the embeddings API: what it finds, what it costs when it fails, and what
//! a person is told. Models in a folder are tested where they are read, in `toolsearch-embed-candle`.

use serde_json::{Value, json};

use super::serving::Client;
use super::{World, ids};
use crate::support::{Embeddings, Manner};

const KEY: &str = "sk-planted-4711";
/// Two of its words are known to the server alone: pin, message.
const QUERY: [&str; 4] = ["search", "chat", "qwopsi", "zubrik"];
const MEANT: &str = "native:chat:pin_message";

/// The sample tools, with an embedder.
fn world(search: &Value) -> World {
    let config = json!({ "tools": { "toolSearch": { "mode": "tools", "search": search } } });
    World::with_config(&config.to_string())
}

fn remote(base: &str) -> Value {
    json!({ "embedder": "http", "baseUrl": base, "model": "small", "apiKey": KEY,
            "queryPrefix": "query: ", "timeoutMs": 10_000 })
}

fn impatient(base: &str) -> Value {
    let mut search = remote(base);
    search["timeoutMs"] = json!(50);
    search
}

/// What `doctor` says of the embedder, and how it ends.
fn doctor(world: &World, code: i32) -> Value {
    let checks = world.json(&["doctor"], code);
    let checks = checks["checks"].as_array().expect("checks");
    let mut found = checks
        .iter()
        .filter(|check| check["name"] == "search by meaning");
    found.next().expect("a check").clone()
}

fn part<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("no {key}: {value}"))
}

#[test]
fn meaning_counts_beside_words_and_says_how_much() {
    let server = Embeddings::start(Manner::Honest);
    let world = world(&remote(&server.base));
    let made = world.json(&["model", "index"], 0);
    assert_eq!(made["vectors"], made["tools"], "{made}");
    let place = |found: &Value| {
        let hits = ids(&found["candidates"]);
        hits.iter()
            .position(|id| *id == MEANT)
            .unwrap_or(usize::MAX)
    };
    let words = place(&World::new().json(&QUERY, 0));
    let mut explained = QUERY.to_vec();
    explained.push("--explain");
    let found = world.json(&explained, 0);
    assert_eq!(found.get("leftOut"), None, "{found}");
    // The best hit by words may stay in front.
    let meant = place(&found);
    assert!(meant <= 1 && meant < words, "{words}: {found}");
    let evidence = found["candidates"][meant]["explain"]["evidence"].to_string();
    assert!(
        evidence.contains("\"meaning\"") && evidence.contains("small"),
        "{evidence}"
    );
    let before = server.texts().len();
    assert_eq!(place(&world.json(&QUERY, 0)), meant);
    assert_eq!(
        server.texts().len(),
        before + 1,
        "the query alone is sent, vectors are kept"
    );
}

/// Every fault, the reason that is told, how `doctor` ends, and what its advice names.
fn faults() -> Vec<(Value, &'static str, i32, &'static str)> {
    let with = |manner| Embeddings::start(manner).base;
    vec![
        (remote(&Embeddings::nowhere()), "failed", 4, "baseUrl"),
        (remote(&with(Manner::Refuses(503))), "failed", 4, "baseUrl"),
        (
            remote(&with(Manner::Refuses(401))),
            "misconfigured",
            1,
            "apiKey",
        ),
        (
            remote(&with(Manner::Refuses(404))),
            "misconfigured",
            1,
            "model",
        ),
        (remote(&with(Manner::Garbage)), "failed", 4, "baseUrl"),
        (remote(&with(Manner::TooFew)), "failed", 4, "baseUrl"),
        (remote(&with(Manner::Zero)), "failed", 4, "baseUrl"),
        (remote("not an address"), "misconfigured", 1, "baseUrl"),
        (
            remote("${TOOLSEARCH_NO_SUCH_VARIABLE}"),
            "misconfigured",
            1,
            "baseUrl",
        ),
        (
            json!({ "embedder": "http", "model": "m" }),
            "misconfigured",
            1,
            "baseUrl",
        ),
        (
            json!({ "embedder": "local", "model": "no-such-folder" }),
            "misconfigured",
            1,
            "model list",
        ),
        (
            json!({ "embedder": "local", "model": "." }),
            "misconfigured",
            1,
            "model list",
        ),
        (
            json!({ "embedder": "local" }),
            "misconfigured",
            1,
            "model get",
        ),
    ]
}

#[test]
fn an_embedder_of_no_use_costs_no_hit_and_is_told() {
    let queries = [
        &QUERY[..],
        &["search", "create", "issue"],
        &["search", "xyzzyplugh"],
    ];
    let alone = queries.map(|query| World::new().json(query, 0));
    for (search, reason, code, advice) in faults() {
        let world = world(&search);
        for (query, alone) in queries.iter().zip(&alone) {
            let mut found = world.json(query, 0);
            let left_out = found["leftOut"].take();
            assert_eq!(left_out["reason"], reason, "{search}: {left_out}");
            assert!(!left_out.to_string().contains(KEY), "{left_out}");
            found.as_object_mut().expect("an object").remove("leftOut");
            assert_eq!(&found, alone, "{search}: {query:?}");
        }
        let check = doctor(&world, code);
        assert_eq!(check["status"], "fail", "{check}");
        assert!(part(&check, "fix").contains(advice), "{search}: {check}");
        assert!(!check.to_string().contains(KEY), "{check}");
        let index = world.json(&["model", "index"], code);
        assert_eq!(index["error"]["code"], reason, "{index}");
        assert!(!index.to_string().contains(KEY), "{index}");
    }
}

#[test]
fn a_slow_answer_is_not_waited_for() {
    let server = Embeddings::start(Manner::DocumentsAlone);
    let world = world(&impatient(&server.base));
    assert_eq!(world.json(&["model", "index"], 0)["unusable"], 0);
    let mut found = world.json(&QUERY, 0);
    assert_eq!(found["leftOut"]["reason"], "slow", "{found}");
    found.as_object_mut().expect("an object").remove("leftOut");
    assert_eq!(found, World::new().json(&QUERY, 0));
    let ran = world.run(&QUERY);
    assert!(
        ran.err.contains("words alone") && ran.err.contains("50 ms"),
        "{ran:?}"
    );
}

#[test]
fn a_server_that_never_answers_leaves_words_alone() {
    let server = Embeddings::start(Manner::Silent);
    let world = world(&impatient(&server.base));
    let found = world.json(&QUERY, 0);
    assert_eq!(found["leftOut"]["reason"], "indexing", "{found}");
    assert_eq!(
        found["candidates"],
        World::new().json(&QUERY, 0)["candidates"]
    );
}

#[test]
fn the_doctor_tells_the_next_step() {
    let off = doctor(&World::new(), 0);
    assert_eq!(off["status"], "skip", "{off}");
    let server = Embeddings::start(Manner::Honest);
    let world = world(&remote(&server.base));
    let check = doctor(&world, 0);
    assert_eq!(check["status"], "warn", "{check}");
    assert!(
        part(&check, "fix").contains("toolsearch model index"),
        "{check}"
    );
    world.json(&["model", "index"], 0);
    let check = doctor(&world, 0);
    assert_eq!(check["status"], "ok", "{check}");
    assert!(part(&check, "detail").contains("512 dimensions"), "{check}");
    let constant = Embeddings::start(Manner::Constant);
    let check = doctor(&self::world(&remote(&constant.base)), 4);
    assert!(part(&check, "detail").contains("same vector"), "{check}");
}

#[test]
fn a_model_is_told_that_meaning_was_left_out() {
    let found = |search: &Value| {
        let world = world(search);
        let (mut client, _) = Client::connect(&world, &[]);
        let result = client.call("tool_search", json!({ "query": "chat qwopsi zubrik" }));
        let text = part(&result["content"][0], "text").to_owned();
        client.close();
        serde_json::from_str::<Value>(&text).expect("JSON")
    };
    let down = found(&remote(&Embeddings::nowhere()));
    assert_eq!(
        down["leftOut"],
        json!({ "part": "semantic", "reason": "failed" })
    );
    assert!(!ids(&down["candidates"]).is_empty());
    let off = found(&json!({ "embedder": "off" }));
    assert_eq!(off.get("leftOut"), None);
    assert_eq!(off["candidates"], down["candidates"]);
}

#[test]
fn models_are_listed_and_a_wrong_name_is_told() {
    let world = World::new();
    let listed = world.json(&["model", "list"], 0);
    let models = listed["models"].as_array().expect("models");
    assert!(
        models.iter().all(|model| model["present"] == false),
        "{listed}"
    );
    world
        .run(&["model", "get", "no-such-model"])
        .fails(2, &["all-minilm-l6-v2", "folder"]);
    world
        .run(&["model", "index"])
        .fails(2, &["off", "model list"]);
    let mut get = world.command(&["model", "get", "all-minilm-l6-v2"]);
    let ran = super::Ran::of(&get.env("PATH", "").output().expect("it starts"));
    ran.fails(4, &["no pip", "install Python"]);
}
