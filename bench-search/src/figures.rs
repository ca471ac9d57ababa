//! What was measured, and what it should be. Not here: how it was measured.

use serde::{Deserialize, Serialize};

/// One engine over one catalog.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Figures {
    pub(crate) engine: String,
    pub(crate) tools: usize,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) build_ms: f64,
    /// By how much the process grew when the index was made first.
    pub(crate) resident_bytes: u64,
    pub(crate) ours: Option<Ours>,
}

/// What is measured of toolsearch alone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Ours {
    /// The memory of the index as it counts itself.
    pub(crate) heap_bytes: u64,
    /// Applying a diff of 20 tools.
    pub(crate) diff_ms: f64,
    /// The longest of the hostile queries.
    pub(crate) hostile_us: f64,
}

impl Figures {
    pub(crate) fn new(
        p50_us: f64,
        p99_us: f64,
        build_ms: f64,
        resident_bytes: u64,
        ours: Option<Ours>,
    ) -> Self {
        Self {
            engine: String::new(),
            tools: 0,
            p50_us,
            p99_us,
            build_ms,
            resident_bytes,
            ours,
        }
    }

    pub(crate) fn line(&self) -> String {
        let mut line = format!(
            "{:>6} tools  {:<10}  p50 {:>8.1} us  p99 {:>8.1} us  build {:>7.1} ms  resident {:>6.1} MiB",
            self.tools,
            self.engine,
            self.p50_us,
            self.p99_us,
            self.build_ms,
            mib(self.resident_bytes)
        );
        if let Some(ours) = &self.ours {
            line.push_str(&format!(
                "  index {:.1} MiB  diff of 20: {:.2} ms  worst hostile query {:.2} ms",
                mib(ours.heap_bytes),
                ours.diff_ms,
                ours.hostile_us / 1e3
            ));
        }
        line
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people to read")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Each goal beside what was reached.
pub(crate) fn goals(all: &[Figures]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut goal = |name: &str, wanted: f64, is: f64, at_least: bool| {
        let reached = if at_least { is >= wanted } else { is <= wanted };
        let mark = if reached { "reached" } else { "MISSED" };
        let sign = if at_least { ">=" } else { "<=" };
        lines.push(format!(
            "{name:<58} {is:>9.2}  goal {sign} {wanted}  {mark}"
        ));
    };
    let of = |engine: &str, tools: usize| {
        all.iter()
            .find(|one| one.engine == engine && one.tools == tools)
    };
    if let (Some(us), Some(bm25), Some(tantivy)) = (
        of("toolsearch", 17_570),
        of("bm25-crate", 17_570),
        of("tantivy", 17_570),
    ) {
        goal(
            "17,570 tools: times faster than the bm25 crate (median)",
            5.0,
            bm25.p50_us / us.p50_us,
            true,
        );
        goal(
            "17,570 tools: times faster than tantivy (median)",
            1.0,
            tantivy.p50_us / us.p50_us,
            true,
        );
        goal("17,570 tools: p99 in us", 1_000.0, us.p99_us, false);
        goal("17,570 tools: index made in ms", 500.0, us.build_ms, false);
        goal(
            "17,570 tools: resident MiB",
            60.0,
            mib(us.resident_bytes),
            false,
        );
        if let Some(ours) = &us.ours {
            goal(
                "17,570 tools: 20 changed tools in ms",
                5.0,
                ours.diff_ms,
                false,
            );
            goal(
                "17,570 tools: worst query of any bytes in ms",
                10.0,
                ours.hostile_us / 1e3,
                false,
            );
        }
    }
    if let Some(us) = of("toolsearch", 2_800) {
        goal("2,800 tools: median in us", 20.0, us.p50_us, false);
    }
    lines
}
