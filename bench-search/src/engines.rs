//! The engines, each behind the same two operations: make an index, ask it for the best eight. Not here:
//! which tools and queries, and how figures are shown.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, bail};
use futures::executor::block_on;
use serde_json::Value;
use tantivy::collector::TopDocs;
use tantivy::query::QueryParser;
use tantivy::schema::{Field, STORED, Schema, TEXT};
use tantivy::{IndexWriter, TantivyDocument};
use toolsearch_catalog::{Catalog, ToolDescriptor};
use toolsearch_eval::{percentile, resident_bytes};
use toolsearch_search::{ExactFirst, Index, Ranker, SearchRequest};
use toolsearch_search_bm25::Bm25;

use crate::data;
use crate::figures::{Figures, Ours};

/// Hits that are asked for.
const LIMIT: usize = 8;
/// How often each query is asked; the median of the times counts, so that an interruption does not.
const ROUNDS: usize = 7;
/// How often an index is made; the median counts.
const BUILDS: usize = 3;
/// Tools that change in a diff.
const CHANGED: usize = 20;
/// Hostile queries.
const HOSTILE: usize = 2_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Toolsearch,
    Bm25Crate,
    Tantivy,
}

impl Engine {
    pub(crate) const ALL: [Self; 3] = [Self::Toolsearch, Self::Bm25Crate, Self::Tantivy];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Toolsearch => "toolsearch",
            Self::Bm25Crate => "bm25-crate",
            Self::Tantivy => "tantivy",
        }
    }

    pub(crate) fn parse(name: &str) -> Result<Self> {
        match Self::ALL.into_iter().find(|engine| engine.name() == name) {
            Some(engine) => Ok(engine),
            None => bail!("no engine is named {name}"),
        }
    }
}

/// Measures one engine.
pub(crate) fn measure(engine: Engine, catalog: Catalog, queries: &[String]) -> Result<Figures> {
    let size = catalog.len();
    let mut figures = match engine {
        Engine::Toolsearch => toolsearch(&catalog, queries)?,
        Engine::Bm25Crate => bm25_crate(&catalog, queries),
        Engine::Tantivy => tantivy(&catalog, queries)?,
    };
    figures.engine = engine.name().to_owned();
    figures.tools = size;
    Ok(figures)
}

/// Makes an index several times; gives the last one, the median time and by how much the first made the
/// process grow.
fn built<T>(mut make: impl FnMut() -> T) -> (T, f64, u64) {
    let before = resident_bytes().unwrap_or(0);
    let mut times = Vec::new();
    let mut grown = 0;
    let mut index = None;
    for round in 0..BUILDS {
        drop(index.take());
        let started = Instant::now();
        index = Some(make());
        times.push(started.elapsed().as_secs_f64() * 1e3);
        if round == 0 {
            grown = resident_bytes().unwrap_or(0).saturating_sub(before);
        }
    }
    times.sort_unstable_by(f64::total_cmp);
    let index = index.expect("because it was made at least once");
    (index, percentile(&times, 0.5), grown)
}

/// Median and 99th percentile in microseconds, over the queries, of the median of each query's times.
fn asked(queries: &[String], mut ask: impl FnMut(&str) -> usize) -> (f64, f64, f64) {
    let mut times = vec![Vec::with_capacity(ROUNDS); queries.len()];
    for _ in 0..=ROUNDS {
        for (query, times) in queries.iter().zip(&mut times) {
            let started = Instant::now();
            black_box(ask(query));
            times.push(started.elapsed().as_secs_f64() * 1e6);
        }
    }
    let mut medians: Vec<f64> = times
        .into_iter()
        .map(|mut times| {
            // The first round warms up.
            times.remove(0);
            times.sort_unstable_by(f64::total_cmp);
            percentile(&times, 0.5)
        })
        .collect();
    medians.sort_unstable_by(f64::total_cmp);
    let most = medians.last().copied().unwrap_or_default();
    (percentile(&medians, 0.5), percentile(&medians, 0.99), most)
}

