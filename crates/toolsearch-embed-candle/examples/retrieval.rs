//! What a model adds: measures words alone and words with meaning on the same queries, side by side, against
//! what should be reached.
//!
//! Sets are folders as the README of `toolsearch-eval` says; `docs/search.md` has the command and its figures.

#![expect(clippy::print_stdout, reason = "a measurement is there to be read")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use toolsearch_embed_candle::{LocalModel, Options as ModelOptions};
use toolsearch_eval::{DataSet, NINE_ROWS, Report, Row, measure, read};
use toolsearch_search::{Embedder as _, ExactFirst};
use toolsearch_search_bm25::{Bm25, Options as WordOptions};
use toolsearch_search_hybrid::{Hybrid, Options};

const USAGE: &str = "\
retrieval --data FOLDER --model FOLDER [options]
  --data FOLDER      folder with one folder a set
  --model FOLDER     a model as `toolsearch model get` leaves it
  --vectors FOLDER   keep the vectors of tools, so that a second run is quick
  --only SET         measure this set alone (may be repeated)
  --sample N         so many queries of a set at most, spread over it evenly
  --no-lexicons      words of other languages are not looked up in tables";

/// No measurement ends for want of time.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);

/// For the mean of nine rows.
const MACRO_GOAL: f64 = 0.80;

/// What rows should reach with a model of English, and with one of many languages.
const ENGLISH: [(&str, f64); 3] = [
    ("mcp-real/agent", 0.95),
    ("mcp-real/human", 0.65),
    ("metatool-toole", 0.80),
];
const MANY: [(&str, f64); 6] = [
    ("mcp-real/tr", 0.70),
    ("mcp-real/tr-ascii", 0.70),
    ("mcp-real/tr-upper", 0.70),
    ("xsid-de", 0.50),
    ("xsid-ja", 0.85),
    ("xsid-tr", 0.65),
];
/// No row may fall under words alone by more.
const MOST_LOST: f64 = 0.01;

#[derive(Debug, Default)]
struct Asked {
    data: Option<PathBuf>,
    model: Option<PathBuf>,
    vectors: Option<PathBuf>,
    only: Vec<String>,
    sample: Option<usize>,
    no_lexicons: bool,
}

fn asked() -> Result<Asked> {
    let mut asked = Asked::default();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        if word == "--no-lexicons" {
            asked.no_lexicons = true;
            continue;
        }
        let value = words.next();
        let value = value.with_context(|| format!("{word} needs a value\n{USAGE}"))?;
        match word.as_str() {
            "--data" => asked.data = Some(value.into()),
            "--model" => asked.model = Some(value.into()),
            "--vectors" => asked.vectors = Some(value.into()),
            "--only" => asked.only.push(value),
            "--sample" => asked.sample = Some(value.parse()?),
            _ => bail!("unknown option {word}\n{USAGE}"),
        }
    }
    Ok(asked)
}

fn main() -> Result<()> {
    let asked = asked()?;
    let sets = sets(&asked)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let _inside = runtime.enter();
    let model = asked.model.as_deref().context(USAGE)?;
    let embedder = LocalModel::open(model, ModelOptions::default())?;
    let goals: &[(&str, f64)] = match embedder.is_multilingual() {
        true => &MANY,
        false => &ENGLISH,
    };
    let mut options = Options::default();
    options.index_wait = PATIENCE;
    options.query_timeout = PATIENCE;
    options.folder = asked.vectors;
    let mut words = WordOptions::default();
    if asked.no_lexicons {
        words.lexicons.clear();
    }
    let words = Bm25::new(words);
    let alone = measure(&ExactFirst(words.clone()), &sets)?;
    let started = Instant::now();
    let hybrid = Hybrid::new(Arc::new(words), Arc::new(embedder), options);
    let both = measure(&ExactFirst(hybrid), &sets)?;
    tell(&alone, &both, goals);
    println!("measured in {:.0} s", started.elapsed().as_secs_f64());
    Ok(())
}

fn sets(asked: &Asked) -> Result<Vec<DataSet>> {
    let folder = asked.data.as_deref().context(USAGE)?;
    let mut sets = read::folder(folder, "mcp-real")?;
    sets.retain(|set| asked.only.is_empty() || asked.only.contains(&set.name));
    for set in &mut sets {
        set.by_style |= set.name == "mcp-real";
        for query in &mut set.queries {
            query.dataset = None;
        }
        let all = set.queries.len();
        if let Some(most) = asked.sample.filter(|most| *most < all && !set.by_style) {
            let kept = (0..most).map(|at| set.queries[at * all / most].clone());
            set.queries = kept.collect();
        }
    }
    Ok(sets)
}

/// R@5 of both, or the share that was answered with nothing where nothing fits.
fn tell(alone: &Report, both: &Report, goals: &[(&str, f64)]) {
    println!(
        "{:24} {:4} {:>6} {:>7} {:>7} {:>7}  goal",
        "set", "lang", "n", "words", "both", ""
    );
    for (words, both) in alone.datasets.iter().zip(&both.datasets) {
        let of = |row: &Row| row.recall_5.unwrap_or(row.no_match);
        let (before, after) = (of(words), of(both));
        let goal = goals.iter().find(|(name, _)| *name == both.name);
        let goal = goal.map_or_else(String::new, |(_, goal)| {
            format!(
                "{goal:.2} {}",
                if after >= *goal { "reached" } else { "MISSED" }
            )
        });
        let fell = if after < before - MOST_LOST {
            "FELL "
        } else {
            ""
        };
        println!(
            "{:24} {:4} {:>6} {before:>7.3} {after:>7.3} {:>+7.3}  {fell}{goal}",
            both.name,
            both.language,
            both.queries,
            after - before,
        );
    }
    let means = alone
        .macro_recall_5(&NINE_ROWS)
        .zip(both.macro_recall_5(&NINE_ROWS));
    if let Some((before, after)) = means {
        println!("mean of nine {before:.3} {after:.3}, goal {MACRO_GOAL}");
    }
}
