//! `toolsearch sessions stats`: many sessions added up.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use toolsearch::telemetry::Summary;

use crate::assemble::logs;
use crate::fault::{Done, Exit};
use crate::measure::grouped;
use crate::output::Output;
use crate::table::Table;

use super::BYTES_PER_TOKEN;

/// Most tools that are named.
const MOST_TOOLS: usize = 20;

/// What is added up.
#[derive(Debug, Default)]
struct Stats {
    sessions: usize,
    modes: BTreeMap<String, usize>,
    searches: usize,
    describes: usize,
    programs: usize,
    calls: usize,
    failed: BTreeMap<String, usize>,
    sources: BTreeMap<String, usize>,
    tools: BTreeMap<String, usize>,
    repairs: usize,
    sent: usize,
    direct: usize,
}

impl Stats {
    fn add(&mut self, session: &Summary) {
        let count = |counts: &mut BTreeMap<String, usize>, key: &dyn ToString| {
            *counts.entry(key.to_string()).or_default() += 1;
        };
        self.sessions += 1;
        count(&mut self.modes, &session.mode);
        self.searches += session.searches;
        self.describes += session.describes;
        self.programs += session.runs;
        self.calls += session.calls.len();
        self.repairs += session.repairs;
        self.sent += session.bytes.sent();
        self.direct += session.bytes.direct_tool_bytes;
        for call in &session.calls {
            count(&mut self.sources, &call.source);
            count(&mut self.tools, &call.id);
            if let Some(error) = &call.error {
                count(&mut self.failed, error);
            }
        }
    }

    /// The tools that were called most, the first by id where they are equal.
    fn most(&self) -> Vec<(&str, usize)> {
        let mut tools: Vec<(&str, usize)> = self
            .tools
            .iter()
            .map(|(id, count)| (id.as_str(), *count))
            .collect();
        tools.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        tools.truncate(MOST_TOOLS);
        tools
    }

    fn to_json(&self) -> Value {
        let most = self.most();
        let tools = most
            .iter()
            .map(|(id, calls)| json!({ "id": id, "calls": calls }));
        json!({
            "sessions": self.sessions, "modes": self.modes,
            "searches": self.searches, "describes": self.describes, "programs": self.programs,
            "calls": self.calls, "failed": self.failed, "sources": self.sources,
            "tools": tools.collect::<Vec<Value>>(), "repairs": self.repairs,
            "bytes": { "sent": self.sent, "direct": self.direct },
            "tokens": {
                "sent": self.sent.div_ceil(BYTES_PER_TOKEN),
                "direct": self.direct.div_ceil(BYTES_PER_TOKEN), "estimated": true,
            },
        })
    }
}

/// Adds the latest sessions up.
pub(super) fn run(folder: &Path, limit: usize, output: &Output) -> Done {
    let mut stats = Stats::default();
    for name in logs::names(folder).iter().rev().take(limit) {
        match logs::read(folder, name) {
            Ok(summary) => stats.add(&summary),
            Err(fault) => output.warning(&format!("{name}: {}", fault.message)),
        }
    }
    if output.json {
        output.document(&stats.to_json())?;
        return Ok(Exit::Fine);
    }
    let listed = |counts: &BTreeMap<String, usize>| {
        let counts: Vec<String> = counts
            .iter()
            .map(|(name, count)| format!("{count} {name}"))
            .collect();
        counts.join(", ")
    };
    let mut table = Table::new(["what", "how much"]);
    for (what, how_much) in [
        (
            "sessions",
            format!("{} ({})", stats.sessions, listed(&stats.modes)),
        ),
        (
            "searches and descriptions",
            format!("{} and {}", stats.searches, stats.describes),
        ),
        ("programs", stats.programs.to_string()),
        (
            "calls",
            format!("{} ({})", stats.calls, listed(&stats.sources)),
        ),
        ("failed calls", listed(&stats.failed)),
        ("repaired arguments", stats.repairs.to_string()),
        (
            "bytes shown at first",
            format!(
                "{} instead of {}",
                grouped(stats.sent),
                grouped(stats.direct)
            ),
        ),
    ] {
        table.row([what.to_owned(), how_much]);
    }
    output.table(&table)?;
    if !stats.tools.is_empty() {
        output.text("")?;
        let mut table = Table::new([">calls", "tool"]);
        for (id, calls) in stats.most() {
            table.row([calls.to_string(), id.to_owned()]);
        }
        output.table(&table)?;
    }
    Ok(Exit::Fine)
}
