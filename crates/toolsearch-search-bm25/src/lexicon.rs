//! Small tables from the words of another language to the English words of tools. Not here: when a
//! query is taken to be in that language.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::options::WordOptions;
use crate::words::{Kind, Shape, Words};

/// Lines of a table that are read.
const MAX_LINES: usize = 20_000;

/// A table of stems and English words. A query word matches the longest stem that it begins with, so
/// that one entry serves every ending; stems of fewer than three letters match whole words only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lexicon {
    name: String,
    stems: BTreeMap<String, String>,
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
    /// Reads lines of a stem, a tab and an English word. Blank lines and lines that begin with `#`
    /// are skipped. A stem may have two words.
    ///
    /// # Errors
    /// [`LexiconError`] names the first line of another form.
    pub fn parse(name: &str, text: &str) -> Result<Self, LexiconError> {
        let words = Words::new(WordOptions::default());
        let mut stems = BTreeMap::new();
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
            let stem = folded(&words, stem);
            let english = folded(&words, english);
            if stem.is_empty() || english.is_empty() {
                return Err(wrong());
            }
            stems.entry(stem).or_insert(english);
        }
        let name = name.to_owned();
        Ok(Self { name, stems })
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

    /// The name of the table.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The English of a folded word, or of two words with a space between.
    pub(crate) fn english(&self, word: &str) -> Option<&str> {
        if let Some(english) = self.stems.get(word) {
            return Some(english);
        }
        let ends = word.char_indices().map(|(at, _)| at).skip(3);
        let ends: Vec<usize> = ends.collect();
        let prefixes = ends.into_iter().rev().map(|end| &word[..end]);
        prefixes
            .filter_map(|prefix| self.stems.get(prefix))
            .map(String::as_str)
            .next()
    }
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
