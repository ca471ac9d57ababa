//! Reading an unknown query word as a misspelling: one letter more, less, changed or swapped, with
//! the first letter right. Not here: when a word counts as unknown.

use crate::options::Repair;
use crate::vocabulary::Vocabulary;

/// Terms that `word` or its stem may be a misspelling of, the most frequent first.
pub(crate) fn near_terms(
    vocabulary: &Vocabulary,
    frequency: impl Fn(u32) -> u32,
    word: &str,
    stem: &str,
    repair: Repair,
) -> Vec<u32> {
    let letters = word.chars().count();
    let Some(first) = word.chars().next() else {
        return Vec::new();
    };
    if letters < repair.min_chars || !word.chars().all(char::is_alphabetic) {
        return Vec::new();
    }
    let near = |term: &str| {
        let long_enough = term.chars().count() + 1 >= repair.min_chars;
        long_enough && (one_edit_apart(word, term) || one_edit_apart(stem, term))
    };
    let mut found: Vec<u32> = vocabulary
        .beginning_with(first)
        .filter(|number| near(vocabulary.term(*number)))
        .collect();
    found.sort_by_key(|number| (std::cmp::Reverse(frequency(*number)), *number));
    found.truncate(repair.at_most);
    found
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
