//! Common English words that say nothing about a tool. Folded forms, sorted for the look-up; letters
//! that an apostrophe leaves behind are among them.

use std::sync::LazyLock;

const COMMON: &[&str] = &[
    "a",
    "able",
    "about",
    "after",
    "again",
    "all",
    "also",
    "am",
    "an",
    "and",
    "any",
    "anything",
    "are",
    "around",
    "as",
    "at",
    "be",
    "because",
    "been",
    "before",
    "being",
    "between",
    "both",
    "but",
    "by",
    "can",
    "cannot",
    "could",
    "d",
    "did",
    "do",
    "does",
    "doing",
    "don",
    "each",
    "either",
    "else",
    "etc",
    "every",
    "for",
    "from",
    "get",
    "give",
    "go",
    "going",
    "got",
    "had",
    "has",
    "have",
    "having",
    "he",
    "hello",
    "help",
    "her",
    "here",
    "hey",
    "hi",
    "him",
    "his",
    "how",
    "however",
    "i",
    "if",
    "in",
    "into",
    "is",
    "it",
    "its",
    "itself",
    "just",
    "kindly",
    "let",
    "like",
    "ll",
    "looking",
    "m",
    "make",
    "many",
    "may",
    "me",
    "might",
    "more",
    "most",
    "much",
    "must",
    "my",
    "myself",
    "need",
    "needs",
    "no",
    "nor",
    "not",
    "now",
    "of",
    "off",
    "on",
    "once",
    "one",
    "only",
    "or",
    "other",
    "our",
    "ours",
    "out",
    "over",
    "please",
    "provide",
    "re",
    "really",
    "right",
    "s",
    "shall",
    "she",
    "should",
    "show",
    "so",
    "some",
    "something",
    "such",
    "t",
    "tell",
    "than",
    "thank",
    "thanks",
    "that",
    "the",
    "their",
    "them",
    "then",
    "there",
    "these",
    "they",
    "thing",
    "things",
    "this",
    "those",
    "through",
    "to",
    "today",
    "tomorrow",
    "too",
    "tool",
    "tools",
    "try",
    "under",
    "until",
    "up",
    "upon",
    "us",
    "use",
    "used",
    "using",
    "ve",
    "very",
    "via",
    "want",
    "wants",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "whether",
    "which",
    "while",
    "who",
    "whom",
    "whose",
    "why",
    "will",
    "wish",
    "with",
    "within",
    "without",
    "would",
    "yes",
    "yesterday",
    "you",
    "your",
    "yours",
];

/// Longest word of the list in bytes.
const LONGEST: usize = 9;

/// Where the words of each first letter begin; one more than there are letters.
static BEGINS: LazyLock<[usize; 27]> = LazyLock::new(|| {
    std::array::from_fn(|letter| {
        let below =
            |word: &&str| word.bytes().next().map_or(0, usize::from) < letter + usize::from(b'a');
        COMMON.partition_point(below)
    })
});

/// Whether a folded word is common. Asked of every word of every text, so that most answers come from
/// the length and the first letter alone.
pub(crate) fn is_common(word: &str) -> bool {
    let bytes = word.as_bytes();
    let Some(letter @ b'a'..=b'z') = bytes.first() else {
        return false;
    };
    if bytes.len() > LONGEST {
        return false;
    }
    let letter = usize::from(letter - b'a');
    COMMON[BEGINS[letter]..BEGINS[letter + 1]].contains(&word)
}

#[cfg(test)]
mod tests {
    use super::{COMMON, is_common};

    #[test]
    fn list_is_sorted_so_that_every_word_is_found() {
        assert!(COMMON.is_sorted());
        assert_eq!(
            COMMON.iter().map(|word| word.len()).max(),
            Some(super::LONGEST)
        );
        assert!(COMMON.iter().all(|word| is_common(word)));
        assert!(!is_common("issue"));
    }
}
