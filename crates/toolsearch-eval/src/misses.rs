//! Which queries a ranker gets wrong, one by one. Not here: how much that weighs in all.

use toolsearch_catalog::ToolId;
use toolsearch_search::{Index, Ranker, SearchError, SearchRequest};

use crate::data::{DataSet, Query};
use crate::measure::{MeasureError, block_on};

/// A query with a relevant tool that is not among the first hits, or with hits where nothing fits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Miss {
    /// The row of the report for which the query counts.
    pub row: String,
    /// As asked.
    pub query: String,
    /// Labels of the relevant tools that are not among the first hits; none where nothing fits.
    pub missing: Vec<String>,
    /// The first hits, best first.
    pub found: Vec<ToolId>,
}

/// The queries of a set that miss among the first `depth` hits, in the order of the set.
///
/// # Errors
/// [`MeasureError::Ranker`] when the ranker does not answer.
pub fn misses(ranker: &dyn Ranker, set: &DataSet, depth: usize) -> Result<Vec<Miss>, MeasureError> {
    let failed = |source| MeasureError::Ranker {
        set: set.name.clone(),
        source,
    };
    let index = block_on(ranker.index(&set.tools.catalog, None)).map_err(failed)?;
    let mut misses = Vec::new();
    for query in &set.queries {
        if let Some(miss) = miss(&*index, set, query, depth).map_err(failed)? {
            misses.push(miss);
        }
    }
    Ok(misses)
}

fn miss(
    index: &dyn Index,
    set: &DataSet,
    query: &Query,
    depth: usize,
) -> Result<Option<Miss>, SearchError> {
    let request = SearchRequest::new(query.text.as_str(), depth);
    let mut hits = block_on(index.search(&request))?.hits;
    hits.truncate(depth);
    let is_found = |label: &String| {
        let place = set.tools.place(label);
        hits.iter().any(|hit| Some(hit.position) == place)
    };
    let missing: Vec<String> = query
        .relevant
        .iter()
        .filter(|label| !is_found(label))
        .cloned()
        .collect();
    if missing.is_empty() && (!query.relevant.is_empty() || hits.is_empty()) {
        return Ok(None);
    }
    let (name, language) = set.row_of(query);
    Ok(Some(Miss {
        row: format!("{name} {language}").trim_end().to_owned(),
        query: query.text.clone(),
        missing,
        found: hits.into_iter().map(|hit| hit.id).collect(),
    }))
}
