//! `cargo xtask eval`: measures the product's ranker on the set of the crate and on every set of the
//! folder that `--data` or `TOOLSEARCH_RETRIEVAL_DATA` names.

#![expect(clippy::print_stdout, reason = "a measurement is there to be read")]

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use toolsearch_eval::{
    DataSet, Goal, NINE_ROWS, Report, chart, compare, measure, misses, own, read, table,
};
use toolsearch_search::ExactFirst;
use toolsearch_search_bm25::Bm25;

const USAGE: &str = "\
options
  --data FOLDER      folder with one folder a set [default: $TOOLSEARCH_RETRIEVAL_DATA]
  --only NAME        measure this set alone (may be repeated)
  --json FILE        write the report
  --svg FILE         write a chart
  --misses DEPTH     list the queries whose tools are not among so many hits
  --baseline FILE    compare with an older report and fail on a drop beyond noise";

/// What the rows should reach.
const GOALS: &[(&str, Goal)] = &[
    ("acebench-en", Goal::Recall5(0.99)),
    ("acebench-zh", Goal::Recall5(0.97)),
    ("bfcl", Goal::Recall5(0.80)),
    ("livemcpbench", Goal::Recall5(0.37)),
    ("mcp-real/agent", Goal::Recall5(0.94)),
    ("mcp-real@20000/agent", Goal::Recall5(0.85)),
    ("mcp-real/human", Goal::Recall5(0.46)),
    ("mcp-real/tr", Goal::Recall5(0.70)),
    ("mcp-real/tr-ascii", Goal::Recall5(0.70)),
    ("mcp-real/tr-upper", Goal::Recall5(0.70)),
    ("mcp-real/typo", Goal::Recall5(0.91)),
    ("metatool-toole", Goal::Recall5(0.69)),
    ("no-match", Goal::Refused(0.90)),
    ("seal-tools", Goal::Recall5(0.88)),
    ("stabletoolbench", Goal::Recall5(0.69)),
    ("xsid-tr", Goal::Recall5(0.45)),
];

/// The set that is measured once more among so many tools, and where the others come from.
const GROWN: &str = "mcp-real";
const GROWN_TO: usize = 20_000;
const OTHERS: [&str; 3] = ["toucan-mcp", "seal-tools", "composio-mocks"];

/// For the mean of nine rows.
const MACRO_GOAL: f64 = 0.75;

#[derive(Debug, Default)]
struct Options {
    data: Option<PathBuf>,
    only: Vec<String>,
    json: Option<PathBuf>,
    svg: Option<PathBuf>,
    misses: Option<usize>,
    baseline: Option<PathBuf>,
}

fn options() -> Result<Options> {
    let mut options = Options::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .with_context(|| format!("{word} needs a value"))
        };
        match word.as_str() {
            "--data" => options.data = Some(value()?.into()),
            "--only" => options.only.push(value()?),
            "--json" => options.json = Some(value()?.into()),
            "--misses" => options.misses = Some(value()?.parse()?),
            "--svg" => options.svg = Some(value()?.into()),
            "--baseline" => options.baseline = Some(value()?.into()),
            _ => bail!("unknown option {word}\n{USAGE}"),
        }
    }
    Ok(options)
}

/// The folder of sets outside the project, where there is one.
fn folder(options: &Options) -> Option<PathBuf> {
    let named = std::env::var_os("TOOLSEARCH_RETRIEVAL_DATA").map(PathBuf::from);
    options.data.clone().or(named)
}

fn sets(options: &Options) -> Result<Vec<DataSet>> {
    let mut sets = vec![own()];
    match folder(options) {
        Some(folder) => sets.extend(read::folder(&folder, GROWN)?),
        None => println!("only the set of the crate: --data FOLDER takes others"),
    }
    for set in &mut sets {
        set.by_style |= set.name == GROWN;
        for query in &mut set.queries {
            query.dataset = None;
        }
    }
    if let (Some(folder), Some(set)) = (folder(options), sets.iter().find(|set| set.name == GROWN))
    {
        sets.extend(among_many(set, &folder)?);
    }
    let only = &options.only;
    sets.retain(|set| only.is_empty() || only.contains(&set.name));
    Ok(sets)
}

/// The set among tools of the other sets; nothing where they are too few.
fn among_many(set: &DataSet, folder: &Path) -> Result<Option<DataSet>> {
    let mut others = Vec::new();
    for name in OTHERS {
        let path = folder.join(name).join("catalog.jsonl");
        if path.is_file() {
            others.push(read::tools(&path)?);
        }
    }
    let grown = set.grown(&others, GROWN_TO);
    Ok((grown.tools.catalog.len() == GROWN_TO).then_some(grown))
}

fn main() -> Result<()> {
    let options = options()?;
    let sets = sets(&options)?;
    let ranker = ExactFirst(Bm25::default());
    let report = measure(&ranker, &sets)?;
    if let Some(depth) = options.misses {
        for set in &sets {
            for miss in misses(&ranker, set, depth)? {
                println!("{}: {}", miss.row, miss.query);
                println!("  missing {}", miss.missing.join(", "));
                let found: Vec<&str> = miss.found.iter().map(|id| id.as_str()).collect();
                println!("  found {}", found.join(", "));
            }
        }
    }
    println!("{}", table(&report, GOALS));
    if let Some(mean) = report.macro_recall_5(&NINE_ROWS) {
        println!("macro R@5 {mean:.3}, goal {MACRO_GOAL}");
    }
    if let Some(path) = &options.json {
        std::fs::write(path, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    if let Some(path) = &options.svg {
        std::fs::write(
            path,
            chart(&report, "Tools found among the first five, percent"),
        )?;
    }
    options
        .baseline
        .map_or(Ok(()), |path| hold(&path, &sets, &report))
}

/// Fails when a measure of a set that is there fell by more than noise.
fn hold(path: &Path, sets: &[DataSet], report: &Report) -> Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut before: Report =
        serde_json::from_str(&text).with_context(|| path.display().to_string())?;
    before.datasets.retain(|row| {
        let name = row.name.split('/').next();
        sets.iter().any(|set| Some(set.name.as_str()) == name)
    });
    let comparison = compare(&before, report);
    for drop in &comparison.drops {
        println!(
            "DROP {} {}: {:.3} was {:.3} (noise {:.3})",
            drop.row, drop.measure, drop.after, drop.before, drop.noise
        );
    }
    if !comparison.drops.is_empty() {
        bail!(
            "{} measures fell by more than noise",
            comparison.drops.len()
        );
    }
    println!("{} rows compared, no drop beyond noise", comparison.rows);
    Ok(())
}
