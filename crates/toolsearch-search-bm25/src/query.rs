//! A query as groups of terms: what is looked for, and by which other words it may be found. Not
//! here: scores.

use crate::foreign::foreign_words;
use crate::index::{Bm25Index, Term};
use crate::phrases::{Phrase, joined, phrases};
use crate::repair::near_terms;
use crate::synonyms::{Meaning, Meant};
use crate::verbs::Deed;
use crate::words::{Kind, MAX_WORD_BYTES, Shape};

/// Bytes of a query that are read.
const MAX_QUERY_BYTES: usize = 4 * 1024;
/// Words of a query that are looked at, repeated ones included.
const MAX_QUERY_WORDS: usize = 512;
/// Words of a query for which there is room without asking for more.
const USUAL_WORDS: usize = 8;
/// Unknown words of a query that are read as misspellings.
const MAX_REPAIRS: usize = 8;
/// What the words of an abbreviation weigh.
const EXPANSION_WEIGHT: f32 = 0.7;
/// What a common word weighs beside others; it is found in names only.
const COMMON_WEIGHT: f32 = 0.25;
/// How much more than another phrase one of three words weighs: it is a fixed expression, `speech to text`.
const FIXED: f32 = 3.0;
/// What the meaning of a common word weighs; there are few such words, `tell` among them.
const COMMON_MEANING: f32 = 0.7;
/// What the parts of a word in mixed case weigh when the whole is known.
const PART_WEIGHT: f32 = 0.5;

/// A term by which a group is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Alternative {
    pub(crate) term: Term,
    pub(crate) weight: f32,
}

/// How sure it is that the alternatives of a group are what the query says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The index has the word itself.
    Known,
    /// The index has its translation.
    Foreign,
    /// The index has words of like meaning.
    Like,
    /// The index has words of like spelling.
    Guessed,
    /// The index has nothing.
    Unknown,
}

/// One thing that is looked for. A tool is paid for its best alternative.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Group {
    /// Empty for an unknown word.
    pub(crate) alternatives: Vec<Alternative>,
    /// How telling it is; 0 where it only helps the order.
    pub(crate) mass: f32,
    pub(crate) origin: Origin,
    /// Letters of the word.
    pub(crate) letters: usize,
    /// Neighbours rather than a word.
    pub(crate) is_pair: bool,
}

/// A query as read for one index.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Query {
    /// In a defined order that does not depend on the order of the words.
    pub(crate) groups: Vec<Group>,
    /// The mass of all groups.
    pub(crate) mass: f32,
    /// Whether there is a word to search for. A common word is one only where a name has it.
    pub(crate) has_words: bool,
    /// Whether it was read with the word table of another language.
    pub(crate) is_foreign: bool,
    /// Whether it asks rather than orders.
    pub(crate) is_question: bool,
    /// Its words, common ones included.
    pub(crate) words: usize,
    /// The kind of thing that is to be done.
    pub(crate) deed: Deed,
    repairs: usize,
}

/// One word of a query.
pub(crate) struct Asked<'a> {
    pub(crate) word: String,
    pub(crate) term: String,
    /// The term of the index, when a tool has it.
    pub(crate) found: Option<Term>,
    pub(crate) meaning: Option<&'a Meaning>,
    /// What the word is short for.
    pub(crate) expansion: &'a [Meant],
    pub(crate) shape: Shape,
    pub(crate) common: bool,
    pub(crate) capital: bool,
    /// Parts of it follow.
    pub(crate) has_parts: bool,
    /// Written like a product, `FedEx`, rather than like a name in code, `createIssue`.
    pub(crate) is_brand: bool,
}

