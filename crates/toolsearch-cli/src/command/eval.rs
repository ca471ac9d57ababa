//! `toolsearch eval`: how well search finds tools, on queries of one's own.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolsearch::sandbox::NoEngine;
use toolsearch::search::Ranker;
use toolsearch_eval::read::{self, ReadError};
use toolsearch_eval::{
    Comparison, DataSet, Miss, Report, Tools, chart, compare, measure, misses, own, table,
};

use crate::assemble::{Assembled, Purpose};
use crate::cli::{Common, EvalArgs};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

/// A query misses when a relevant tool is not among so many hits.
const MISS_DEPTH: usize = 5;

/// Measures, and compares with an older measurement where one is given.
pub(crate) async fn run(args: &EvalArgs, common: &Common, output: &Output) -> Done {
    let set = data(args, common, output).await?;
    let before = args.baseline.as_deref().map(stored).transpose()?;
    let ranker = ranker();
    let report = measure(&ranker, std::slice::from_ref(&set)).map_err(|error| failed(&error))?;
    let missed = if args.misses {
        misses(&ranker, &set, MISS_DEPTH).map_err(|error| failed(&error))?
    } else {
        Vec::new()
    };
    note_unknown(&report, output);
    if let Some(path) = &args.svg {
        let picture = chart(&report, "Tools found among the first five, percent");
        fs::write(path, picture)
            .map_err(|error| Fault::usage(format!("cannot write {}: {error}", path.display())))?;
    }
    let comparison = before.map(|before| compare(&before, &report));
    if output.json {
        output.document(&document(
            &report,
            args.misses.then_some(&missed),
            comparison.as_ref(),
        )?)?;
    } else {
        output.text(table(&report, &[]).trim_end())?;
        for miss in &missed {
            output.text(&told(miss))?;
        }
    }
    verdict(comparison.as_ref(), output)
}

/// The ranker that the product uses.
fn ranker() -> Arc<dyn Ranker> {
    toolsearch::recommended_with(Arc::new(NoEngine)).ranker
}

/// Queries and tools of files; without a file of tools the catalog of the configuration, and without any
/// file the set that comes with the program.
async fn data(args: &EvalArgs, common: &Common, output: &Output) -> Result<DataSet, Fault> {
    let Some(path) = &args.queries else {
        if !common.tools.is_empty() {
            let fault = Fault::usage("queries are missing for these tools");
            return Err(fault.next(
                "give --queries FILE with lines {\"query\": \"…\", \"relevant\": [\"owner/name\"]}",
            ));
        }
        output.note("no --queries and --tools: this is the small set that comes with toolsearch");
        return Ok(own());
    };
    let queries = read::queries(path).map_err(|error| unreadable(&error))?;
    if queries.is_empty() {
        return Err(Fault::usage(format!("{} holds no query", path.display())));
    }
    let tools = if common.tools.is_empty() {
        configured(common, output).await?
    } else {
        let tools = read::tools_of(&common.tools).map_err(|error| unreadable(&error))?;
        if tools.skipped > 0 {
            output.warning(&format!("{} rows are no tools", tools.skipped));
        }
        tools
    };
    let name = path.file_stem().map(|stem| stem.to_string_lossy());
    let name = name.unwrap_or_else(|| "queries".into());
    let name = name.strip_suffix(".queries").unwrap_or(&name);
    Ok(DataSet::new(name, Arc::new(tools), queries))
}

/// What a session of this configuration could search.
async fn configured(common: &Common, output: &Output) -> Result<Tools, Fault> {
    let assembled = Assembled::new(common, Purpose::Measuring, output)?;
    let session = assembled.open().await;
    assembled.close(output).await;
    Ok(Tools::of(session?.catalog().clone()))
}

fn note_unknown(report: &Report, output: &Output) {
    let unknown: usize = report.datasets.iter().map(|row| row.unknown_labels).sum();
    if unknown > 0 {
        output.warning(&format!(
            "{unknown} relevant tools are named that are not in the catalog; they count as not found"
        ));
    }
}

fn document(
    report: &Report,
    missed: Option<&Vec<Miss>>,
    comparison: Option<&Comparison>,
) -> Result<Value, Fault> {
    let mut value = serde_json::to_value(report)
        .map_err(|error| Fault::failed(format!("the report cannot be written: {error}")))?;
    if let Some(missed) = missed {
        let row = |miss: &Miss| json!({ "dataset": miss.row, "query": miss.query, "missing": miss.missing, "found": miss.found });
        value["misses"] = missed.iter().map(row).collect();
    }
    if let Some(comparison) = comparison {
        let drops = comparison.drops.iter().map(|drop| {
            json!({
                "dataset": drop.row, "measure": drop.measure,
                "before": drop.before, "after": drop.after, "noise": drop.noise,
            })
        });
        let drops: Value = drops.collect();
        value["comparison"] = json!({ "rows": comparison.rows, "drops": drops });
    }
    Ok(value)
}

fn told(miss: &Miss) -> String {
    let found: Vec<&str> = miss.found.iter().map(|id| id.as_str()).collect();
    let list = |parts: &[&str]| match parts {
        [] => "nothing".to_owned(),
        parts => parts.join(", "),
    };
    let missing: Vec<&str> = miss.missing.iter().map(String::as_str).collect();
    format!(
        "\n{}: {}\n  missing {}\n  found   {}",
        miss.row,
        miss.query,
        list(&missing),
        list(&found)
    )
}

/// Fails when something fell by more than noise.
fn verdict(comparison: Option<&Comparison>, output: &Output) -> Done {
    let Some(comparison) = comparison else {
        return Ok(Exit::Fine);
    };
    for drop in &comparison.drops {
        output.failure(&format!(
            "{} {} fell from {:.3} to {:.3}, more than the noise of {:.3}",
            drop.row, drop.measure, drop.before, drop.after, drop.noise
        ));
    }
    if !comparison.drops.is_empty() {
        return Ok(Exit::Failed);
    }
    output.note(&format!(
        "{} rows compared, no drop beyond noise",
        comparison.rows
    ));
    Ok(Exit::Fine)
}

/// An older report: what `toolsearch eval --json` printed.
fn stored(path: &Path) -> Result<Report, Fault> {
    let broken = |why: String| {
        let message = format!("{} is no earlier measurement: {why}", path.display());
        Fault::usage(message).next("make one with `toolsearch eval … --json > FILE`")
    };
    let text = fs::read_to_string(path).map_err(|error| broken(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| broken(error.to_string()))
}

fn unreadable(error: &ReadError) -> Fault {
    Fault::usage(with_causes(error))
}

fn failed(error: &dyn Error) -> Fault {
    Fault::failed(with_causes(error))
}

/// An error and what caused it in one line.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
