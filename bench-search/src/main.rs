//! `cargo xtask bench search`: the search of toolsearch beside the `bm25` crate and `tantivy` in RAM, over
//! catalogs of 1,000 to 50,000 tools. Every engine runs in a process of its own, one after the other, on
//! one thread, with the same tools and the same queries. Not here: how good the answers are
//! (`cargo xtask eval`).

mod data;
mod engines;
mod figures;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::engines::Engine;
use crate::figures::Figures;

/// Tools of the catalogs that are measured.
const SIZES: [usize; 4] = [1_000, 2_800, 17_570, 50_000];

const USAGE: &str = "\
options
  --data FOLDER   folder of retrieval sets for real tools and queries [default: $TOOLSEARCH_RETRIEVAL_DATA,
                  else tools and queries that are made up]
  --size N        this size alone (may be repeated)
  --json FILE     write all figures";

#[derive(Debug, Default)]
struct Options {
    data: Option<PathBuf>,
    sizes: Vec<usize>,
    json: Option<PathBuf>,
    /// Measure one engine in this process and print its figures as JSON.
    only: Option<Engine>,
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
            "--size" => options.sizes.push(value()?.parse()?),
            "--json" => options.json = Some(value()?.into()),
            "--only" => options.only = Some(Engine::parse(&value()?)?),
            _ => bail!("unknown option {word}\n{USAGE}"),
        }
    }
    if options.sizes.is_empty() {
        options.sizes = SIZES.to_vec();
    }
    if options.data.is_none() {
        options.data = std::env::var_os("TOOLSEARCH_RETRIEVAL_DATA").map(PathBuf::from);
    }
    Ok(options)
}

fn main() -> Result<()> {
    let options = options()?;
    let folder = options.data.as_deref();
    if let Some(engine) = options.only {
        let size = options.sizes[0];
        let figures = engines::measure(
            engine,
            data::catalog(folder, size)?,
            &data::queries(folder)?,
        )?;
        println!("{}", serde_json::to_string(&figures)?);
        return Ok(());
    }
    match folder {
        Some(folder) => println!("tools and queries of {}", folder.display()),
        None => println!("tools and queries that are made up; --data FOLDER takes real ones"),
    }
    let mut all: Vec<Figures> = Vec::new();
    for size in &options.sizes {
        for engine in Engine::ALL {
            let figures = in_a_process(engine, *size, &options)?;
            println!("{}", figures.line());
            all.push(figures);
        }
    }
    println!();
    for line in figures::goals(&all) {
        println!("{line}");
    }
    if let Some(path) = &options.json {
        std::fs::write(path, serde_json::to_string_pretty(&all)? + "\n")?;
    }
    Ok(())
}

/// Runs this program again for one engine, so that none meets the memory of another.
fn in_a_process(engine: Engine, size: usize, options: &Options) -> Result<Figures> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["--only", engine.name(), "--size", &size.to_string()]);
    if let Some(folder) = &options.data {
        command.arg("--data").arg(folder);
    }
    let output = command.stderr(std::process::Stdio::inherit()).output()?;
    if !output.status.success() {
        bail!(
            "{} over {size} tools ended with {}",
            engine.name(),
            output.status
        );
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}
