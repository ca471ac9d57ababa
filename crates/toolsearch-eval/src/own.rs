//! The small set that comes with the crate: everyday tools and what people ask of them, written for
//! this purpose. Large enough to notice when ranking breaks, too small to tell good from better.

use std::path::Path;
use std::sync::Arc;

use crate::data::DataSet;
use crate::read;

const TOOLS: &str = include_str!("../data/own/tools.jsonl");
const QUERIES: &str = include_str!("../data/own/queries.jsonl");

/// The set that comes with the crate.
#[must_use]
pub fn own() -> DataSet {
    let tools = read::parse_tools(TOOLS, Path::new("own/tools.jsonl"));
    let tools = tools.expect("because a test reads the built-in tools");
    let queries = read::parse_queries(QUERIES, Path::new("own/queries.jsonl"));
    let queries = queries.expect("because a test reads the built-in queries");
    let mut set = DataSet::new("own", Arc::new(tools), queries);
    set.by_style = true;
    set
}
