//! How far two names are apart, and which of many are near.

use super::fold::{fold, words};

/// Characters of a name that are compared.
const MAX_COMPARED: usize = 128;

/// Candidates that [`nearest`] looks at.
const MAX_CANDIDATES: usize = 20_000;

/// The number of single-character insertions, deletions, replacements and swaps of neighbours that
/// turn `a` into `b`; `None` when it is more than `max` or a name is longer than 128 characters.
pub fn edit_distance(a: &str, b: &str, max: usize) -> Option<usize> {
    let a = bounded(a)?;
    let b = bounded(b)?;
    if a.len().abs_diff(b.len()) > max {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if swapped {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        if row.iter().chain(&last).all(|cell| *cell > max) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().filter(|distance| *distance <= max)
}

/// The edit distance up to which a name of `length` characters counts as a misspelling: a third of
/// it, at least one and at most three.
pub fn tolerance(length: usize) -> usize {
    length.div_ceil(3).clamp(1, 3)
}

/// At most `n` of `candidates` that `asked` may have meant, best first, ties by text.
///
/// Another spelling of the same name comes first, then misspellings by distance, then names of which
/// one has all the words of the other (`file_path` and `path`). `asked` itself is never among them.
pub fn nearest<'a>(
    asked: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    n: usize,
) -> Vec<&'a str> {
    let asked_folded = fold(asked);
    let asked_words = words(asked);
    let limit = tolerance(asked_folded.chars().count());
    let mut scored: Vec<(usize, &str)> = candidates
        .into_iter()
        .take(MAX_CANDIDATES)
        .filter(|candidate| *candidate != asked && !candidate.is_empty())
        .filter_map(|candidate| {
            let folded = fold(candidate);
            let score = edit_distance(&asked_folded, &folded, limit)
                .or_else(|| contains_words(&asked_words, &words(candidate)).then_some(limit + 1))?;
            Some((score, candidate))
        })
        .collect();
    scored.sort_unstable();
    scored.dedup();
    scored.truncate(n);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

fn contains_words(a: &[String], b: &[String]) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let telling = short.iter().any(|word| word.chars().count() > 1);
    telling && short.iter().all(|word| long.contains(word))
}

fn bounded(name: &str) -> Option<Vec<char>> {
    let characters: Vec<char> = name.chars().take(MAX_COMPARED + 1).collect();
    (characters.len() <= MAX_COMPARED).then_some(characters)
}
