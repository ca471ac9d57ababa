//! The index of one catalog: a large segment, a small one with what changed since, and what both know
//! together. Not here: how a tool becomes a bag of words, and how a query is answered.

use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use toolsearch_catalog::Catalog;

use crate::document::{Field, Reader};
use crate::options::Options;
use crate::segment::{Averages, Gathered, Known, Segment, Totals};
use crate::sums::Scratch;
use crate::synonyms::{Meant, Synonyms};
use crate::verbs::Deed;
use crate::vocabulary::as_u32;
use crate::words::Words;

/// Catalogs of fewer tools are treated as if they had so many.
const SMALL_CATALOG: usize = 100;
/// Changed tools are kept apart up to this number, or up to this share of all tools.
const MAX_CHANGED: usize = 64;
const CHANGED_SHARE: usize = 16;
/// Work spaces of past queries that are kept for later ones.
const MAX_SCRATCHES: usize = 8;
/// A tool of a segment that the catalog does not have any more.
const GONE: u32 = u32::MAX;
/// A segment that does not have a term.
const NONE: u32 = u32::MAX;

/// What is the same for all indexes of one ranker.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) options: Options,
    pub(crate) words: Words,
    pub(crate) synonyms: Synonyms,
    /// Whether scores can be bounded: shares are raised to a power from 0 to 1, and nothing but a verb takes
    /// away.
    pub(crate) is_bounded: bool,
}

impl Parts {
    pub(crate) fn new(options: Options) -> Self {
        let words = Words::new(options.words);
        let synonyms = Synonyms::new(&words);
        let is_bounded = (0.0..=1.0).contains(&options.coverage_power)
            && (0.0..=1.0).contains(&options.other_verb)
            && options.name_share >= 0.0
            && options.short_owner >= 0.0;
        Self {
            options,
            words,
            synonyms,
            is_bounded,
        }
    }

    fn reader(&self) -> Reader<'_> {
        Reader::new(&self.words, &self.options)
    }
}

/// A term of an index, by its number in each segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Term {
    numbers: [u32; 2],
}

/// A catalog in searchable form. Immutable.
///
/// Most tools stand in a large segment that later indexes share; tools that changed since it was made
/// stand in a small one. What a term weighs is worked out over both, so that answers are those of an
/// index made afresh, to the last bit. When too much has changed, both become one again.
pub struct Bm25Index {
    pub(crate) catalog: Catalog,
    pub(crate) parts: Arc<Parts>,
    segments: [Arc<Segment>; 2],
    averages: Averages,
    /// The place in the catalog of each tool of the first and then of the second segment.
    places: Vec<u32>,
    /// For each place in the catalog, where its tool stands among those of the segments.
    slots: Vec<u32>,
    /// How many tools with a term of the first segment are gone; empty when none is.
    gone: Vec<u32>,
    /// The terms of the words that something may mean, by their numbers.
    meant: Vec<Option<Term>>,
    scratches: Mutex<Vec<Scratch>>,
}

impl fmt::Debug for Bm25Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [large, small] = &self.segments;
        f.debug_struct("Bm25Index")
            .field("tools", &self.catalog.len())
            .field("terms", &large.vocabulary.len())
            .field("postings", &(large.postings_len() + small.postings_len()))
            .field("changed", &small.tools.len())
            .finish_non_exhaustive()
    }
}

impl Bm25Index {
    /// Indexes a catalog. What `previous` knows of unchanged tools is taken from it; the answers are the
    /// same as without it.
    pub(crate) fn build(parts: &Arc<Parts>, catalog: &Catalog, previous: Option<&Self>) -> Self {
        let previous = previous.filter(|index| index.parts.options == parts.options);
        let Some(previous) = previous else {
            let nothing = vec![GONE; catalog.len()];
            return Self::afresh(parts, catalog, None, &nothing).with_meant();
        };
        let slots = previous.slots_of(catalog);
        previous
            .changed(catalog, &slots)
            .unwrap_or_else(|| Self::afresh(parts, catalog, Some(previous), &slots))
            .with_meant()
    }

