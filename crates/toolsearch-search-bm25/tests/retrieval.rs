//! Recall on evaluation sets outside the project. Set `TOOLSEARCH_RETRIEVAL_DATA` to a folder with one
//! folder a set, each with `catalog.jsonl` (`id`, `server`, `name`, `title`, `description`,
//! `inputSchema`) and `queries.jsonl` (`query`, `relevant`, `style`). Without the variable nothing is
//! measured and the test says so.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a measurement is there to be read")]

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde_json::Value;
use toolsearch_catalog::{Catalog, Source, ToolDescriptor, ToolId};
use toolsearch_search::SearchRequest;
use toolsearch_search_bm25::{Bm25, Bm25Index};

/// Recall among the first five that must not be lost, by set and style.
const FLOORS: &[(&str, f64)] = &[
    ("acebench-en", 0.97),
    ("acebench-zh", 0.95),
    ("bfcl", 0.78),
    ("livemcpbench", 0.37),
    ("mcp-real/agent", 0.92),
    ("mcp-real/human", 0.39),
    ("mcp-real/typo", 0.88),
    ("metatool-toole", 0.66),
    ("seal-tools", 0.85),
    ("stabletoolbench", 0.65),
];

/// Share of queries of which nothing is right that must be refused.
const REFUSALS: &[(&str, f64)] = &[("no-match", 0.6)];

/// Sets whose styles are counted apart.
const BY_STYLE: &[&str] = &["mcp-real"];

struct Set {
    index: Bm25Index,
    keys: HashMap<ToolId, String>,
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

fn load(folder: &Path) -> Set {
    let mut keys = HashMap::new();
    let mut tools = Vec::new();
    for row in lines(&folder.join("catalog.jsonl")) {
        let owner = match text(&row, "server") {
            "" => "tools",
            owner => owner,
        };
        let mut tool = ToolDescriptor::new(
            Source::Mcp,
            owner,
            text(&row, "name"),
            row["inputSchema"].clone(),
        )
        .unwrap();
        tool.description = text(&row, "description").to_owned();
        tool.title = Some(text(&row, "title").to_owned()).filter(|title| !title.is_empty());
        keys.entry(tool.id.clone())
            .or_insert_with(|| text(&row, "id").to_owned());
        tools.push(tool);
    }
    let catalog: Catalog = tools.into_iter().collect();
    let started = std::time::Instant::now();
    let index = Bm25::default().build(&catalog, None);
    eprintln!(
        "{}: {} tools indexed in {:?}",
        folder.display(),
        catalog.len(),
        started.elapsed()
    );
    Set { index, keys }
}

#[derive(Default)]
struct Tally {
    queries: u32,
    refused: u32,
    recall: f64,
}

fn measure(set: &Set, name: &str, rows: &[Value], tallies: &mut BTreeMap<String, Tally>) {
    for row in rows {
        let label = match text(row, "style") {
            style if BY_STYLE.contains(&name) => format!("{name}/{style}"),
            _ => name.to_owned(),
        };
        let relevant: Vec<&str> = row["relevant"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        let answer = set.index.answer(&SearchRequest::new(text(row, "query"), 5));
        let found = answer
            .hits
            .iter()
            .filter(|hit| relevant.contains(&set.keys[&hit.id].as_str()));
        let tally = tallies.entry(label).or_default();
        tally.queries += 1;
        tally.refused += u32::from(answer.hits.is_empty());
        tally.recall += found.count() as f64 / relevant.len().max(1) as f64;
    }
}

#[test]
fn recall_stays_above_its_floors() {
    let Some(data) = std::env::var_os("TOOLSEARCH_RETRIEVAL_DATA") else {
        eprintln!("skipped: TOOLSEARCH_RETRIEVAL_DATA names no folder of evaluation sets");
        return;
    };
    let mut tallies = BTreeMap::new();
    let mut names: Vec<_> = std::fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in names {
        let folder = Path::new(&data).join(&name);
        let catalog_of = if name == "no-match" {
            "mcp-real"
        } else {
            &name
        };
        let queries = lines(&folder.join("queries.jsonl"));
        if !queries.is_empty() {
            let set = load(&Path::new(&data).join(catalog_of));
            measure(&set, &name, &queries, &mut tallies);
        }
    }
    let mut missed = Vec::new();
    for (label, tally) in &tallies {
        let recall = tally.recall / f64::from(tally.queries);
        let refused = f64::from(tally.refused) / f64::from(tally.queries);
        eprintln!(
            "{label:24} n {:5}  R@5 {recall:.3}  empty {refused:.3}",
            tally.queries
        );
        let floor = FLOORS.iter().find(|(name, _)| name == label);
        if floor.is_some_and(|(_, floor)| recall < *floor) {
            missed.push(label);
        }
        let floor = REFUSALS.iter().find(|(name, _)| name == label);
        if floor.is_some_and(|(_, floor)| refused < *floor) {
            missed.push(label);
        }
    }
    assert!(missed.is_empty(), "below the floor: {missed:?}");
}
