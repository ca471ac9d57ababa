//! The ranking table: `ranking/tools.json` holds the tools, `ranking/queries.json` what each query has
//! to find. `first` names the hits that come first, in any order among themselves; `among` with
//! `within` names hits of the first few; `none` names tools that may not appear; `empty` is the reason
//! of an empty answer. A tool is named by its name or by owner and name.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;
use toolsearch_catalog::{Catalog, Source, ToolDescriptor};
use toolsearch_search::{ExactFirst, Ranker, SearchRequest};
use toolsearch_search_bm25::Bm25;

fn read(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

fn tool(row: &Value) -> ToolDescriptor {
    let properties: serde_json::Map<String, Value> = row["parameters"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, text)| {
            let property = serde_json::json!({ "type": "string", "description": text });
            (name.clone(), property)
        })
        .collect();
    let schema = serde_json::json!({ "type": "object", "properties": properties });
    let (owner, name) = (
        row["owner"].as_str().unwrap(),
        row["name"].as_str().unwrap(),
    );
    let mut tool = ToolDescriptor::new(Source::Mcp, owner, name, schema).unwrap();
    tool.description = row["description"].as_str().unwrap().to_owned();
    tool
}

fn names<'a>(row: &'a Value, key: &str) -> Vec<&'a str> {
    let list = row[key].as_array().into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

fn is_named(id: &str, name: &str) -> bool {
    id.ends_with(&format!(":{name}"))
}

/// What is wrong with the hits of a row, if anything is.
fn fault(row: &Value, hits: &[String], reason: &Value) -> Option<String> {
    let place = |name: &str| hits.iter().position(|id| is_named(id, name));
    let first = names(row, "first");
    if let Some(name) = first
        .iter()
        .find(|name| place(name).is_none_or(|at| at >= first.len()))
    {
        return Some(format!("{name} is not first"));
    }
    let within = row["within"].as_u64().unwrap_or(0) as usize;
    let among = names(row, "among");
    if let Some(name) = among
        .iter()
        .find(|name| place(name).is_none_or(|at| at >= within))
    {
        return Some(format!("{name} is not within {within}"));
    }
    if let Some(name) = names(row, "none").iter().find(|name| place(name).is_some()) {
        return Some(format!("{name} does not belong there"));
    }
    (*reason != row["empty"]).then(|| format!("the reason is {reason}"))
}

#[test]
fn every_query_finds_what_it_should() {
    let tools = read(include_str!("ranking/tools.json"));
    let catalog: Catalog = tools.iter().map(tool).collect();
    let ranker = ExactFirst(Bm25::default());
    let index = futures::executor::block_on(ranker.index(&catalog, None)).unwrap();
    let mut faults = Vec::new();
    for row in read(include_str!("ranking/queries.json")) {
        let request = SearchRequest::new(row["query"].as_str().unwrap(), 8);
        let answer = futures::executor::block_on(index.search(&request)).unwrap();
        let hits: Vec<String> = answer.hits.iter().map(|hit| hit.id.to_string()).collect();
        let reason = serde_json::to_value(answer.reason).unwrap();
        if let Some(fault) = fault(&row, &hits, &reason) {
            faults.push(format!(
                "{}: {}: {fault}; hits {hits:?}",
                row["why"], row["query"]
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
