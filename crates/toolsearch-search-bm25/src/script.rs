//! The scripts that words are written in, by the blocks of their letters. Not here: languages.

use crate::index::Bm25Index;

/// A script by its English name, and the first and last letters of its blocks.
type Script = (&'static str, &'static [(char, char)]);

const SCRIPTS: &[Script] = &[
    (
        "Latin",
        &[('a', 'z'), ('\u{df}', '\u{24f}'), ('\u{1e00}', '\u{1eff}')],
    ),
    ("Greek", &[('\u{370}', '\u{3ff}'), ('\u{1f00}', '\u{1fff}')]),
    ("Cyrillic", &[('\u{400}', '\u{52f}')]),
    ("Armenian", &[('\u{530}', '\u{58f}')]),
    ("Hebrew", &[('\u{590}', '\u{5ff}')]),
    ("Arabic", &[('\u{600}', '\u{6ff}'), ('\u{750}', '\u{77f}')]),
    ("Devanagari", &[('\u{900}', '\u{97f}')]),
    ("Bengali", &[('\u{980}', '\u{9ff}')]),
    ("Tamil", &[('\u{b80}', '\u{bff}')]),
    ("Thai", &[('\u{e00}', '\u{e7f}')]),
    ("Georgian", &[('\u{10a0}', '\u{10ff}')]),
    ("Khmer", &[('\u{1780}', '\u{17ff}')]),
    ("Japanese", &[('\u{3040}', '\u{30ff}')]),
    (
        "Korean",
        &[('\u{1100}', '\u{11ff}'), ('\u{ac00}', '\u{d7a3}')],
    ),
    (
        "Chinese",
        &[('\u{3400}', '\u{4dbf}'), ('\u{4e00}', '\u{9fff}')],
    ),
];

/// Letters of a query that are looked at.
const MAX_LETTERS: usize = 512;

/// The script of a text when it has a word in one, and no tool has a word in any script of it.
pub(crate) fn foreign(index: &Bm25Index, text: &str) -> Option<&'static str> {
    let mut first = None;
    for c in text.chars().filter(|c| c.is_alphabetic()).take(MAX_LETTERS) {
        let c = c.to_lowercase().next().unwrap_or(c);
        let holds =
            |(_, blocks): &&Script| blocks.iter().any(|(from, to)| (*from..=*to).contains(&c));
        let (name, blocks) = SCRIPTS.iter().find(holds)?;
        if first == Some(*name) {
            continue;
        }
        if blocks
            .iter()
            .any(|(from, to)| index.has_between(*from, *to))
        {
            return None;
        }
        first = first.or(Some(*name));
    }
    first
}
