//! Small tables from the words of another language to the English words of tools. Not here: when a
//! query is taken to be in that language.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::{Arc, LazyLock};

use crate::options::WordOptions;
use crate::words::{Kind, Shape, Words, fold, is_unspaced, lower_into};

/// The built-in tables besides Turkish.
const BUILT_IN: &[(&str, &str)] = &[
    ("german", include_str!("data/german.tsv")),
    ("japanese", include_str!("data/japanese.tsv")),
    ("chinese", include_str!("data/chinese.tsv")),
    ("arabic", include_str!("data/arabic.tsv")),
];

/// Stands for the English of a word that says nothing about a tool.
const FILLER: &str = "-";
/// The Arabic article is written as a part of its word.
const ARTICLE: &str = "ال";
/// Characters of the longest word without spaces around it.
const MAX_RUN: usize = 8;
/// Lines of a table that are read.
const MAX_LINES: usize = 20_000;

/// A table of stems and English words. A query word matches the longest stem that it begins with, so
/// that one entry serves every ending; stems of fewer than three letters match whole words only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lexicon {
    name: String,
    stems: BTreeMap<String, String>,
    /// Words of scripts that are written without spaces.
    runs: BTreeMap<String, String>,
    /// Words that say nothing about a tool; whole words only.
    fillers: BTreeSet<String>,
}

/// Why a text is no table.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LexiconError {
    /// A line has another form.
    #[error("line {line} is not a stem, a tab and an English word")]
    Line {
        /// Counted from 1.
        line: usize,
    },
    /// The table is longer than 20,000 lines.
    #[error("the table has more than {MAX_LINES} lines")]
    TooLong,
}

impl Lexicon {
    /// Reads lines of a stem, a tab and English words, any of which may be meant. A dash instead of them
    /// marks a word, as a whole, that says nothing about a tool: `the`, `please`. Blank lines and lines that begin with `#`
    /// are skipped. A stem may have two words.
    ///
    /// # Errors
    /// [`LexiconError`] names the first line of another form.
    pub fn parse(name: &str, text: &str) -> Result<Self, LexiconError> {
        let words = Words::new(WordOptions::default());
        let (mut stems, mut runs) = (BTreeMap::new(), BTreeMap::new());
        let mut fillers = BTreeSet::new();
        for (at, line) in text.lines().enumerate() {
            if at >= MAX_LINES {
                return Err(LexiconError::TooLong);
            }
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let wrong = || LexiconError::Line { line: at + 1 };
            let (stem, english) = line.split_once('\t').ok_or_else(wrong)?;
            let unspaced = stem.chars().any(is_unspaced);
            let stem = if unspaced {
                plain(stem)
            } else {
                folded(&words, stem)
            };
            if english.trim() == FILLER {
                fillers.insert(stem);
                continue;
            }
            let english = folded(&words, english);
            if stem.is_empty() || english.is_empty() {
                return Err(wrong());
            }
            let table = if unspaced { &mut runs } else { &mut stems };
            table.entry(stem).or_insert(english);
        }
        let name = name.to_owned();
        Ok(Self {
            name,
            stems,
            runs,
            fillers,
        })
    }

    /// Verbs and nouns of Turkish requests.
    #[must_use]
    pub fn turkish() -> Arc<Self> {
        static TABLE: LazyLock<Arc<Lexicon>> = LazyLock::new(|| {
            let table = Lexicon::parse("turkish", include_str!("data/turkish.tsv"));
            Arc::new(table.expect("because a test reads the built-in table"))
        });
        Arc::clone(&TABLE)
    }

    /// All built-in tables.
    #[must_use]
    pub fn built_in() -> Vec<Arc<Self>> {
        static TABLES: LazyLock<Vec<Arc<Lexicon>>> = LazyLock::new(|| {
            let rest = BUILT_IN.iter().map(|(name, text)| {
                let table = Lexicon::parse(name, text);
                Arc::new(table.expect("because a test reads the built-in tables"))
            });
            [Lexicon::turkish()].into_iter().chain(rest).collect()
        });
        TABLES.clone()
    }

    /// The name of the table.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Gives the English of every word without spaces around it that stands in a text, the longest first
    /// at each place, until `each` returns false.
    pub(crate) fn scan(&self, text: &str, mut each: impl FnMut(&str) -> bool) {
        if self.runs.is_empty() {
            return;
        }
        let text = plain(text);
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
            let ends: Vec<usize> = ends.take(MAX_RUN).collect();
            let mut words = ends.iter().rev().map(|end| &rest[..*end]);
            let found = words.find_map(|word| Some((word.len(), self.runs.get(word)?)));
            if let Some((_, english)) = found
                && !each(english)
            {
                return;
            }
            rest = &rest[found.map_or(first.len_utf8(), |(length, _)| length)..];
        }
    }

    /// Whether a folded word is one that says nothing.
    pub(crate) fn is_filler(&self, word: &str) -> bool {
        self.fillers.contains(word)
    }

    /// The English of a folded word, or of two words with a space between.
    pub(crate) fn english(&self, word: &str) -> Option<&str> {
        let word = word.strip_prefix(ARTICLE).unwrap_or(word);
        let mut start = word;
        loop {
            let below = (Bound::Unbounded, Bound::Included(start));
            let (stem, english) = self.stems.range::<str, _>(below).next_back()?;
            if start.starts_with(stem) {
                let is_whole = stem.len() == word.len();
                return (is_whole || stem.chars().nth(2).is_some()).then_some(english);
            }
            // A shorter stem with which the word begins is also the beginning of this one.
            start = &start[..shared(start, stem)];
        }
    }
}

/// Bytes of the characters with which both texts begin.
fn shared(a: &str, b: &str) -> usize {
    let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
    same.map(|(c, _)| c.len_utf8()).sum()
}

/// United spellings in lower case, with everything else as it is.
fn plain(text: &str) -> String {
    let mut out = String::new();
    lower_into(&fold(text), &mut out);
    out
}

fn folded(words: &Words, text: &str) -> String {
    let mut out = String::new();
    words.read(text, Kind::Query, |word| {
        if word.shape == Shape::Part {
            return true;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word.text);
        true
    });
    out
}
