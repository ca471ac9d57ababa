//! The normalised identity of a name, and the words it is made of.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Characters of a name that are read; the rest of a longer one is ignored.
const MAX_READ: usize = 512;

/// The form in which two spellings of one name are equal.
///
/// `find symbol`, `find_symbol`, `find-symbol`, `find.symbol` and `findSymbol` all give
/// `findsymbol`. Case is folded for all of Unicode, compatibility forms are unified, and the four
/// Latin letters i (dotted, dotless, both cases) are one. Accents count: `café` and `cafè` differ. A
/// name of separators alone stands for itself, so only blank text folds to the empty string.
pub fn fold(name: &str) -> String {
    if name.is_ascii() {
        fold_ascii(name)
    } else {
        fold_any(name)
    }
}

/// What [`fold_any`] gives for ASCII, in one pass: nearly all names are.
fn fold_ascii(name: &str) -> String {
    let read = |name: &str| name[..name.len().min(MAX_READ)].to_ascii_lowercase();
    let mut folded = read(name);
    folded.retain(|c| c.is_ascii_alphanumeric());
    if folded.is_empty() {
        folded = read(name.trim());
    }
    folded
}

fn fold_any(name: &str) -> String {
    // Composed last: dropping a separator can bring a letter and a mark together.
    let folded: String = case_folded(name)
        .filter(|c| is_name_character(*c))
        .nfc()
        .collect();
    if folded.is_empty() {
        case_folded(name.trim()).nfc().collect()
    } else {
        folded
    }
}

/// The words of an identifier or a phrase in folded form: `getUserByID2` gives `get`, `user`, `by`,
/// `id2`.
pub fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut previous: Option<char> = None;
    let mut characters = name.chars().take(MAX_READ).peekable();
    while let Some(character) = characters.next() {
        if !is_name_character(character) {
            finish(&mut word, &mut words);
            previous = None;
            continue;
        }
        let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
        let starts_word = character.is_uppercase()
            && previous.is_some_and(|p| p.is_lowercase() || p.is_numeric() || next_is_lower);
        if starts_word {
            finish(&mut word, &mut words);
        }
        word.push(character);
        previous = Some(character);
    }
    finish(&mut word, &mut words);
    words
}

fn finish(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(fold(word));
        word.clear();
    }
}

/// Going through upper case first unites what lower case alone keeps apart: `ß` and `ss`, the two
/// small sigmas, dotless and dotted i.
fn case_folded(name: &str) -> impl Iterator<Item = char> + '_ {
    let mut after_i = false;
    name.chars()
        .take(MAX_READ)
        .nfkc()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .filter(move |character| {
            let dot_of_i = after_i && *character == '\u{307}';
            after_i = *character == 'i';
            !dot_of_i
        })
}

/// Letters, digits, marks and symbols such as emoji carry meaning; punctuation, blanks, controls and
/// invisible characters only separate.
fn is_name_character(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_alphanumeric();
    }
    if character.is_alphanumeric() || is_combining_mark(character) {
        return true;
    }
    !(character.is_whitespace()
        || character.is_control()
        || super::label::is_invisible(character)
        || matches!(character, '\u{ad}' | '\u{2010}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{b7}' | '\u{30fb}'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{fold_any, fold_ascii};

    proptest! {
        #[test]
        fn ascii_is_folded_as_everything_else(name in "[ -~\\t\\n]{0,24}", times in 1usize..60) {
            let name = name.repeat(times);
            prop_assert_eq!(fold_ascii(&name), fold_any(&name));
        }
    }
}
