//! Benchmarks as ratios within one run: `cargo xtask bench plan`, `… sandbox`, `… gateway`.
//!
//! Times are of this machine at this moment; only the ratios are checked.

#[path = "bench/gateway/mod.rs"]
mod gateway;
#[path = "bench/proxy.rs"]
mod proxy;
#[path = "bench/sandbox.rs"]
mod sandbox;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use serde_json::json;
use toolsearch_catalog::{Source, ToolDescriptor};
use toolsearch_invoke::Listing;
use toolsearch_mode_tools::ToolsMode;
use toolsearch_policy::{Layer, LayerRules, Rules, Subject};
use toolsearch_runtime::{Components, OpenRequest, Options, Runtime, Session};
use toolsearch_sample::Sample;
use toolsearch_search::ExactFirst;
use toolsearch_search_bm25::Bm25;

/// Tools in the planned catalog.
const TOOLS: usize = 2_800;

/// A replan of the very same tools must be at least this much faster than a plan.
const LEAST_RATIO: f64 = 50.0;

fn main() -> ExitCode {
    toolsearch::work_if_asked();
    let outcome = match std::env::args().nth(1).as_deref() {
        Some("plan") => plan(),
        Some("sandbox") => sandbox::run(),
        Some("proxy") => proxy::run(),
        Some("gateway") => gateway::run(std::env::args().nth(2).as_deref()),
        Some("echo-server") => {
            let tools = std::env::args().nth(2).and_then(|tools| tools.parse().ok());
            gateway::serve(tools.unwrap_or(1))
        }
        other => Err(anyhow::anyhow!(
            "unknown benchmark {other:?}; known: plan, sandbox, gateway, proxy"
        )),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "a program that people run")]
            {
                eprintln!("bench: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

fn plan() -> anyhow::Result<()> {
    let tokio = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let runtime = runtime()?;
    let open = |listings: Vec<Listing>| {
        tokio.block_on(runtime.open(OpenRequest::new(Subject::anyone(), listings)))
    };
    let listings = listings();
    let fresh = median(9, || {
        let copy = copied(&listings);
        time(|| open(copy))
    })?;
    let kept = open(listings.clone()).context("a first plan")?;
    let equal = median(9, || {
        let copy = copied(&listings);
        time(|| open(copy))
    })?;
    let same = median(101, || time(|| open(listings.clone())))?;
    let ratio = fresh.as_secs_f64() / same.as_secs_f64();
    let equal_ratio = fresh.as_secs_f64() / equal.as_secs_f64();
    let report = json!({
        "benchmark": "plan",
        "tools": kept.catalog().len(),
        "plan_us": fresh.as_micros(),
        "replan_equal_content_us": equal.as_micros(),
        "replan_same_tools_us": same.as_micros(),
        "ratio_equal_content": (equal_ratio * 10.0).round() / 10.0,
        "ratio_same_tools": (ratio * 10.0).round() / 10.0,
        "declared_bytes": kept.sizes().sent(),
        "direct_bytes": kept.sizes().direct_tool_bytes,
    });
    #[expect(clippy::print_stdout, reason = "a program that people run")]
    {
        println!("{}", serde_json::to_string_pretty(&report)?);
    }
    ensure!(
        ratio >= LEAST_RATIO,
        "a replan is only {ratio:.1} times faster; {LEAST_RATIO} is asked"
    );
    Ok(())
}

fn runtime() -> anyhow::Result<Runtime> {
    let lists = LayerRules {
        allow: None,
        deny: vec!["native:*:purge_*".to_owned()],
        ask: vec!["*:delete_*".to_owned()],
    };
    let mut parts = Components::default();
    parts.policy = Arc::new(Rules::new().layer(Layer::Global, &lists, &Default::default())?);
    parts.ranker = Arc::new(ExactFirst(Bm25::default()));
    parts.mode = Arc::new(ToolsMode);
    Ok(Runtime::new(parts, Options::default())?)
}

/// The sample's tools under as many owners as it takes.
fn listings() -> Vec<Listing> {
    let base = Sample::new().listings();
    let mut listings = Vec::new();
    let mut count = 0;
    for copy in 0.. {
        for listing in &base {
            let owner = format!("{}-{copy}", listing.owner);
            let tools: Vec<Arc<ToolDescriptor>> = listing
                .tools
                .iter()
                .take(TOOLS - count)
                .filter_map(|tool| Some(Arc::new(renamed(tool, &owner)?)))
                .collect();
            count += tools.len();
            listings.push(Listing::new(Source::Native, owner, tools));
            if count >= TOOLS {
                return listings;
            }
        }
    }
    listings
}

fn renamed(tool: &ToolDescriptor, owner: &str) -> Option<ToolDescriptor> {
    let schema = Arc::clone(&tool.input_schema);
    let mut copy = ToolDescriptor::new(Source::Native, owner, &tool.name, schema).ok()?;
    copy.description.clone_from(&tool.description);
    copy.output_schema.clone_from(&tool.output_schema);
    Some(copy)
}

/// Equal tools at other addresses, as a second client would send them.
fn copied(listings: &[Listing]) -> Vec<Listing> {
    let copy = |listing: &Listing| {
        let tools = listing
            .tools
            .iter()
            .map(|tool| Arc::new(ToolDescriptor::clone(tool)));
        Listing::new(listing.source, listing.owner.as_str(), tools.collect())
    };
    listings.iter().map(copy).collect()
}

fn time<E: std::error::Error + Send + Sync + 'static>(
    open: impl FnOnce() -> Result<Session, E>,
) -> anyhow::Result<Duration> {
    let start = Instant::now();
    let session = open()?;
    let took = start.elapsed();
    if session.surface().tools.is_empty() {
        bail!("the surface is empty");
    }
    Ok(took)
}

fn median(
    times: usize,
    mut run: impl FnMut() -> anyhow::Result<Duration>,
) -> anyhow::Result<Duration> {
    let mut all = (0..times)
        .map(|_| run())
        .collect::<anyhow::Result<Vec<_>>>()?;
    all.sort_unstable();
    Ok(all[all.len() / 2])
}
