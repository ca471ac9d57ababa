//! The postings of some tools: immutable, in flat arrays. Not here: which tools make up a catalog, and
//! how telling a term is, because that depends on all segments of an index.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use serde_json::Value;
use toolsearch_catalog::ToolDescriptor;
use toolsearch_schema::names::fold;

use crate::document::{Entry, Field, Reader};
use crate::options::Options;
use crate::verbs::Deed;
use crate::vocabulary::{Vocabulary, as_u32};

const FIELDS: usize = Field::ALL.len();

/// Set in a posting whose tool has the term in its name.
const IN_NAME: u32 = 1 << 31;

/// The bags of some tools, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Bags {
    entries: Vec<Entry>,
    ends: Vec<u32>,
}

impl Bags {
    pub(crate) fn of(&self, tool: usize) -> &[Entry] {
        let start = if tool == 0 { 0 } else { self.ends[tool - 1] };
        &self.entries[start as usize..self.ends[tool] as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }
}

/// A tool whose bag is known from an older segment.
pub(crate) type Known<'a> = (&'a Segment, usize);

/// Tools that were read, with terms in order, before their postings are made.
#[derive(Debug)]
pub(crate) struct Gathered {
    tools: Vec<Arc<ToolDescriptor>>,
    deeds: Vec<Deed>,
    vocabulary: Vocabulary,
    bags: Bags,
    pub(crate) totals: Totals,
}

impl Gathered {
    /// Reads tools, or takes over what is known of them.
    pub(crate) fn read<'a>(
        mut reader: Reader<'_>,
        tools: impl Iterator<Item = (&'a Arc<ToolDescriptor>, Option<Known<'a>>)>,
    ) -> Self {
        let mut bags = Bags::default();
        let mut kept = Vec::new();
        let mut deeds = Vec::new();
        let mut renumbered = Renumbered::default();
        for (tool, known) in tools {
            match known {
                Some((segment, at)) => {
                    let numbers = renumbered.of(segment);
                    for entry in segment.bags.of(at) {
                        let number = numbers[entry.term as usize].get_or_insert_with(|| {
                            reader.terms.number(segment.vocabulary.term(entry.term))
                        });
                        bags.entries.push(Entry {
                            term: *number,
                            ..*entry
                        });
                    }
                }
                None => reader.read(tool, &mut bags.entries),
            }
            bags.ends.push(as_u32(bags.entries.len()));
            deeds.push(reader.deed(tool));
            kept.push(Arc::clone(tool));
        }
        let vocabulary = number_by_order(&reader.terms.list, &mut bags);
        let mut totals = Totals::default();
        for tool in 0..bags.len() {
            totals.add(&lengths(bags.of(tool)));
        }
        Self {
            tools: kept,
            deeds,
            vocabulary,
            bags,
            totals,
        }
    }
}

/// New numbers of the terms of at most two older segments.
#[derive(Default)]
struct Renumbered<'a> {
    segments: Vec<(&'a Segment, Vec<Option<u32>>)>,
}

impl<'a> Renumbered<'a> {
    fn of(&mut self, segment: &'a Segment) -> &mut Vec<Option<u32>> {
        let found = self
            .segments
            .iter()
            .position(|(other, _)| std::ptr::eq(*other, segment));
        let at = found.unwrap_or_else(|| {
            let numbers = vec![None; segment.vocabulary.len()];
            self.segments.push((segment, numbers));
            self.segments.len() - 1
        });
        &mut self.segments[at].1
    }
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

/// The same for tools of equal name, description and parameters. Not the same in another release of the
/// compiler; nothing but equality is asked of it.
fn copy_key(tool: &ToolDescriptor) -> u32 {
    let mut hasher = DefaultHasher::new();
    fold(&tool.name).hash(&mut hasher);
    tool.description.trim().hash(&mut hasher);
    let properties = tool
        .input_schema
        .get("properties")
        .and_then(Value::as_object);
    for name in properties
        .into_iter()
        .flat_map(|properties| properties.keys())
    {
        name.hash(&mut hasher);
    }
    (hasher.finish() >> 32) as u32
}

/// The words of each field of a tool.
pub(crate) type Lengths = [u32; FIELDS];

fn lengths(bag: &[Entry]) -> Lengths {
    let mut lengths = [0; FIELDS];
    for entry in bag {
        lengths[entry.field as usize] += u32::from(entry.count);
    }
    lengths
}

/// The words of each field over tools, and how many tools have the field. Whole numbers, so that adding
/// and taking away in any order gives the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Totals {
    words: [u64; FIELDS],
    tools: [u32; FIELDS],
}

