//! The known word that a misspelt one was probably meant to be.

/// Longer words are not compared; nobody misspells them by a letter or two.
const MAX_LENGTH: usize = 64;

/// The candidate with the fewest edits, if few enough to be a slip: a third of the word, at least
/// one, at most three. Earlier candidates win ties. Case counts for nothing.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let wanted: Vec<char> = word.to_lowercase().chars().take(MAX_LENGTH + 1).collect();
    if wanted.len() > MAX_LENGTH {
        return None;
    }
    let allowed = (wanted.len() / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let known: Vec<char> = candidate.to_lowercase().chars().collect();
        if known.len() > MAX_LENGTH || known.len().abs_diff(wanted.len()) > allowed {
            continue;
        }
        let edits = distance(&wanted, &known);
        if edits <= allowed && best.is_none_or(|(fewest, _)| edits < fewest) {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Edits (insert, remove, replace, swap of neighbours) that turn one word into the other.
fn distance(from: &[char], to: &[char]) -> usize {
    let width = to.len() + 1;
    let mut before_last = vec![0; width];
    let mut last: Vec<usize> = (0..width).collect();
    for (row, a) in from.iter().enumerate() {
        let mut current = vec![row + 1; width];
        for (column, b) in to.iter().enumerate() {
            let replaced = last[column] + usize::from(a != b);
            let mut cost = replaced.min(last[column + 1] + 1).min(current[column] + 1);
            let swapped = row > 0 && column > 0 && from[row - 1] == *b && to[column - 1] == *a;
            if swapped {
                cost = cost.min(before_last[column - 1] + 1);
            }
            current[column + 1] = cost;
        }
        before_last = last;
        last = current;
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let known = [
            "mode",
            "engine",
            "maxSearchLimit",
            "allow",
            "deny",
            "url",
            "env",
        ];
        let check = |word: &str, expected: Option<&str>| {
            assert_eq!(nearest(word, known), expected, "{word}");
        };
        check("mod", Some("mode"));
        check("mdoe", Some("mode"));
        check("maxSearchLimits", Some("maxSearchLimit"));
        check("maxsearchlimit", Some("maxSearchLimit"));
        check("engin", Some("engine"));
        check("alow", Some("allow"));
        check("uri", Some("url"));
        check("password", None);
        check("", None);
        check(&"m".repeat(100_000), None);
    }
}
