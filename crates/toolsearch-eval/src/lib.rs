//! Measures how well a ranker finds tools. [`read`] takes tools and queries from files, [`measure`] asks
//! a ranker every query of a [`DataSet`], [`Report`] holds recall, rank, refusals, speed and memory and
//! becomes a table, JSON or a chart, and [`compare`] holds a report against an older one.
//!
//! Not here: a ranker, a command line, and any data but a small set of its own ([`own`]).

mod baseline;
mod chart;
mod data;
mod measure;
mod metrics;
mod misses;
mod own;
pub mod read;
mod report;
mod table;

pub use baseline::{Comparison, Drop, compare};
pub use chart::chart;
pub use data::{DataSet, Query, Tools};
pub use measure::{MeasureError, measure, resident_bytes};
pub use metrics::{Ranks, percentile};
pub use misses::{Miss, misses};
pub use own::own;
pub use report::{Index, Latency, NINE_ROWS, Report, Row, Summary};
pub use table::{Goal, table};

#[cfg(test)]
mod tests;

/// Keeps the example of the README true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