fn toolsearch(catalog: &Catalog, queries: &[String]) -> Result<Figures> {
    let ranker = ExactFirst(Bm25::default());
    let index = |catalog: &Catalog, previous: Option<&Arc<dyn Index>>| {
        block_on(ranker.index(catalog, previous)).expect("because this ranker always answers")
    };
    let (made, build_ms, resident) = built(|| index(catalog, None));
    let ask = |query: &str| {
        let answer = block_on(made.search(&SearchRequest::new(query, LIMIT)));
        answer.map_or(0, |answer| answer.hits.len())
    };
    let (p50_us, p99_us, _) = asked(queries, ask);
    let hostile = data::hostile(catalog, HOSTILE);
    let (_, _, hostile_us) = asked(&hostile, ask);
    let changed = changed(catalog)?;
    let mut diffs: Vec<f64> = (0..9)
        .map(|_| {
            let started = Instant::now();
            black_box(index(&changed, Some(&made)));
            started.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    diffs.sort_unstable_by(f64::total_cmp);
    let heap = Bm25::default().build(catalog, None).heap_bytes();
    let ours = Ours {
        heap_bytes: heap as u64,
        diff_ms: percentile(&diffs, 0.5),
        hostile_us,
    };
    Ok(Figures::new(p50_us, p99_us, build_ms, resident, Some(ours)))
}

/// The same catalog with another description for a few tools.
fn changed(catalog: &Catalog) -> Result<Catalog> {
    let step = (catalog.len() / CHANGED).max(1);
    let tools = catalog.entries().iter().enumerate().map(|(at, tool)| {
        let mut tool = ToolDescriptor::clone(tool);
        if at % step == 0 && at / step < CHANGED {
            tool.description.push_str(" Now with tags and colours.");
        }
        tool
    });
    Ok(tools.collect())
}

/// The words of a tool in one text, as an engine without fields needs them.
fn flat(tool: &ToolDescriptor) -> String {
    let owner = tool.owner_description.as_deref().unwrap_or_default();
    format!(
        "{} {} {} {} {} {owner}",
        tool.name,
        tool.name.replace(['_', '-', '.'], " "),
        tool.owner,
        tool.description,
        parameters(tool)
    )
}

/// Names and descriptions of the parameters.
fn parameters(tool: &ToolDescriptor) -> String {
    let mut text = String::new();
    let properties = tool
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten() {
        text.push_str(name);
        text.push(' ');
        if let Some(description) = property.get("description").and_then(Value::as_str) {
            text.push_str(description);
            text.push(' ');
        }
    }
    text
}

fn bm25_crate(catalog: &Catalog, queries: &[String]) -> Figures {
    use bm25::{Document, Language, SearchEngine, SearchEngineBuilder};
    let documents: Vec<Document<u32>> = (0u32..)
        .zip(catalog.entries())
        .map(|(id, tool)| Document {
            id,
            contents: flat(tool),
        })
        .collect();
    let (engine, build_ms, resident) = built(|| -> SearchEngine<u32> {
        SearchEngineBuilder::with_documents(Language::English, documents.clone()).build()
    });
    let (p50_us, p99_us, _) = asked(queries, |query| engine.search(query, LIMIT).len());
    Figures::new(p50_us, p99_us, build_ms, resident, None)
}

fn tantivy(catalog: &Catalog, queries: &[String]) -> Result<Figures> {
    let mut schema = Schema::builder();
    let id = schema.add_u64_field("id", STORED);
    let fields = ["name", "owner", "description", "parameters"]
        .map(|name| schema.add_text_field(name, TEXT));
    let schema = schema.build();
    let (index, build_ms, resident) = built(|| tantivy_index(catalog, &schema, id, &fields));
    let index = index?;
    let searcher = index.reader()?.searcher();
    let mut parser = QueryParser::for_index(&index, fields.to_vec());
    parser.set_field_boost(fields[0], 3.0);
    parser.set_field_boost(fields[1], 1.5);
    let (p50_us, p99_us, _) = asked(queries, |query| {
        let (query, _) = parser.parse_query_lenient(query);
        let found = searcher.search(&query, &TopDocs::with_limit(LIMIT).order_by_score());
        found.map_or(0, |hits| hits.len())
    });
    Ok(Figures::new(p50_us, p99_us, build_ms, resident, None))
}

fn tantivy_index(
    catalog: &Catalog,
    schema: &Schema,
    id: Field,
    fields: &[Field; 4],
) -> Result<tantivy::Index> {
    let index = tantivy::Index::create_in_ram(schema.clone());
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 64 << 20)?;
    for (at, tool) in (0u64..).zip(catalog.entries()) {
        let name = format!("{} {}", tool.name, tool.name.replace(['_', '-', '.'], " "));
        let mut document = TantivyDocument::default();
        document.add_u64(id, at);
        document.add_text(fields[0], name);
        document.add_text(fields[1], &tool.owner);
        document.add_text(fields[2], &tool.description);
        document.add_text(fields[3], parameters(tool));
        writer.add_document(document)?;
    }
    writer.commit()?;
    let segments = index.searchable_segment_ids()?;
    if segments.len() > 1 {
        writer.merge(&segments).wait()?;
    }
    writer.wait_merging_threads()?;
    Ok(index)
}