    /// Finds the words that something may mean once for all queries.
    fn with_meant(mut self) -> Self {
        let words = self.parts.synonyms.meant().iter();
        self.meant = words.map(|word| self.find(word)).collect();
        self
    }

    /// One large segment of everything.
    fn afresh(
        parts: &Arc<Parts>,
        catalog: &Catalog,
        previous: Option<&Self>,
        slots: &[u32],
    ) -> Self {
        let known = |slot: u32| previous.filter(|_| slot != GONE).map(|old| old.known(slot));
        let tools = catalog.entries().iter().zip(slots);
        let tools = tools.map(|(tool, slot)| (tool, known(*slot)));
        let gathered = Gathered::read(parts.reader(), tools);
        let averages = Averages::of(&gathered.totals);
        let large = Segment::post(gathered, &averages, &parts.options);
        let nothing = Gathered::read(parts.reader(), std::iter::empty());
        let small = Segment::post(nothing, &averages, &parts.options);
        Self {
            catalog: catalog.clone(),
            parts: Arc::clone(parts),
            segments: [Arc::new(large), Arc::new(small)],
            averages,
            places: (0..as_u32(catalog.len())).collect(),
            slots: (0..as_u32(catalog.len())).collect(),
            gone: Vec::new(),
            meant: Vec::new(),
            scratches: Mutex::default(),
        }
    }

    /// The large segment as it is, and a small one of everything that it does not have; `None` when that
    /// is too much or the average lengths moved.
    fn changed(&self, catalog: &Catalog, slots: &[u32]) -> Option<Self> {
        let large = &self.segments[0];
        let size = large.tools.len();
        let most = MAX_CHANGED.max(size / CHANGED_SHARE);
        let kept = slots.iter().filter(|slot| (**slot as usize) < size).count();
        if catalog.len() - kept > most || size - kept > most {
            return None;
        }
        let fresh = catalog.entries().iter().zip(slots);
        let fresh = fresh.filter(|(_, slot)| **slot as usize >= size);
        let fresh = fresh.map(|(tool, slot)| (tool, (*slot != GONE).then(|| self.known(*slot))));
        let gathered = Gathered::read(self.parts.reader(), fresh);
        let mut places = vec![GONE; size];
        let mut new_slots = Vec::with_capacity(catalog.len());
        for (place, slot) in (0u32..).zip(slots) {
            if (*slot as usize) < size {
                places[*slot as usize] = place;
                new_slots.push(*slot);
            } else {
                new_slots.push(as_u32(places.len()));
                places.push(place);
            }
        }
        let mut totals = large.totals;
        let gone = gone(large, &places[..size], &mut totals);
        totals.join(&gathered.totals);
        if Averages::of(&totals) != self.averages {
            return None;
        }
        let small = Segment::post(gathered, &self.averages, &self.parts.options);
        Some(Self {
            catalog: catalog.clone(),
            parts: Arc::clone(&self.parts),
            segments: [Arc::clone(large), Arc::new(small)],
            averages: self.averages,
            places,
            slots: new_slots,
            gone,
            meant: Vec::new(),
            scratches: Mutex::default(),
        })
    }

    /// For each tool of a newer catalog where it stands here unchanged, or [`GONE`].
    fn slots_of(&self, catalog: &Catalog) -> Vec<u32> {
        let old = self.catalog.entries();
        let mut at = 0;
        let slot = |(place, tool): (usize, &Arc<toolsearch_catalog::ToolDescriptor>)| {
            while let Some(other) = old.get(at) {
                // Hashes lie one after the other; an id is three places away, and most tools are as they were.
                if self.catalog.hash(at) == catalog.hash(place) {
                    at += 1;
                    return self.slots[at - 1];
                }
                match other.id.cmp(&tool.id) {
                    Ordering::Less => at += 1,
                    Ordering::Greater => return GONE,
                    Ordering::Equal => {
                        at += 1;
                        return GONE;
                    }
                }
            }
            GONE
        };
        catalog.entries().iter().enumerate().map(slot).collect()
    }

