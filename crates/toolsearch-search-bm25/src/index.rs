//! The index of one catalog and how it is made. Not here: how a tool becomes a bag of words, and how
//! a query is answered.

use std::fmt;
use std::sync::Arc;

use toolsearch_catalog::Catalog;

use crate::document::{Entry, Field, Reader};
use crate::options::Options;
use crate::synonyms::Synonyms;
use crate::vocabulary::{Vocabulary, as_u32};
use crate::words::Words;

/// Catalogs of fewer tools are treated as if they had so many.
const SMALL_CATALOG: usize = 100;

/// What is the same for all indexes of one ranker.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) options: Options,
    pub(crate) words: Words,
    pub(crate) synonyms: Synonyms,
}

impl Parts {
    pub(crate) fn new(options: Options) -> Self {
        let words = Words::new(options.words);
        let synonyms = Synonyms::new(&words);
        Self {
            options,
            words,
            synonyms,
        }
    }
}

/// A catalog in searchable form. Immutable; tools are known by their place in the catalog.
///
/// Postings are two flat arrays, one term after the other, tools ascending; the terms are one sorted
/// string. The bags of the tools stay beside them: they explain hits, and the next index takes over
/// those of tools that did not change.
pub struct Bm25Index {
    pub(crate) catalog: Catalog,
    pub(crate) parts: Arc<Parts>,
    pub(crate) vocabulary: Vocabulary,
    /// Where the list of each term begins in `tools` and `impacts`; one more than there are terms.
    starts: Vec<u32>,
    tools: Vec<u32>,
    impacts: Vec<f32>,
    bags: Bags,
}

/// The bags of all tools, one after the other.
#[derive(Debug, Default, PartialEq, Eq)]
struct Bags {
    entries: Vec<Entry>,
    ends: Vec<u32>,
}

impl Bags {
    fn of(&self, tool: usize) -> &[Entry] {
        let start = if tool == 0 { 0 } else { self.ends[tool - 1] };
        &self.entries[start as usize..self.ends[tool] as usize]
    }

    fn close(&mut self) {
        self.ends.push(as_u32(self.entries.len()));
    }
}

impl fmt::Debug for Bm25Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bm25Index")
            .field("tools", &self.catalog.len())
            .field("terms", &self.vocabulary.len())
            .field("postings", &self.tools.len())
            .finish_non_exhaustive()
    }
}

impl Bm25Index {
    /// Indexes a catalog. Bags of tools that `previous` has unchanged are taken from it; the result is
    /// the same as without it.
    pub(crate) fn build(parts: &Arc<Parts>, catalog: &Catalog, previous: Option<&Self>) -> Self {
        let previous = previous.filter(|index| index.parts.options == parts.options);
        let options = &parts.options;
        let mut reader = Reader::new(
            &parts.words,
            options.words.join_names,
            options.description_words,
        );
        let mut bags = read_all(&mut reader, catalog, previous);
        let vocabulary = number_by_order(&reader.terms.list, &mut bags);
        let mut index = Self {
            catalog: catalog.clone(),
            parts: Arc::clone(parts),
            vocabulary,
            starts: Vec::new(),
            tools: Vec::new(),
            impacts: Vec::new(),
            bags,
        };
        index.post();
        index
    }

    /// Fills the postings from the bags.
    fn post(&mut self) {
        let mut starts = vec![0; self.vocabulary.len() + 1];
        for tool in 0..self.catalog.len() {
            for same in self.bags.of(tool).chunk_by(|a, b| a.term == b.term) {
                starts[same[0].term as usize + 1] += 1;
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let postings = starts.last().copied().unwrap_or(0) as usize;
        let (mut tools, mut impacts) = (vec![0; postings], vec![0.0; postings]);
        let mut next = starts.clone();
        let lengths = Lengths::of(&self.bags, self.catalog.len());
        for tool in 0..self.catalog.len() {
            let bag = self.bags.of(tool);
            let norms = lengths.norms(bag, &self.parts.options);
            for same in bag.chunk_by(|a, b| a.term == b.term) {
                let raw: f32 = same.iter().map(|entry| norms.weigh(entry)).sum();
                let slot = &mut next[same[0].term as usize];
                tools[*slot as usize] = as_u32(tool);
                impacts[*slot as usize] = raw / (raw + self.parts.options.saturation);
                *slot += 1;
            }
        }
        (self.starts, self.tools, self.impacts) = (starts, tools, impacts);
    }

    /// The tools that have a term, ascending, and how much each is about it.
    pub(crate) fn postings(&self, term: u32) -> impl Iterator<Item = (u32, f32)> + '_ {
        let range = self.starts[term as usize] as usize..self.starts[term as usize + 1] as usize;
        let impacts = self.impacts[range.clone()].iter().copied();
        self.tools[range].iter().copied().zip(impacts)
    }

    /// In how many tools a term stands.
    pub(crate) fn frequency(&self, term: u32) -> u32 {
        self.starts[term as usize + 1] - self.starts[term as usize]
    }

    /// How telling a term is.
    pub(crate) fn rarity(&self, term: u32) -> f32 {
        self.rarity_of(self.frequency(term))
    }

    /// How telling a term would be that stands in so many tools. A small catalog is taken as part of
    /// a larger one: that all of three tools have a word does not make it a common word.
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of tools, not of grains of sand"
    )]
    pub(crate) fn rarity_of(&self, frequency: u32) -> f32 {
        let all = self.catalog.len().max(SMALL_CATALOG) as f32;
        let some = frequency as f32;
        (1.0 + (all - some + 0.5) / (some + 0.5)).ln()
    }

    /// The fields of a tool that have a term, each with its share of the impact.
    pub(crate) fn fields(&self, tool: usize, term: u32) -> Vec<(Field, f32)> {
        let bag = self.bags.of(tool);
        let start = bag.partition_point(|entry| entry.term < term);
        let same = bag[start..].iter().take_while(|entry| entry.term == term);
        let weights = &self.parts.options.weights;
        let raw: Vec<(Field, f32)> = same
            .map(|entry| {
                (
                    entry.field,
                    weights.of(entry.field) * f32::from(entry.count),
                )
            })
            .collect();
        let sum: f32 = raw.iter().map(|(_, weight)| weight).sum();
        raw.into_iter()
            .map(|(field, weight)| (field, if sum > 0.0 { weight / sum } else { 0.0 }))
            .collect()
    }
}

