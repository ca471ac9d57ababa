//! `eval`: search measured on queries and tools of one's own.

use serde_json::Value;

use super::World;

const TOOLS: &str = r#"{"id":"forge/create_issue","server":"forge","name":"create_issue","description":"Open a new issue"}
{"id":"forge/merge_branch","server":"forge","name":"merge_branch","description":"Merge one branch into another"}
{"id":"post/send_mail","server":"post","name":"send_mail","description":"Send a letter"}
"#;
const QUERIES: &str = r#"{"query":"forge create issue","relevant":["forge/create_issue"],"language":"en"}
{"query":"merge a branch","relevant":["forge/merge_branch"],"language":"en"}
{"query":"feed the goldfish","relevant":[],"language":"en","dataset":"nothing"}
"#;

fn world() -> World {
    let world = World::new();
    world.write("tools.jsonl", TOOLS);
    world.write("mine.jsonl", QUERIES);
    world
}

const EVAL: [&str; 5] = ["eval", "--queries", "mine.jsonl", "--tools", "tools.jsonl"];

fn row<'a>(report: &'a Value, name: &str) -> &'a Value {
    let rows = report["datasets"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("{name}: {report}"))
}

#[test]
fn measures_recall_and_refusals_of_ones_own_queries() {
    let report = world().json(&EVAL, 0);
    let mine = row(&report, "mine");
    assert_eq!(mine["language"], "en");
    assert_eq!(mine["queries"], 2);
    for measure in ["recall@1", "recall@5", "recall@8", "mrr@10", "ndcg@10"] {
        assert_eq!(mine[measure], 1.0, "{measure}");
    }
    assert!(mine["latency_us"]["p50"].is_number() && mine["latency_us"]["p99"].is_number());
    assert_eq!(row(&report, "nothing")["no_match"], 1.0);
}

#[test]
fn a_drop_below_an_earlier_measurement_fails() {
    let world = world();
    let report = world.json(&EVAL, 0);
    world.write("before.json", &report.to_string());
    let with_baseline = [&EVAL[..], &["--baseline", "before.json"]].concat();
    assert_eq!(world.json(&with_baseline, 0)["comparison"]["rows"], 2);
    world.write(
        "mine.jsonl",
        &QUERIES.replace("forge/merge_branch", "post/send_mail"),
    );
    let fallen = world.json(&with_baseline, 1);
    let drops = fallen["comparison"]["drops"].as_array().expect("drops");
    assert!(
        drops.iter().any(|drop| drop["measure"] == "recall@5"),
        "{fallen}"
    );
    let misses = world.json(&[&EVAL[..], &["--misses"]].concat(), 0);
    assert_eq!(misses["misses"][0]["query"], "merge a branch");
}

#[test]
fn the_table_and_the_chart_are_for_people() {
    let world = world();
    let ran = world.run(&[&EVAL[..], &["--svg", "chart.svg"]].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.out.contains("R@5") && ran.out.contains("mine"),
        "{ran:?}"
    );
    assert!(world.read("chart.svg").starts_with("<svg"));
}

#[test]
fn what_cannot_be_measured_says_why() {
    let world = world();
    world
        .run(&["eval", "--tools", "tools.jsonl"])
        .fails(2, &["--queries"]);
    world
        .run(&["eval", "--queries", "absent.jsonl"])
        .fails(2, &["absent.jsonl"]);
    world.write("odd.jsonl", "{\"relevant\":[]}");
    let odd = ["eval", "--queries", "odd.jsonl", "--tools", "tools.jsonl"];
    world.run(&odd).fails(2, &["line 1"]);
}
