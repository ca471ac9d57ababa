//! A query as groups of terms: what is looked for, and by which other words it may be found. Not
//! here: scores.

use crate::index::Bm25Index;
use crate::repair::near_terms;
use crate::words::{Kind, Shape};

/// Bytes of a query that are read.
const MAX_QUERY_BYTES: usize = 16 * 1024;
/// Words of a query that are looked at, repeated ones included.
const MAX_QUERY_WORDS: usize = 2_048;
/// What the words of an abbreviation weigh.
const EXPANSION_WEIGHT: f32 = 0.7;
/// What a common word weighs beside others; it is found in names only.
const COMMON_WEIGHT: f32 = 0.25;
/// What the parts of a word in mixed case weigh when the whole is known.
const PART_WEIGHT: f32 = 0.5;

/// A term by which a group is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Alternative {
    pub(crate) term: u32,
    pub(crate) weight: f32,
}

/// One thing that is looked for. A tool is paid for its best alternative.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    pub(crate) alternatives: Vec<Alternative>,
    /// Its share of what the query asks for; 0 where it only helps the order.
    pub(crate) mass: f32,
}

/// A query as read for one index.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Query {
    /// In a defined order that does not depend on the order of the words.
    pub(crate) groups: Vec<Group>,
    /// The mass of all groups and of the unknown words.
    pub(crate) mass: f32,
    /// Words that no tool has and that nothing near was found for.
    pub(crate) unknown: usize,
    /// Whether there was any word at all.
    pub(crate) has_words: bool,
}

struct Asked {
    word: String,
    term: String,
    shape: Shape,
    common: bool,
    has_parts: bool,
}

impl Query {
    pub(crate) fn read(index: &Bm25Index, text: &str) -> Self {
        let asked = asked(index, text);
        let mut query = Self {
            has_words: !asked.is_empty(),
            ..Self::default()
        };
        let only_common = asked.iter().all(|word| word.common);
        let foreign = foreign_words(index, &asked);
        let mut part_weight = 1.0;
        for (at, word) in asked.iter().enumerate() {
            if word.shape == Shape::Part {
                query.known(index, word, part_weight, part_weight == 1.0);
                continue;
            }
            part_weight = 1.0;
            if word.common && !only_common {
                query.known(index, word, COMMON_WEIGHT, false);
            } else if query.known(index, word, 1.0, true) {
                part_weight = PART_WEIGHT;
            } else if !word.has_parts && word.shape == Shape::Whole {
                query.unknown(index, word, &foreign[at]);
            }
            query.expand(index, word);
        }
        let order = |group: &Group| group.alternatives.first().map_or(u32::MAX, |first| first.term);
        query.groups.sort_by_key(order);
        query.groups.dedup_by_key(|group| order(group));
        query.mass += query.groups.iter().map(|group| group.mass).sum::<f32>();
        query
    }

    /// Adds a word that the index has; false when it has not.
    fn known(&mut self, index: &Bm25Index, word: &Asked, weight: f32, counts: bool) -> bool {
        let Some(term) = index.vocabulary.find(&word.term) else {
            return false;
        };
        let mut alternatives = vec![Alternative { term, weight }];
        if counts {
            let lesser = index.parts.options.synonym_weight * weight;
            alternatives.extend(synonyms(index, word, lesser));
        }
        let mass = if counts { index.rarity(term) } else { 0.0 };
        self.groups.push(Group { alternatives, mass });
        true
    }

