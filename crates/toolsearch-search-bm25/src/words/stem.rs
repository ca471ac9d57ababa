//! English stems by the Snowball rules. Only words of lower-case ASCII letters come here.

use rust_stemmers::{Algorithm, Stemmer};

pub(crate) struct English {
    stemmer: Stemmer,
}

impl English {
    pub(crate) fn new() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
        }
    }

    pub(crate) fn stem(&self, word: &str) -> String {
        if is_stem(word.as_bytes()) {
            return word.to_owned();
        }
        self.stemmer.stem(word).into_owned()
    }
}

/// Whether the last letters show that no rule applies. Many words are so, and asking all rules is dear.
///
/// Rules: the suffixes of steps 1a to 5 of <https://snowballstem.org/algorithms/english/stemmer.html>.
fn is_stem(word: &[u8]) -> bool {
    match word {
        [] | [_] | [_, _] | [_, _, b'e'] => true,
        // A lone e after a short syllable stays.
        [first, vowel, last, b'e'] => {
            !is_vowel(*first) && *first != b'y' && is_vowel(*vowel) && is_closing(*last)
        }
        [.., before, last] => match last {
            b'e' => false,
            b's' => match before {
                b's' => !word.ends_with(b"ness"),
                b'u' => !word.ends_with(b"ous"),
                _ => false,
            },
            b'y' => is_vowel(*before),
            b'c' => *before != b'i',
            b'd' => *before != b'e',
            b'g' => *before != b'n',
            b'i' => !matches!(before, b'c' | b'g' | b'l' | b't'),
            b'l' => !matches!(before, b'a' | b'l' | b'u'),
            b'm' => *before != b's',
            b'n' => *before != b'o',
            b'r' => !matches!(before, b'e' | b'o'),
            b't' => *before != b'n',
            _ => true,
        },
    }
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u')
}

/// Whether a letter ends a short syllable.
fn is_closing(letter: u8) -> bool {
    !is_vowel(letter) && !matches!(letter, b'w' | b'x' | b'y')
}

#[cfg(test)]
mod tests {
    use super::{English, is_stem};

    /// Every ending of two letters and every one that a rule names, behind beginnings of all shapes.
    #[test]
    fn a_word_that_is_taken_for_a_stem_is_one() {
        const BEGINNINGS: [&str; 8] = ["", "a", "y", "sk", "la", "toy", "bat", "relat"];
        const SUFFIXES: [&str; 24] = [
            "ness", "less", "ous", "ious", "us", "sses", "ied", "eed", "ing", "edly", "ation",
            "ator", "alism", "fulness", "iviti", "biliti", "ogi", "fulli", "ative", "ement",
            "ance", "ible", "ize", "ysis",
        ];
        let letters = || (b'a'..=b'z').map(char::from);
        let pairs = letters().flat_map(|a| letters().map(move |b| format!("{a}{b}")));
        let endings = pairs.chain(SUFFIXES.map(str::to_owned));
        let stemmer = English::new().stemmer;
        let mut stems = 0;
        for ending in endings {
            for beginning in BEGINNINGS {
                let word = format!("{beginning}{ending}");
                if is_stem(word.as_bytes()) {
                    stems += 1;
                    assert_eq!(stemmer.stem(&word), word);
                }
            }
        }
        assert!(stems > 3_000, "{stems}");
        for word in [
            "search", "workflow", "file", "status", "access", "day", "text",
        ] {
            assert!(is_stem(word.as_bytes()), "{word}");
        }
    }
}
