//! What a model adds: measures words alone and words with meaning on the same sets, side by side.
//!
//! `retrieval MODEL_FOLDER SETS_FOLDER [--only SET]… [--vectors FOLDER]`, best in a release build. Sets are folders as the
//! README of `toolsearch-eval` says; vectors are kept in `--vectors`, so that a second run is quick.

#![expect(clippy::print_stdout, reason = "a measurement is there to be read")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use toolsearch_embed_candle::{LocalModel, Options as ModelOptions};
use toolsearch_eval::{measure, read, table};
use toolsearch_search::{ExactFirst, Ranker};
use toolsearch_search_bm25::Bm25;
use toolsearch_search_hybrid::{Hybrid, Options};

/// No measurement ends for want of time.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let usage = "retrieval MODEL_FOLDER SETS_FOLDER [--only SET]... [--vectors FOLDER]";
    let (model, folder) = words.next().zip(words.next()).context(usage)?;
    let (mut only, mut vectors) = (Vec::new(), None);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--only" => only.push(words.next().context(usage)?),
            "--vectors" => vectors = Some(PathBuf::from(words.next().context(usage)?)),
            _ => bail!(usage),
        }
    }
    let mut sets = read::folder(&PathBuf::from(folder), "mcp-real")?;
    for set in &mut sets {
        set.by_style |= set.name == "mcp-real";
        for query in &mut set.queries {
            query.dataset = None;
        }
    }
    sets.retain(|set| only.is_empty() || only.contains(&set.name));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let _inside = runtime.enter();
    let embedder = LocalModel::open(&PathBuf::from(model), ModelOptions::default())?;
    let mut options = Options::default();
    options.index_wait = PATIENCE;
    options.query_timeout = PATIENCE;
    options.folder = vectors;
    let hybrid = Hybrid::new(Arc::new(Bm25::default()), Arc::new(embedder), options);
    let rankers: [(&str, Box<dyn Ranker>); 2] = [
        ("words alone", Box::new(ExactFirst(Bm25::default()))),
        ("words and meaning", Box::new(ExactFirst(hybrid))),
    ];
    for (name, ranker) in rankers {
        let report = measure(&*ranker, &sets)?;
        println!("{name}\n{}", table(&report, &[]));
    }
    Ok(())
}
