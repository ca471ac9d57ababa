//! Reading an unknown query word as a misspelling: one letter more, less, changed or swapped, with
//! the first letter right. Not here: when a word counts as unknown.

use crate::index::{Bm25Index, Term};
use crate::options::Repair;

/// What may follow a stem. The index holds stems, so a misspelled word is compared with stems that have
/// one of these behind them.
const ENDINGS: [&str; 26] = [
    "", "able", "al", "ance", "ate", "ated", "ating", "ation", "ations", "e", "ed", "er", "ers",
    "es", "ic", "ies", "ing", "ion", "ions", "ity", "ive", "ly", "ment", "or", "s", "y",
];
/// Fewer letters of a stem say too little for a mistake in the ending.
const MIN_STEM: usize = 4;

/// Terms that `word` may be a misspelling of, the most frequent first.
pub(crate) fn near_terms(index: &Bm25Index, word: &str, repair: Repair) -> Vec<Term> {
    let Some(first) = word.chars().next() else {
        return Vec::new();
    };
    if word.chars().count() < repair.min_chars || !word.chars().all(char::is_alphabetic) {
        return Vec::new();
    }
    let is_near = |term: &str| may_be_near(word, term) && is_near(word, term, repair.min_chars);
    let mut found = index.beginning_with(first, is_near);
    found.sort_by(|a, b| {
        let by_frequency = index.frequency(*b).cmp(&index.frequency(*a));
        by_frequency.then_with(|| index.text(*a).cmp(index.text(*b)))
    });
    found.truncate(repair.at_most);
    found
}

/// A cheap look at lengths and at the second and third byte, because it is asked of every term with the
/// same first letter: with one edit, one of the two stays or moves by one.
fn may_be_near(word: &str, term: &str) -> bool {
    if term.len() > word.len() + 4 || term.len() + 8 < word.len() {
        return false;
    }
    let (word, term) = (word.as_bytes(), term.as_bytes());
    let ([_, w1, w2, ..], [_, t1, t2, ..]) = (word, term) else {
        return true;
    };
    // Another script has more bytes a letter; the first letter is the same anyway.
    !w1.is_ascii() || !t1.is_ascii() || w1 == t1 || w2 == t2 || w2 == t1 || w1 == t2
}

/// Whether one edit makes `word` a word with the stem `term`.
pub(crate) fn is_near(word: &str, term: &str, min_chars: usize) -> bool {
    if term.len() + 1 < min_chars {
        return false;
    }
    if !word.is_ascii() || !term.is_ascii() {
        return term.chars().count() + 1 >= min_chars && one_edit_apart(word, term);
    }
    let (word, term) = (word.as_bytes(), term.as_bytes());
    is_near_stem(word, term, b"")
        // Stems end in i where the word ends in y.
        || term.strip_suffix(b"i").is_some_and(|start| is_near_stem(word, start, b"y"))
}

/// Whether one edit makes a word of the stem `start` and `last`, or of it and an ending.
fn is_near_stem(word: &[u8], start: &[u8], last: &[u8]) -> bool {
    let at = |place: usize| {
        start
            .get(place)
            .or_else(|| last.get(place.wrapping_sub(start.len())))
    };
    let length = start.len() + last.len();
    let shared = (0..length.min(word.len()))
        .take_while(|place| at(*place) == word.get(*place))
        .count();
    if shared == length {
        let rest = &word[length..];
        return length >= MIN_STEM && !rest.is_empty() && near_ending(rest);
    }
    // The rest of the word after the mistake, when it goes on as the stem does.
    let goes_on = |from_word: usize, from_stem: usize| {
        let rest = word.get(from_word..)?;
        let left = length.checked_sub(from_stem)?;
        let same = left <= rest.len() && (0..left).all(|n| at(from_stem + n) == rest.get(n));
        same.then(|| &rest[left..])
    };
    let ends = |rest: Option<&[u8]>| rest.is_some_and(is_ending);
    let swapped = at(shared) == word.get(shared + 1) && at(shared + 1) == word.get(shared);
    ends(goes_on(shared + 1, shared + 1))
        || ends(goes_on(shared + 1, shared))
        || ends(goes_on(shared, shared + 1))
        || (swapped && ends(goes_on(shared + 2, shared + 2)))
}

fn is_ending(rest: &[u8]) -> bool {
    ENDINGS.iter().any(|ending| ending.as_bytes() == rest)
}

/// Whether what follows a stem is one edit from an ending of at least three letters.
fn near_ending(rest: &[u8]) -> bool {
    let Ok(rest) = str::from_utf8(rest) else {
        return false;
    };
    let long = ENDINGS.iter().filter(|ending| ending.len() >= 3);
    rest.len() >= 2 && long.into_iter().any(|ending| one_edit_apart(rest, ending))
}

/// Whether exactly one insertion, deletion, replacement or swap of neighbours lies between two words.
pub(crate) fn one_edit_apart(a: &str, b: &str) -> bool {
    if a.len().abs_diff(b.len()) > 4 {
        return false;
    }
    let same = a.chars().zip(b.chars()).take_while(|(x, y)| x == y);
    let start: usize = same.map(|(c, _)| c.len_utf8()).sum();
    let (a, b) = (&a[start..], &b[start..]);
    let same = a
        .chars()
        .rev()
        .zip(b.chars().rev())
        .take_while(|(x, y)| x == y);
    let end: usize = same.map(|(c, _)| c.len_utf8()).sum();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    let first_three = |text: &str| {
        let mut chars = text.chars();
        [chars.next(), chars.next(), chars.next()]
    };
    match (first_three(a), first_three(b)) {
        ([Some(_), None, _], [None, ..]) | ([None, ..], [Some(_), None, _]) => true,
        ([Some(_), None, _], [Some(_), None, _]) => true,
        ([Some(x), Some(y), None], [Some(v), Some(w), None]) => x == w && y == v,
        _ => false,
    }
}
