//! Text into words: [`fold`] unites spellings, [`split`] finds the words, [`stop`] and [`stem`] thin
//! them out. Not here: which text is read and what a word weighs.

mod fold;
mod split;
mod stem;
mod stop;

use std::fmt;

use crate::options::WordOptions;

pub(crate) use fold::{fold, lower_into};
pub(crate) use split::is_unspaced;

/// What kind of text is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Names: words inside an identifier count on their own, and no word is left out.
    Name,
    /// Sentences: an identifier stays one word unless it has separators; common words are left out.
    Prose,
    /// A query: everything, with notes on how each word came about.
    Query,
}

/// How a word came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Written with spaces or separators around it.
    Whole,
    /// Cut out of a word in mixed case.
    Part,
    /// Characters of a script that is written without spaces.
    Pair,
}

/// One word, folded, not yet stemmed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a str,
    pub(crate) shape: Shape,
    /// Common English that says little.
    pub(crate) common: bool,
    /// Begins with a capital letter.
    pub(crate) capital: bool,
}

/// Longest word in bytes that is kept; the rest of a longer one is ignored.
pub(crate) const MAX_WORD_BYTES: usize = 64;

/// The tokenizer.
pub(crate) struct Words {
    options: WordOptions,
    stemmer: stem::English,
}

impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Words")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl Words {
    pub(crate) fn new(options: WordOptions) -> Self {
        Self {
            options,
            stemmer: stem::English::new(),
        }
    }

    /// Gives every word of a text in order. Stops early when `each` returns false.
    pub(crate) fn read(&self, text: &str, kind: Kind, mut each: impl FnMut(Word<'_>) -> bool) {
        let folded = fold::fold(text);
        let mut lower = String::with_capacity(MAX_WORD_BYTES);
        split::pieces(&folded, self.options, kind, |piece, shape| {
            lower.clear();
            fold::lower_into(piece, &mut lower);
            lower.truncate(lower.floor_char_boundary(MAX_WORD_BYTES));
            let common = self.options.stop_words && stop::is_common(&lower);
            if common && kind == Kind::Prose {
                return true;
            }
            let text = lower.as_str();
            each(Word {
                text,
                shape,
                common,
                capital: piece.starts_with(char::is_uppercase),
            })
        });
    }

    /// The term under which a word is indexed.
    pub(crate) fn term(&self, word: &str) -> String {
        if self.options.stem && word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            self.stemmer.stem(word)
        } else {
            word.to_owned()
        }
    }
}
