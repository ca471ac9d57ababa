//! Counting tokens with the vocabulary `o200k`, which current models of OpenAI use and which is near
//! enough for others. It is loaded when something is counted first.

/// Longest run of blanks that the tokeniser is given: its pattern looks ahead over blanks and gives
/// up, by a panic, on very long runs.
const MAX_BLANKS: usize = 1000;

/// Tokens of a text. A longer run of blanks is counted piece by piece.
pub(crate) fn count(text: &str) -> usize {
    let tokeniser = tiktoken_rs::o200k_base_singleton();
    pieces(text)
        .map(|piece| tokeniser.encode_ordinary(piece).len())
        .sum()
}

/// The text in pieces, cut only inside overlong runs of blanks.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(first_cut(rest));
        rest = after;
        Some(piece)
    })
}

fn first_cut(text: &str) -> usize {
    let mut run = 0;
    for (at, character) in text.char_indices() {
        run = if character.is_whitespace() {
            run + 1
        } else {
            0
        };
        if run > MAX_BLANKS {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
    }

    #[test]
    fn long_runs_of_blanks_are_cut_and_nothing_else() {
        let blanks = " ".repeat(2 * MAX_BLANKS + 5);
        let text = format!("a{blanks}b c");
        let all: Vec<&str> = pieces(&text).collect();
        assert_eq!(all.concat(), text);
        assert_eq!(all.len(), 3);
        assert_eq!(pieces("a b\n\nc").count(), 1);
        assert!(count(&"\u{3000}".repeat(300_000)) > 0);
        assert!(count(&format!("{}x", " ".repeat(1_000_000))) > 0);
    }
}