impl Totals {
    pub(crate) fn add(&mut self, lengths: &Lengths) {
        for (field, length) in lengths.iter().enumerate() {
            self.words[field] += u64::from(*length);
            self.tools[field] += u32::from(*length > 0);
        }
    }

    pub(crate) fn take(&mut self, lengths: &Lengths) {
        for (field, length) in lengths.iter().enumerate() {
            self.words[field] -= u64::from(*length);
            self.tools[field] -= u32::from(*length > 0);
        }
    }

    pub(crate) fn join(&mut self, other: &Self) {
        for field in 0..FIELDS {
            self.words[field] += other.words[field];
            self.tools[field] += other.tools[field];
        }
    }
}

/// The average length of each field over the tools that have it, in steps of half an octave: a few
/// changed tools rarely move a step, so that the postings of all others stay as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Averages([i16; FIELDS]);

impl Averages {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "word counts are small"
    )]
    pub(crate) fn of(totals: &Totals) -> Self {
        Self(std::array::from_fn(|field| {
            let average = totals.words[field] as f64 / f64::from(totals.tools[field].max(1));
            (average.max(1.0).log2() * 2.0).round() as i16
        }))
    }

    /// What one occurrence in each field of a tool counts.
    #[expect(clippy::cast_precision_loss, reason = "word counts are small")]
    fn norms(&self, lengths: &Lengths, options: &Options) -> [f32; FIELDS] {
        std::array::from_fn(|at| {
            let field = Field::ALL[at];
            let average = (f32::from(self.0[at]) / 2.0).exp2();
            let relative = lengths[at] as f32 / average;
            // The tail lists each word once, so its length says nothing.
            let share = if field == Field::Tail {
                0.0
            } else {
                options.length_norm
            };
            options.weights.of(field) / (1.0 - share + share * relative)
        })
    }
}

/// Some tools in searchable form; a tool is known by its place among them. Postings are two flat arrays,
/// one term after the other, tools ascending. The bags stay beside them: they explain hits, and later
/// segments take them over.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) tools: Vec<Arc<ToolDescriptor>>,
    pub(crate) vocabulary: Vocabulary,
    pub(crate) totals: Totals,
    /// Words of each tool's name.
    pub(crate) name_words: Vec<u16>,
    /// Words of each tool's owner.
    pub(crate) owner_words: Vec<u16>,
    /// The kind of thing that each tool does.
    pub(crate) deeds: Vec<Deed>,
    /// Equal for tools that are copies of each other.
    pub(crate) copies: Vec<u32>,
    bags: Bags,
    starts: Vec<u32>,
    places: Vec<u32>,
    impacts: Vec<f32>,
    /// The greatest impact of each term.
    peaks: Vec<f32>,
}

/// One posting: the tool has the term.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posting {
    /// The place of the tool in its segment.
    pub(crate) tool: u32,
    pub(crate) in_name: bool,
    /// How much the tool is about the term, 0 to 1.
    pub(crate) impact: f32,
}