impl Query {
    pub(crate) fn read(index: &Bm25Index, text: &str) -> Self {
        let asked = asked(index, text);
        let mut query = Self {
            groups: Vec::with_capacity(USUAL_WORDS),
            ..Self::default()
        };
        let only_common = asked.iter().all(|word| word.common);
        let foreign = foreign_words(index, &asked);
        query.is_foreign = foreign.iter().any(Option::is_some);
        query.is_question = is_question(text);
        query.words = asked
            .iter()
            .filter(|word| word.shape != Shape::Part)
            .count();
        query.deed = first_deed(&asked);
        let phrases = phrases(index, &asked);
        let joined = joined(index, &asked);
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
            } else if word.is_brand {
                query.unknown(index, word, &[]);
                part_weight = PART_WEIGHT;
            } else if joined
                .iter()
                .any(|(first, _)| (*first..first + 2).contains(&at))
            {
                // It stands for itself together with its neighbour.
            } else if !word.has_parts && word.shape == Shape::Whole && !expands(index, word) {
                match &foreign[at] {
                    Some(filler) if filler.is_empty() => {}
                    terms => query.unknown(index, word, terms.as_deref().unwrap_or_default()),
                }
            }
            query.expand(index, word);
        }
        query.neighbours(index, &asked);
        query.phrases(index, &asked, &phrases);
        query.joined(index, &asked, &joined);
        query.scan(index, text);
        query.close(index);
        query.has_words = !only_common || !query.groups.is_empty();
        query
    }

    /// Puts the groups in order; of several with the same first term the heaviest stays.
    fn close(&mut self, index: &Bm25Index) {
        let first = |group: &Group| group.alternatives.first().map(|one| one.term);
        self.groups.sort_by(|a, b| {
            let by_term = match (first(a), first(b)) {
                (Some(a), Some(b)) => index.compare(a, b),
                (a, b) => a.is_some().cmp(&b.is_some()),
            };
            by_term.then_with(|| b.mass.total_cmp(&a.mass))
        });
        self.groups
            .dedup_by(|later, kept| first(kept).is_some() && first(later) == first(kept));
        self.mass = self.groups.iter().map(|group| group.mass).sum();
    }

    /// Adds a word that the index has; false when it has not.
    fn known(&mut self, index: &Bm25Index, word: &Asked<'_>, weight: f32, counts: bool) -> bool {
        let Some(term) = word.found else {
            return false;
        };
        let mut alternatives = vec![Alternative { term, weight }];
        if counts && let Some(meaning) = word.meaning {
            let options = &index.parts.options;
            alternatives.reserve_exact(meaning.others.len() + meaning.hints.len());
            alternatives.extend(synonyms(index, meaning, options.synonym_weight * weight));
            let hinted = options.hint_weight * weight;
            extend(index, &mut alternatives, &meaning.hints, hinted);
        }
        let mass = if counts { index.rarity(term) } else { 0.0 };
        self.push(alternatives, mass, Origin::Known, word);
        true
    }

    /// Adds a word that the index does not have, by other words that it has.
    fn unknown(&mut self, index: &Bm25Index, word: &Asked<'_>, foreign: &[Term]) {
        let options = &index.parts.options;
        let mut alternatives: Vec<Alternative> = foreign
            .iter()
            .map(|term| Alternative {
                term: *term,
                weight: options.lexicon_weight,
            })
            .collect();
        let mut origin = Origin::Foreign;
        if alternatives.is_empty() {
            origin = Origin::Like;
            if let Some(meaning) = word.meaning {
                let weight = options.unknown_synonym_weight;
                alternatives.extend(synonyms(index, meaning, weight));
                if options.hint_weight > 0.0 {
                    extend(index, &mut alternatives, &meaning.hints, weight);
                }
            }
        }
        if alternatives.is_empty()
            && self.repairs < MAX_REPAIRS
            && let Some(repair) = options.repair
        {
            self.repairs += 1;
            origin = Origin::Guessed;
            let near = near_terms(index, &word.word, repair);
            alternatives.extend(near.into_iter().map(|term| Alternative {
                term,
                weight: repair.weight,
            }));
        }
        let mass = match alternatives.first() {
            Some(first) => index.rarity(first.term),
            None if is_telling(word) => index.rarity_of(0),
            None => return,
        };
        if alternatives.is_empty() {
            origin = Origin::Unknown;
        }
        self.push(alternatives, mass, origin, word);
    }

    fn push(
        &mut self,
        alternatives: Vec<Alternative>,
        mass: f32,
        origin: Origin,
        word: &Asked<'_>,
    ) {
        self.groups.push(Group {
            alternatives,
            mass,
            origin,
            letters: word.word.chars().count(),
            is_pair: false,
        });
    }

    /// Adds neighbouring words that are neighbours in a name too.
    fn neighbours(&mut self, index: &Bm25Index, asked: &[Asked<'_>]) {
        let weight = index.parts.options.name_pairs;
        if weight <= 0.0 {
            return;
        }
        let mut pair = String::with_capacity(2 * MAX_WORD_BYTES + 1);
        for two in asked.windows(2) {
            // A tool with a pair has its words.
            if two.iter().any(|word| word.found.is_none()) {
                continue;
            }
            pair.clear();
            pair.extend([two[0].term.as_str(), " ", two[1].term.as_str()]);
            if let Some(term) = index.find(&pair) {
                self.help(vec![Alternative { term, weight }], true);
            }
        }
    }

    /// Adds neighbouring words that tools write as one. Where one of the two is unknown, that is what is
    /// asked.
    fn joined(&mut self, index: &Bm25Index, asked: &[Asked<'_>], joined: &[(usize, Term)]) {
        let weight = index.parts.options.joined_words;
        for (at, term) in joined {
            let term = *term;
            let two = &asked[*at..at + 2];
            if two.iter().all(|word| word.found.is_some()) {
                self.help(vec![Alternative { term, weight }], false);
            } else {
                let alternatives = vec![Alternative { term, weight: 1.0 }];
                self.push(alternatives, index.rarity(term), Origin::Known, &two[0]);
            }
        }
    }

    /// Adds words that help the order of an answer and are nothing that was said.
    fn help(&mut self, alternatives: Vec<Alternative>, is_pair: bool) {
        self.groups.push(Group {
            alternatives,
            mass: 0.0,
            origin: Origin::Known,
            letters: 0,
            is_pair,
        });
    }

    /// Adds what phrases and common words may mean; it helps the order only.
    fn phrases(&mut self, index: &Bm25Index, asked: &[Asked<'_>], phrases: &[Phrase<'_>]) {
        let weight = index.parts.options.phrase_weight;
        if weight <= 0.0 {
            return;
        }
        let begins = |at: usize| phrases.iter().any(|phrase| phrase.at == at);
        let common = asked.iter().enumerate();
        let common = common.filter(|(at, word)| word.common && !begins(*at));
        let common = common.filter_map(|(_, word)| word.meaning);
        let common = common.map(|meaning| (&*meaning.hints, COMMON_MEANING));
        let meant = phrases.iter().map(|phrase| match phrase.length {
            0..=2 => (phrase.meant, weight),
            _ => (phrase.meant, weight * FIXED),
        });
        for (meant, weight) in meant.chain(common) {
            let mut alternatives = Vec::new();
            extend(index, &mut alternatives, meant, weight);
            if !alternatives.is_empty() {
                self.help(alternatives, true);
            }
        }
    }

    /// Adds words of scripts without spaces that a table knows.
    fn scan(&mut self, index: &Bm25Index, text: &str) {
        if text.is_ascii() {
            return;
        }
        let options = &index.parts.options;
        let weight = options.lexicon_weight;
        let text = &text[..text.floor_char_boundary(MAX_QUERY_BYTES)];
        let mut left = options.query_terms;
        for lexicon in &options.lexicons {
            lexicon.scan(text, |english| {
                let terms = english.split(' ');
                let terms = terms.filter_map(|word| index.find(&index.parts.words.term(word)));
                let alternatives: Vec<Alternative> =
                    terms.map(|term| Alternative { term, weight }).collect();
                if let Some(first) = alternatives.first() {
                    let mass = index.rarity(first.term);
                    self.is_foreign = true;
                    self.groups.push(Group {
                        alternatives,
                        mass,
                        origin: Origin::Foreign,
                        letters: 2,
                        is_pair: false,
                    });
                }
                left -= 1;
                left > 0
            });
        }
    }

    /// Adds what an abbreviation stands for; where the short form is unknown, that is what is asked.
    fn expand(&mut self, index: &Bm25Index, word: &Asked<'_>) {
        let is_known = word.found.is_some();
        for term in word.expansion.iter().filter_map(|long| index.meant(*long)) {
            let weight = EXPANSION_WEIGHT;
            let mass = if is_known { 0.0 } else { index.rarity(term) };
            let alternatives = vec![Alternative { term, weight }];
            self.push(alternatives, mass, Origin::Foreign, word);
        }
    }
}

/// What a query wants done: an order begins with its verb.
fn first_deed(asked: &[Asked<'_>]) -> Deed {
    let deed = |word: &Asked<'_>| Some(Deed::of(&word.word)).filter(|deed| *deed != Deed::UNKNOWN);
    let mut telling = asked.iter().map(|word| (word.common, deed(word)));
    let first = telling.find(|(common, deed)| !common || deed.is_some());
    first.and_then(|(_, deed)| deed).unwrap_or(Deed::UNKNOWN)
}

/// Whether a text asks rather than orders. Its end or its first words tell: who looks something up wants an
/// answer too.
fn is_question(text: &str) -> bool {
    const FIRST: [&str; 16] = [
        "are", "can", "could", "did", "do", "does", "how", "is", "what", "when", "where", "which",
        "who", "why", "will", "would",
    ];
    const FIRST_TWO: [(&str, &str); 2] = [("look", "up"), ("find", "out")];
    let mut words = text
        .split(|c: char| !c.is_alphabetic())
        .filter(|word| !word.is_empty());
    let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
    let asks = FIRST.iter().any(|one| one.eq_ignore_ascii_case(first));
    let looks_up = FIRST_TWO
        .iter()
        .any(|(one, two)| one.eq_ignore_ascii_case(first) && two.eq_ignore_ascii_case(second));
    asks || looks_up || text.contains(['?', '？', '؟'])
}

/// Numbers, codes and lone letters are values of arguments rather than words for a tool.
fn is_telling(word: &Asked<'_>) -> bool {
    !word.common
        && word.word.chars().nth(1).is_some()
        && !word.word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a word is short for words that the index has.
fn expands(index: &Bm25Index, word: &Asked<'_>) -> bool {
    let mut long = word.expansion.iter();
    long.any(|long| index.meant(*long).is_some())
}

fn synonyms(
    index: &Bm25Index,
    meaning: &Meaning,
    weight: f32,
) -> impl Iterator<Item = Alternative> {
    let others = if weight > 0.0 { &*meaning.others } else { &[] };
    others
        .iter()
        .filter_map(|other| index.meant(*other))
        .map(move |term| Alternative { term, weight })
}

/// Adds words that the index has and that are not there yet.
fn extend(index: &Bm25Index, alternatives: &mut Vec<Alternative>, words: &[Meant], weight: f32) {
    if weight <= 0.0 {
        return;
    }
    for term in words.iter().filter_map(|word| index.meant(*word)) {
        if alternatives.iter().all(|one| one.term != term) {
            alternatives.push(Alternative { term, weight });
        }
    }
}

/// The distinct words of a query, the first ones when there are too many.
fn asked<'a>(index: &'a Bm25Index, text: &str) -> Vec<Asked<'a>> {
    let text = &text[..text.floor_char_boundary(MAX_QUERY_BYTES)];
    let mut asked: Vec<Asked<'_>> = Vec::with_capacity(USUAL_WORDS);
    let mut read = 0;
    let mut whole = 0;
    index.parts.words.read(text, Kind::Query, |word| {
        read += 1;
        if word.shape == Shape::Part
            && let Some(whole) = asked.get_mut(whole)
        {
            whole.has_parts = true;
            whole.is_brand = whole.capital;
        }
        let term = index.parts.words.term(word.text);
        let place = asked.iter().position(|before| before.term == term);
        if word.shape != Shape::Part {
            whole = place.unwrap_or(asked.len());
        }
        if place.is_none() {
            asked.push(Asked {
                word: word.text.to_owned(),
                found: index.find(&term),
                meaning: index.parts.synonyms.meaning(&term),
                expansion: index.parts.synonyms.expansion(word.text),
                term,
                shape: word.shape,
                common: word.common,
                capital: word.capital,
                has_parts: false,
                is_brand: false,
            });
        }
        read < MAX_QUERY_WORDS && asked.len() < index.parts.options.query_terms
    });
    asked
}
