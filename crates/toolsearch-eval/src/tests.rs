//! Tests of the measures, the readers, the report and its forms.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use toolsearch_search::{ExactFirst, NoRanker};

use crate::read::{parse_queries, parse_tools};
use crate::{
    DataSet, Goal, Ranks, Report, Row, chart, compare, measure, own, percentile, read, table,
};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn measures_of_one_answer() {
    let ranks = Ranks::of(&[7, 3, 9, 1], &[3, 1, 5]);
    assert_eq!(ranks.places, [1, 3]);
    assert!(close(ranks.recall(1), 0.0));
    assert!(close(ranks.recall(2), 1.0 / 3.0));
    assert!(close(ranks.recall(8), 2.0 / 3.0));
    assert!(close(ranks.reciprocal_rank(10), 0.5));
    assert!(close(ranks.reciprocal_rank(1), 0.0));
    let best = 1.0 + 1.0 / 3f64.log2() + 0.5;
    let got = 1.0 / 3f64.log2() + 1.0 / 5f64.log2();
    assert!(close(ranks.ndcg(10), got / best));
    assert!(close(Ranks::of(&[1], &[1]).ndcg(10), 1.0));
    assert!(close(Ranks::of::<u8>(&[], &[]).ndcg(10), 0.0));
}

#[test]
fn percentiles_are_nearest_ranks() {
    let values: Vec<f64> = (1..=100).map(f64::from).collect();
    assert!(close(percentile(&values, 0.5), 50.0));
    assert!(close(percentile(&values, 0.99), 99.0));
    assert!(close(percentile(&values, 0.0), 1.0));
    assert!(close(percentile(&[3.0], 0.99), 3.0));
    assert!(close(percentile(&[], 0.5), 0.0));
}

#[test]
fn tools_are_read_in_every_form() {
    let lines = "{\"id\":\"a/x\",\"server\":\"a\",\"name\":\"x\"}\n\n{\"id\":\"b/x\",\"server\":\"a\",\"name\":\"x\"}\n{\"server\":\"a\"}\n";
    let tools = parse_tools(lines, Path::new("t")).expect("two tools");
    assert_eq!((tools.catalog.len(), tools.skipped), (2, 1));
    assert_eq!(tools.place("a/x"), Some(1));
    assert_eq!(
        tools.place("b/x"),
        Some(0),
        "a second server of the same name"
    );
    assert_eq!(tools.place("nobody"), None);
    for list in [
        "{\"tools\":[{\"name\":\"x\",\"inputSchema\":{}}]}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"x\"}]}}",
        "[{\"name\":\"x\"}]",
        "{\"name\":\"x\"}",
    ] {
        let tools = parse_tools(list, Path::new("t")).expect("one tool");
        assert_eq!(tools.catalog.len(), 1, "{list}");
        assert_eq!(tools.place("tools/x"), Some(0), "{list}");
    }
    let error = parse_tools("{\"name\":\"x\"}\nnot json\n", Path::new("file")).expect_err("line 2");
    assert!(error.to_string().starts_with("file, line 2: "), "{error}");
}