    fn known(&self, slot: u32) -> Known<'_> {
        let (segment, at) = self.locate(slot);
        (&self.segments[segment], at)
    }

    /// The segment of a slot and the place in it.
    pub(crate) fn locate(&self, slot: u32) -> (usize, usize) {
        let size = self.segments[0].tools.len();
        match (slot as usize).checked_sub(size) {
            None => (0, slot as usize),
            Some(at) => (1, at),
        }
    }

    /// The segments and the slot at which each begins.
    pub(crate) fn segments(&self) -> [(&Segment, usize); 2] {
        let [large, small] = &self.segments;
        [(large, 0), (small, large.tools.len())]
    }

    /// The place in the catalog of a slot; `None` when the tool is gone.
    pub(crate) fn place(&self, slot: u32) -> Option<u32> {
        Some(self.places[slot as usize]).filter(|place| *place != GONE)
    }

    pub(crate) fn slots_len(&self) -> usize {
        self.places.len()
    }

    /// A term that some tool of the catalog has.
    pub(crate) fn find(&self, text: &str) -> Option<Term> {
        let numbers = self
            .segments
            .each_ref()
            .map(|segment| segment.vocabulary.find(text).unwrap_or(NONE));
        Some(Term { numbers }).filter(|term| self.frequency(*term) > 0)
    }

    /// The term of a word that something may mean, when a tool has it.
    pub(crate) fn meant(&self, word: Meant) -> Option<Term> {
        self.meant[usize::from(word.0)]
    }

    /// Orders terms as their texts.
    pub(crate) fn compare(&self, a: Term, b: Term) -> Ordering {
        match (Self::number(a, 0), Self::number(b, 0)) {
            // The numbers of a segment are in the order of the texts.
            (Some(a), Some(b)) => a.cmp(&b),
            _ => self.text(a).cmp(self.text(b)),
        }
    }

    /// The terms that begin with `c` and that `wanted` takes.
    pub(crate) fn beginning_with(&self, c: char, wanted: impl Fn(&str) -> bool) -> Vec<Term> {
        let mut terms: Vec<Term> = Vec::new();
        for segment in &self.segments {
            let vocabulary = &segment.vocabulary;
            let texts = vocabulary
                .beginning_between(c, c)
                .map(|number| vocabulary.term(number));
            for term in texts
                .filter(|text| wanted(text))
                .filter_map(|text| self.find(text))
            {
                if !terms.contains(&term) {
                    terms.push(term);
                }
            }
        }
        terms
    }

    /// Whether a tool has a term that begins with a letter from `from` to `to`.
    pub(crate) fn has_between(&self, from: char, to: char) -> bool {
        let [mut large, mut small] = self
            .segments
            .each_ref()
            .map(|segment| segment.vocabulary.beginning_between(from, to));
        let is_left = |number: u32| {
            let gone = self.gone.get(number as usize).copied().unwrap_or(0);
            self.segments[0].frequency(number) > gone
        };
        large.any(is_left) || small.next().is_some()
    }

    pub(crate) fn text(&self, term: Term) -> &str {
        let [large, small] = &self.segments;
        match term.numbers {
            [NONE, number] => small.vocabulary.term(number),
            [number, _] => large.vocabulary.term(number),
        }
    }

    /// The number of a term in a segment.
    pub(crate) fn number(term: Term, segment: usize) -> Option<u32> {
        Some(term.numbers[segment]).filter(|number| *number != NONE)
    }

    /// In how many tools a term stands.
    pub(crate) fn frequency(&self, term: Term) -> u32 {
        let count = |at: usize| Self::number(term, at).map(|n| self.segments[at].frequency(n));
        let gone = Self::number(term, 0).and_then(|number| self.gone.get(number as usize));
        let all = count(0).unwrap_or(0) + count(1).unwrap_or(0);
        all - gone.copied().unwrap_or(0)
    }

    /// The greatest impact that a term has on any tool, or a little more.
    pub(crate) fn peak(&self, term: Term) -> f32 {
        let of = |at: usize| Self::number(term, at).map_or(0.0, |n| self.segments[at].peak(n));
        of(0).max(of(1))
    }

    /// How telling a term is.
    pub(crate) fn rarity(&self, term: Term) -> f32 {
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

    /// How much the tool at a place of the catalog is about a term.
    pub(crate) fn impact(&self, place: u32, term: Term) -> Option<f32> {
        let (segment, at) = self.locate(self.slots[place as usize]);
        let posting = self.segments[segment].posting(as_u32(at), Self::number(term, segment)?)?;
        Some(posting.impact)
    }

    /// The fields in which the tool at a place of the catalog has a term, each with how often.
    pub(crate) fn fields(&self, place: u32, term: Term) -> impl Iterator<Item = (Field, u16)> + '_ {
        let (segment, at) = self.locate(self.slots[place as usize]);
        let bag = self.segments[segment].bag(at);
        let number = Self::number(term, segment).unwrap_or(NONE);
        let start = bag.partition_point(|entry| entry.term < number);
        let same = bag[start..].iter();
        same.take_while(move |entry| entry.term == number)
            .map(|entry| (entry.field, entry.count))
    }

    /// The terms that the tool at a place of the catalog has in a field.
    pub(crate) fn terms_in(&self, place: u32, field: Field) -> impl Iterator<Item = Term> + '_ {
        let (segment, at) = self.locate(self.slots[place as usize]);
        let segment = &self.segments[segment];
        let bag = segment.bag(at).iter();
        bag.filter(move |entry| entry.field == field)
            .filter_map(|entry| self.find(segment.vocabulary.term(entry.term)))
    }

    /// A number that copies of one tool share.
    pub(crate) fn copy_of(&self, place: u32) -> u32 {
        let (segment, at) = self.locate(self.slots[place as usize]);
        self.segments[segment].copies[at]
    }

    /// The kind of thing that the tool of a slot does.
    pub(crate) fn deed_of(&self, slot: u32) -> Deed {
        let (segment, at) = self.locate(slot);
        self.segments[segment].deeds[at]
    }

    /// A work space; one of an earlier query where there is one.
    pub(crate) fn scratch(&self) -> Scratch {
        let mut kept = self
            .scratches
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        kept.pop().unwrap_or_default()
    }

    /// Takes a clean work space back.
    pub(crate) fn keep(&self, scratch: Scratch) {
        let mut kept = self
            .scratches
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if kept.len() < MAX_SCRATCHES {
            kept.push(scratch);
        }
    }

    /// Tools that stand apart because they changed since the large segment was made.
    #[must_use]
    pub fn changed_tools(&self) -> usize {
        self.segments[1].tools.len()
    }

    /// An estimate of the memory that the index takes beside its catalog.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        let segments: usize = self.segments.iter().map(|one| one.heap_bytes()).sum();
        segments
            + 4 * (self.places.capacity() + self.slots.capacity() + self.gone.capacity())
            + size_of::<Option<Term>>() * self.meant.capacity()
    }
}

/// Counts the terms of tools that are gone and takes their lengths away.
fn gone(large: &Segment, places: &[u32], totals: &mut Totals) -> Vec<u32> {
    let mut gone = Vec::new();
    for (tool, _) in places
        .iter()
        .enumerate()
        .filter(|(_, place)| **place == GONE)
    {
        if gone.is_empty() {
            gone = vec![0; large.vocabulary.len()];
        }
        totals.take(&large.lengths(tool));
        for same in large.bag(tool).chunk_by(|a, b| a.term == b.term) {
            gone[same[0].term as usize] += 1;
        }
    }
    gone
}
