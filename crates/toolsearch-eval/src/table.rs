//! A report as text for a terminal. Not here: what was measured.

use std::fmt::Write as _;

use crate::report::{Report, Row};

/// What a row should reach.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Goal {
    /// Recall among the first five.
    Recall5(f64),
    /// Share answered with nothing.
    Refused(f64),
}

impl Goal {
    fn text(&self) -> String {
        match self {
            Self::Recall5(value) => format!("R@5 {value:.3}"),
            Self::Refused(value) => format!("empty {value:.3}"),
        }
    }

    /// Whether a row reaches it.
    #[must_use]
    pub fn is_reached(&self, row: &Row) -> bool {
        match self {
            Self::Recall5(value) => row.recall_5.is_some_and(|recall| recall >= *value),
            Self::Refused(value) => row.no_match >= *value,
        }
    }
}

/// The table of a report; `goals` are given by the name of a row and stand beside it.
#[must_use]
pub fn table(report: &Report, goals: &[(&str, Goal)]) -> String {
    let mut out = String::new();
    let width = report
        .datasets
        .iter()
        .map(|row| row.name.chars().count())
        .max();
    let width = width.unwrap_or(0).max(8);
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{:width$} {:4} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>9} {:>9}  goal",
        "set", "lang", "n", "R@1", "R@5", "R@8", "MRR", "nDCG", "empty", "p50 us", "p99 us"
    );
    for row in &report.datasets {
        let goal = goals.iter().find(|(name, _)| *name == row.name);
        let goal = goal.map_or_else(String::new, |(_, goal)| {
            let mark = if goal.is_reached(row) {
                "reached"
            } else {
                "MISSED"
            };
            format!("{} {mark}", goal.text())
        });
        let line = format!(
            "{:width$} {:4} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6.3} {:>9.1} {:>9.1}  {goal}",
            row.name,
            row.language,
            row.queries,
            share(row.recall_1),
            share(row.recall_5),
            share(row.recall_8),
            share(row.mrr_10),
            share(row.ndcg_10),
            row.no_match,
            row.latency_us.p50,
            row.latency_us.p99,
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let summary = &report.summary;
    let _ = writeln!(
        out,
        "mean of rows: R@5 {} nDCG@10 {}; empty answers: precision {} recall {}",
        share(summary.recall_5),
        share(summary.ndcg_10),
        share(summary.no_match_precision),
        share(summary.no_match_recall),
    );
    for index in &report.indexes {
        let memory = index.resident_bytes.map_or_else(String::new, |bytes| {
            format!(", {} KiB resident", bytes / 1024)
        });
        let _ = writeln!(
            out,
            "index of {}: {} tools in {:.1} ms{memory}",
            index.name, index.tools, index.build_ms
        );
    }
    out
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}
