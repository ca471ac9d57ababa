//! What somebody may have meant who wrote an id or a name that is not there.

/// Characters of a wrong name that are looked at and shown.
const MAX_CHARS: usize = 48;

/// The nearest candidates by number of typing errors, best first, equals in their order.
pub(crate) fn nearest<'a>(
    asked: &str,
    candidates: impl Iterator<Item = &'a str>,
    at_most: usize,
) -> Vec<&'a str> {
    let asked = letters(asked);
    let mut scored: Vec<(usize, &str)> = candidates
        .map(|candidate| (distance(&asked, &letters(candidate)), candidate))
        .collect();
    scored.sort_by_key(|(distance, _)| *distance);
    scored
        .into_iter()
        .take(at_most)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// The text cut to a printable length, on one line.
pub(crate) fn clip(text: &str) -> String {
    let shown = text.chars().filter(|c| !c.is_control()).take(MAX_CHARS + 1);
    let mut clipped: String = shown.collect();
    if clipped.chars().count() > MAX_CHARS {
        clipped.pop();
        clipped.push('…');
    }
    clipped
}

fn letters(text: &str) -> Vec<char> {
    text.chars()
        .take(MAX_CHARS)
        .flat_map(char::to_lowercase)
        .collect()
}

/// Insertions, deletions and replacements between two texts.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