impl Segment {
    /// Makes the postings of what was read.
    pub(crate) fn post(gathered: Gathered, averages: &Averages, options: &Options) -> Self {
        let Gathered {
            tools,
            deeds,
            vocabulary,
            bags,
            totals,
        } = gathered;
        let mut starts = vec![0; vocabulary.len() + 1];
        for tool in 0..bags.len() {
            for same in bags.of(tool).chunk_by(|a, b| a.term == b.term) {
                starts[same[0].term as usize + 1] += 1;
            }
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let postings = starts.last().copied().unwrap_or(0) as usize;
        let (mut places, mut impacts) = (vec![0; postings], vec![0.0; postings]);
        let mut next = starts.clone();
        let mut peaks: Vec<f32> = vec![0.0; vocabulary.len()];
        let mut name_words = Vec::with_capacity(bags.len());
        let mut owner_words = Vec::with_capacity(bags.len());
        let copies = tools.iter().map(|tool| copy_key(tool)).collect();
        for tool in 0..bags.len() {
            let bag = bags.of(tool);
            let norms = averages.norms(&lengths(bag), options);
            let (mut named, mut owner) = (0, 0);
            for same in bag.chunk_by(|a, b| a.term == b.term) {
                let weigh = |entry: &Entry| norms[entry.field as usize] * f32::from(entry.count);
                let raw: f32 = same.iter().map(weigh).sum();
                // Fields of an entry are in order, and the name is the first.
                let in_name = same[0].field == Field::Name;
                named += u16::from(in_name && !vocabulary.term(same[0].term).contains(' '));
                owner += u16::from(same.iter().any(|entry| entry.field == Field::Owner));
                let slot = &mut next[same[0].term as usize];
                places[*slot as usize] = as_u32(tool) | if in_name { IN_NAME } else { 0 };
                let impact = raw / (raw + options.saturation);
                impacts[*slot as usize] = impact;
                let peak = &mut peaks[same[0].term as usize];
                *peak = peak.max(impact);
                *slot += 1;
            }
            name_words.push(named.max(1));
            owner_words.push(owner.max(1));
        }
        Self {
            tools,
            vocabulary,
            totals,
            name_words,
            owner_words,
            deeds,
            copies,
            bags,
            starts,
            places,
            impacts,
            peaks,
        }
    }

    /// The greatest impact of a term.
    pub(crate) fn peak(&self, term: u32) -> f32 {
        self.peaks[term as usize]
    }

    fn range(&self, term: u32) -> std::ops::Range<usize> {
        self.starts[term as usize] as usize..self.starts[term as usize + 1] as usize
    }

    /// The tools that have a term, ascending.
    pub(crate) fn postings(&self, term: u32) -> impl Iterator<Item = Posting> + '_ {
        let range = self.range(term);
        let impacts = self.impacts[range.clone()].iter();
        let places = self.places[range].iter();
        places.zip(impacts).map(|(place, impact)| Posting {
            tool: place & !IN_NAME,
            in_name: place & IN_NAME != 0,
            impact: *impact,
        })
    }

    /// The posting of a tool; `None` when it does not have the term.
    pub(crate) fn posting(&self, tool: u32, term: u32) -> Option<Posting> {
        let range = self.range(term);
        let at = self.places[range.clone()]
            .binary_search_by_key(&tool, |place| place & !IN_NAME)
            .ok()?;
        Some(Posting {
            tool,
            in_name: self.places[range.start + at] & IN_NAME != 0,
            impact: self.impacts[range.start + at],
        })
    }

    /// In how many tools a term stands.
    pub(crate) fn frequency(&self, term: u32) -> u32 {
        as_u32(self.range(term).len())
    }

    /// The entries of a tool, sorted by term and field.
    pub(crate) fn bag(&self, tool: usize) -> &[Entry] {
        self.bags.of(tool)
    }

    pub(crate) fn lengths(&self, tool: usize) -> Lengths {
        lengths(self.bags.of(tool))
    }

    pub(crate) fn postings_len(&self) -> usize {
        self.places.len()
    }

    /// Bytes on the heap, tools apart: those are the catalog's.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.vocabulary.heap_bytes()
            + 8 * (self.tools.capacity() + self.places.capacity())
            + 4 * (self.starts.capacity() + self.peaks.capacity() + self.bags.ends.capacity())
            + 2 * (self.name_words.capacity() + self.owner_words.capacity())
            + self.deeds.capacity()
            + 4 * self.copies.capacity()
            + size_of::<Entry>() * self.bags.entries.capacity()
    }
}