    /// Adds a word that the index does not have, by other words that it has.
    fn unknown(&mut self, index: &Bm25Index, word: &Asked, foreign: &[u32]) {
        let options = &index.parts.options;
        let mut alternatives: Vec<Alternative> = foreign
            .iter()
            .map(|term| Alternative {
                term: *term,
                weight: options.lexicon_weight,
            })
            .collect();
        if alternatives.is_empty() {
            alternatives.extend(synonyms(index, word, options.unknown_synonym_weight));
        }
        if alternatives.is_empty()
            && index.parts.synonyms.expansion(&word.term).is_empty()
            && let Some(repair) = options.repair
        {
            let frequency = |term| index.frequency(term);
            let near = near_terms(&index.vocabulary, frequency, &word.word, &word.term, repair);
            alternatives.extend(near.into_iter().map(|term| Alternative {
                term,
                weight: repair.weight,
            }));
        }
        if let Some(first) = alternatives.first() {
            let mass = index.rarity(first.term);
            self.groups.push(Group { alternatives, mass });
        } else if is_telling(word) {
            self.unknown += 1;
            self.mass += index.rarity_of(0);
        }
    }

    /// Adds what an abbreviation stands for.
    fn expand(&mut self, index: &Bm25Index, word: &Asked) {
        for long in index.parts.synonyms.expansion(&word.term) {
            if let Some(term) = index.vocabulary.find(long) {
                let weight = EXPANSION_WEIGHT;
                let alternatives = vec![Alternative { term, weight }];
                self.groups.push(Group {
                    alternatives,
                    mass: 0.0,
                });
            }
        }
    }
}

/// Numbers, codes and lone letters are values of arguments rather than words for a tool.
fn is_telling(word: &Asked) -> bool {
    !word.common
        && word.word.chars().nth(1).is_some()
        && !word.word.bytes().any(|byte| byte.is_ascii_digit())
}

fn synonyms(index: &Bm25Index, word: &Asked, weight: f32) -> impl Iterator<Item = Alternative> {
    let others = if weight > 0.0 { index.parts.synonyms.of(&word.term) } else { &[] };
    others
        .iter()
        .filter_map(|other| index.vocabulary.find(other))
        .map(move |term| Alternative { term, weight })
}

/// The distinct words of a query, the first ones when there are too many.
fn asked(index: &Bm25Index, text: &str) -> Vec<Asked> {
    let text = &text[..text.floor_char_boundary(MAX_QUERY_BYTES)];
    let mut asked: Vec<Asked> = Vec::new();
    let mut read = 0;
    index.parts.words.read(text, Kind::Query, |word| {
        read += 1;
        if word.shape == Shape::Part
            && let Some(whole) = asked.last_mut()
        {
            whole.has_parts |= whole.shape == Shape::Whole;
        }
        if asked.iter().all(|before| before.word != word.text) {
            let term = index.parts.words.term(word.text);
            if asked.iter().all(|before| before.term != term) {
                asked.push(Asked {
                    word: word.text.to_owned(),
                    term,
                    shape: word.shape,
                    common: word.common,
                    has_parts: false,
                });
            }
        }
        read < MAX_QUERY_WORDS && asked.len() < index.parts.options.query_terms
    });
    asked
}

/// For every word the terms that a lexicon gives for it. One such word may be chance in an English
/// query; the table is believed when it knows two words, or half of them.
fn foreign_words(index: &Bm25Index, asked: &[Asked]) -> Vec<Vec<u32>> {
    let nothing = || vec![Vec::new(); asked.len()];
    let is_known = |word: &Asked| index.vocabulary.find(&word.term).is_some();
    let open: Vec<usize> = (0..asked.len())
        .filter(|at| asked[*at].shape == Shape::Whole && !asked[*at].common)
        .collect();
    for lexicon in &index.parts.options.lexicons {
        let mut found = nothing();
        let mut hits = 0;
        for at in &open {
            let word = &asked[*at];
            if is_known(word) {
                continue;
            }
            let next = asked.get(at + 1).map(|next| next.word.as_str());
            let pair = next.and_then(|next| lexicon.english(&format!("{} {next}", word.word)));
            if let Some(english) = pair.or_else(|| lexicon.english(&word.word)) {
                hits += 1;
                let terms = english.split(' ').map(|part| index.parts.words.term(part));
                found[*at].extend(terms.filter_map(|term| index.vocabulary.find(&term)));
            }
        }
        if hits >= 2 || hits * 2 >= open.len().max(1) {
            return found;
        }
    }
    nothing()
}
