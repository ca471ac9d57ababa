//! What a measurement found, in the form that is stored. Not here: how it is shown.

use serde::{Deserialize, Serialize};

/// Everything that was measured in one run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Report {
    /// By data set and language, sorted by name and language.
    pub datasets: Vec<Row>,
    /// One entry a catalog that was indexed, in the order of the data sets.
    pub indexes: Vec<Index>,
    /// Over all queries.
    pub summary: Summary,
}

/// One data set in one language. Shares are 0 to 1; those of relevant tools are absent when no query
/// of the row has any.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Row {
    /// The set, with the style where styles are counted apart.
    pub name: String,
    /// A short code, or empty.
    pub language: String,
    /// Number of queries.
    pub queries: usize,
    /// Queries for which nothing fits.
    pub nothing_fits: usize,
    /// Share of the relevant tools that come first.
    #[serde(rename = "recall@1")]
    pub recall_1: Option<f64>,
    /// Share of the relevant tools among the first five.
    #[serde(rename = "recall@5")]
    pub recall_5: Option<f64>,
    /// Share of the relevant tools among the first eight.
    #[serde(rename = "recall@8")]
    pub recall_8: Option<f64>,
    /// Mean of one divided by the rank of the first relevant tool.
    #[serde(rename = "mrr@10")]
    pub mrr_10: Option<f64>,
    /// Mean discounted gain as a share of the best possible one.
    #[serde(rename = "ndcg@10")]
    pub ndcg_10: Option<f64>,
    /// Share of all queries that were answered with nothing.
    pub no_match: f64,
    /// Of the answers with nothing, the share where nothing fits.
    pub no_match_precision: Option<f64>,
    /// Of the queries for which nothing fits, the share answered with nothing.
    pub no_match_recall: Option<f64>,
    /// Relevance labels that name no tool of the catalog. They count as not found.
    pub unknown_labels: usize,
    /// Time of one search.
    pub latency_us: Latency,
}

/// Times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Latency {
    /// Half of the searches took no longer.
    pub p50: f64,
    /// Of a hundred searches 99 took no longer.
    pub p99: f64,
}

/// What it took to index a catalog.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Index {
    /// The first data set that asked for it.
    pub name: String,
    /// Number of tools.
    pub tools: usize,
    /// Time in milliseconds.
    pub build_ms: f64,
    /// By how much the memory of the process grew, an estimate; absent where it cannot be read.
    pub resident_bytes: Option<u64>,
}

/// Over all queries of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// Number of queries.
    pub queries: usize,
    /// The mean of the rows' shares among the first five.
    #[serde(rename = "recall@5")]
    pub recall_5: Option<f64>,
    /// The mean of the rows' discounted gains.
    #[serde(rename = "ndcg@10")]
    pub ndcg_10: Option<f64>,
    /// Of the answers with nothing, the share where nothing fits.
    pub no_match_precision: Option<f64>,
    /// Of the queries for which nothing fits, the share answered with nothing.
    pub no_match_recall: Option<f64>,
}

/// The rows of the mean that rankers are compared by.
pub const NINE_ROWS: [&str; 9] = [
    "mcp-real/agent",
    "mcp-real/human",
    "mcp-real/typo",
    "livemcpbench",
    "metatool-toole",
    "seal-tools",
    "stabletoolbench",
    "bfcl",
    "acebench-en",
];

impl Report {
    /// The mean recall among the first five over rows with these names; `None` when one is missing.
    #[must_use]
    pub fn macro_recall_5(&self, names: &[&str]) -> Option<f64> {
        let of = |name: &&str| self.row(name).and_then(|row| row.recall_5);
        let values: Option<Vec<f64>> = names.iter().map(of).collect();
        mean(&values?)
    }

    /// The first row with a name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.datasets.iter().find(|row| row.name == name)
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub(crate) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