/// Reads the bags in catalog order, or takes them over, with terms numbered as they come.
fn read_all(reader: &mut Reader<'_>, catalog: &Catalog, previous: Option<&Bm25Index>) -> Bags {
    let mut bags = Bags::default();
    let mut renumbered: Vec<Option<u32>> =
        vec![None; previous.map_or(0, |old| old.vocabulary.len())];
    let mut at_old = 0;
    for tool in catalog.entries() {
        let unchanged = previous.filter(|old| {
            let tools = old.catalog.entries();
            while tools.get(at_old).is_some_and(|other| other.id < tool.id) {
                at_old += 1;
            }
            tools
                .get(at_old)
                .is_some_and(|other| Arc::ptr_eq(other, tool) || other == tool)
        });
        if let Some(old) = unchanged {
            for entry in old.bags.of(at_old) {
                let number = renumbered[entry.term as usize]
                    .get_or_insert_with(|| reader.terms.number(old.vocabulary.term(entry.term)));
                bags.entries.push(Entry {
                    term: *number,
                    ..*entry
                });
            }
        } else {
            reader.read(tool, &mut bags.entries);
        }
        bags.close();
    }
    bags
}

/// Sorts the terms, renumbers the bags by that order and sorts them.
fn number_by_order(terms: &[Box<str>], bags: &mut Bags) -> Vocabulary {
    let mut order: Vec<u32> = (0..as_u32(terms.len())).collect();
    order.sort_unstable_by_key(|number| &terms[*number as usize]);
    let mut places = vec![0; terms.len()];
    for (place, number) in (0u32..).zip(&order) {
        places[*number as usize] = place;
    }
    for entry in &mut bags.entries {
        entry.term = places[entry.term as usize];
    }
    let mut start = 0;
    for end in &bags.ends {
        bags.entries[start..*end as usize].sort_unstable();
        start = *end as usize;
    }
    bags.entries.shrink_to_fit();
    Vocabulary::of_sorted(order.iter().map(|number| &*terms[*number as usize]))
}

/// The average length of each field over the tools that have it.
#[derive(Debug)]
struct Lengths {
    average: [f32; Field::ALL.len()],
}

/// What one occurrence in each field of one tool counts.
struct Norms([f32; Field::ALL.len()]);

impl Norms {
    fn weigh(&self, entry: &Entry) -> f32 {
        self.0[entry.field as usize] * f32::from(entry.count)
    }
}

fn lengths(bag: &[Entry]) -> [u32; Field::ALL.len()] {
    let mut lengths = [0; Field::ALL.len()];
    for entry in bag {
        lengths[entry.field as usize] += u32::from(entry.count);
    }
    lengths
}

#[expect(clippy::cast_precision_loss, reason = "word counts are small")]
impl Lengths {
    fn of(bags: &Bags, tools: usize) -> Self {
        let mut sums = [0u64; Field::ALL.len()];
        let mut having = [0u32; Field::ALL.len()];
        for tool in 0..tools {
            for (field, length) in lengths(bags.of(tool)).into_iter().enumerate() {
                sums[field] += u64::from(length);
                having[field] += u32::from(length > 0);
            }
        }
        let average = std::array::from_fn(|field| sums[field] as f32 / having[field].max(1) as f32);
        Self { average }
    }

    fn norms(&self, bag: &[Entry], options: &Options) -> Norms {
        let lengths = lengths(bag);
        Norms(std::array::from_fn(|at| {
            let field = Field::ALL[at];
            let relative = lengths[at] as f32 / self.average[at].max(1.0);
            // The tail lists each word once, so its length says nothing.
            let share = if field == Field::Tail {
                0.0
            } else {
                options.length_norm
            };
            options.weights.of(field) / (1.0 - share + share * relative)
        }))
    }
}
