//! A query as texts: the whole, and each of its sentences where there are several. Who asks for three things in
//! three sentences means three tools, and a vector of the whole is near to none of them.

use toolsearch_search::MAX_TEXT_BYTES;

/// Sentences of a query that are looked at, beside the whole.
pub(crate) const MAX_PARTS: usize = 6;
/// A shorter sentence says too little to be looked for, in characters.
const MIN_CHARS: usize = 12;

/// The whole query first. Nothing else where it is one sentence.
pub(crate) fn parts(query: &str) -> Vec<String> {
    let whole = &query[..query.floor_char_boundary(MAX_TEXT_BYTES)];
    let mut texts = vec![whole.to_owned()];
    let sentences = sentences(whole);
    if sentences.len() > 1 {
        texts.extend(sentences.into_iter().take(MAX_PARTS).map(str::to_owned));
    }
    texts
}

/// A sentence ends with its mark and a space, or with a line. The marks of scripts without spaces need none.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let (mut start, mut mark) = (0, false);
    for (at, c) in text.char_indices() {
        if c == '\n' || (mark && c.is_whitespace()) {
            sentences.push(&text[start..at]);
            start = at;
        } else if matches!(c, '。' | '！' | '？') {
            let end = at + c.len_utf8();
            sentences.push(&text[start..end]);
            start = end;
        }
        mark = matches!(c, '.' | '?' | '!' | ';' | '؟' | '।');
    }
    sentences.push(&text[start..]);
    let long = |text: &&str| text.chars().count() > MIN_CHARS;
    sentences.into_iter().map(str::trim).filter(long).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: &[&str]) {
        let texts = parts(query);
        assert_eq!(texts[0], query);
        assert_eq!(texts[1..], *expected);
    }

    #[test]
    fn one_sentence_is_no_part() {
        check("", &[]);
        check("create issue", &[]);
        check(
            "List the open pull requests of v1.2.3 at example.com, please.",
            &[],
        );
        check("Really? Show me my calendar for tomorrow.", &[]);
    }

    #[test]
    fn several_sentences_are_looked_for_one_by_one() {
        check(
            "Book a table for two. What is the weather tomorrow?\nText mum about it",
            &[
                "Book a table for two.",
                "What is the weather tomorrow?",
                "Text mum about it",
            ],
        );
        check(
            "明日の東京の天気を教えてください。母にメッセージを送ってください。",
            &[
                "明日の東京の天気を教えてください。",
                "母にメッセージを送ってください。",
            ],
        );
    }

    #[test]
    fn parts_are_bounded() {
        let many = "Find the cheapest flight to Rome. ".repeat(500);
        let texts = parts(&many);
        assert_eq!(texts.len(), 1 + MAX_PARTS);
        assert!(texts.iter().all(|text| text.len() <= MAX_TEXT_BYTES));
    }
}