#[test]
fn a_set_grows_by_other_tools_and_asks_the_same() {
    let path = Path::new("tools.jsonl");
    let rows = |names: &[&str]| {
        let row = |name: &&str| format!(r#"{{"id": "l/{name}", "server": "s", "name": "{name}"}}"#);
        let text: Vec<String> = names.iter().map(row).collect();
        parse_tools(&text.join("\n"), path).unwrap()
    };
    let set = DataSet::new("few", Arc::new(rows(&["n", "a"])), Vec::new());
    let others = [rows(&["a", "b", "c", "d"]), rows(&["b", "z"])];
    let grown = set.grown(&others, 4);
    let names = |set: &DataSet| -> Vec<String> {
        let tools = set.tools.catalog.entries().iter();
        tools.map(|tool| tool.name.clone()).collect()
    };
    // b, c, d and z are new; two of them, evenly.
    assert_eq!(names(&grown), ["a", "b", "d", "n"]);
    assert_eq!(grown.name, "few@4");
    assert_eq!(
        (set.tools.place("l/n"), grown.tools.place("l/n")),
        (Some(1), Some(3))
    );
    assert_eq!(grown.tools.place("l/d"), None, "no label of another set");
    assert_eq!(names(&set.grown(&others, 1)), ["a", "n"], "nothing is lost");
    assert_eq!(
        set.grown(&others, 100).tools.catalog.len(),
        6,
        "all there are"
    );
}

#[test]
fn a_folder_of_lists_is_one_server_a_file() {
    let folder = std::env::temp_dir().join(format!("toolsearch-eval-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(
        folder.join("mail.json"),
        "{\"tools\":[{\"name\":\"send\"}]}",
    )
    .expect("a file");
    std::fs::write(
        folder.join("chat.json"),
        "{\"tools\":[{\"name\":\"send\"}]}",
    )
    .expect("a file");
    let tools = read::tools(&folder);
    std::fs::remove_dir_all(&folder).expect("the folder goes");
    let tools = tools.expect("two tools");
    assert_eq!(tools.place("chat/send"), Some(0));
    assert_eq!(tools.place("mail/send"), Some(1));
}

#[test]
fn queries_are_read_and_wrong_lines_are_named() {
    let text = "{\"query\":\"q\",\"relevant\":[\"a/x\"],\"lang\":\"tr\",\"style\":\"s\"}\n{\"query\":\"r\"}";
    let queries = parse_queries(text, Path::new("q")).expect("two queries");
    assert_eq!(queries[0].language.as_deref(), Some("tr"));
    assert!(queries[1].relevant.is_empty());
    assert!(parse_queries("[]", Path::new("q")).is_err());
}

#[test]
fn own_set_names_only_tools_that_it_has() {
    let set = own();
    assert_eq!(set.tools.skipped, 0);
    for query in &set.queries {
        for label in &query.relevant {
            assert!(set.tools.place(label).is_some(), "{label}");
        }
    }
}

fn exact_names() -> Report {
    let tools = "{\"id\":\"1\",\"server\":\"a\",\"name\":\"find_file\"}\n{\"id\":\"2\",\"server\":\"a\",\"name\":\"log\"}";
    let queries = "{\"query\":\"find_file\",\"relevant\":[\"1\"],\"style\":\"s\"}\n{\"query\":\"log\",\"relevant\":[\"2\",\"gone\"]}\n{\"query\":\"what\",\"relevant\":[]}\n{\"query\":\"who\",\"relevant\":[\"1\"]}";
    let tools = Arc::new(parse_tools(tools, Path::new("t")).expect("tools"));
    let queries = parse_queries(queries, Path::new("q")).expect("queries");
    let mut set = DataSet::new("set", tools, queries);
    set.by_style = true;
    let other = DataSet::new("again", Arc::clone(&set.tools), Vec::new());
    measure(&ExactFirst(NoRanker), &[set, other]).expect("a report")
}

#[test]
fn a_measurement_counts_what_was_found_and_what_was_refused() {
    let report = exact_names();
    assert_eq!(report.indexes.len(), 1, "equal tools are indexed once");
    assert_eq!(report.summary.queries, 4);
    let row = report.row("set").expect("the row without a style");
    assert_eq!(
        (row.queries, row.nothing_fits, row.unknown_labels),
        (3, 1, 1)
    );
    assert!(close(row.recall_5.expect("some"), 0.25));
    assert!(close(row.no_match, 2.0 / 3.0));
    assert_eq!(row.no_match_precision, Some(0.5));
    assert_eq!(row.no_match_recall, Some(1.0));
    let row = report.row("set/s").expect("the row with a style");
    assert_eq!(row.recall_1, Some(1.0));
}

#[test]
fn a_report_survives_json_and_has_the_documented_names() {
    let report = exact_names();
    let json = serde_json::to_value(&report).expect("json");
    for key in [
        "name", "language", "queries", "recall@1", "recall@5", "recall@8", "mrr@10",
    ] {
        assert!(json["datasets"][0].get(key).is_some(), "{key}");
    }
    for key in ["ndcg@10", "no_match"] {
        assert!(
            json["datasets"][0][key].is_number() || key == "ndcg@10",
            "{key}"
        );
    }
    assert!(json["datasets"][0]["latency_us"]["p99"].is_number());
    let back: Report = serde_json::from_value(json).expect("a report");
    assert_eq!(back.datasets.len(), report.datasets.len());
}

fn row(name: &str, recall: f64, queries: usize) -> Row {
    let mut row = Row::default();
    row.name = name.to_owned();
    row.queries = queries;
    row.recall_5 = Some(recall);
    row.ndcg_10 = Some(recall);
    row
}

fn report(rows: Vec<Row>) -> Report {
    let mut report = Report::default();
    report.datasets = rows;
    report
}

#[test]
fn only_drops_beyond_noise_are_told() {
    let before = report(vec![row("a", 0.9, 1000), row("b", 0.5, 25)]);
    assert!(compare(&before, &before).drops.is_empty());
    let after = report(vec![row("a", 0.894, 1000), row("b", 0.46, 25)]);
    let comparison = compare(&before, &after);
    let told: Vec<_> = comparison
        .drops
        .iter()
        .map(|drop| (drop.row.as_str(), drop.measure))
        .collect();
    assert_eq!(told, [("a", "recall@5"), ("a", "ndcg@10")]);
    let gone = compare(&before, &report(vec![row("a", 0.95, 1000)]));
    assert_eq!(
        gone.drops.len(),
        3,
        "a row that is gone fell in every measure"
    );
}

#[test]
fn the_table_shows_goals_and_the_chart_is_well_formed() {
    let report = report(vec![row("a<b", 0.75, 4), row("c", 0.5, 4)]);
    let text = table(
        &report,
        &[("a<b", Goal::Recall5(0.7)), ("c", Goal::Recall5(0.6))],
    );
    assert!(
        text.contains("R@5 0.700 reached") && text.contains("R@5 0.600 MISSED"),
        "{text}"
    );
    let svg = chart(&report, "T & U");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    assert!(svg.contains("T &amp; U") && svg.contains("a&lt;b") && svg.contains("width=\"300.0\""));
    let mut open: BTreeMap<&str, i32> = BTreeMap::new();
    for tag in ["svg", "text", "rect", "line"] {
        *open.entry(tag).or_default() += svg.matches(&format!("<{tag} ")).count() as i32;
    }
    assert_eq!(open["rect"], 3);
    assert_eq!(open["text"], 1 + 5 + 4);
}
