//! Spellings that mean the same letter become one: compatibility forms, accents, the four letters i,
//! Arabic vowel signs. Case stays until words are found, because it shows where they begin.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;

/// Unites spellings; keeps case.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    // Composed again at the end, so that Hangul syllables and voiced kana stay one character. Real text
    // has no more characters than bytes; some characters stand for a sentence each.
    let parts = text.nfkd().take(text.len() * 2);
    Cow::Owned(parts.filter(|c| !is_accent(*c)).nfc().collect())
}

/// Appends the lower-case form. Dotless i is i, and letters that Unicode does not decompose lose
/// their stroke, because people type them without.
pub(crate) fn lower_into(word: &str, out: &mut String) {
    if word.is_ascii() {
        let start = out.len();
        out.push_str(word);
        out[start..].make_ascii_lowercase();
        return;
    }
    for c in word.chars() {
        if c.is_ascii() {
            out.push(c.to_ascii_lowercase());
            continue;
        }
        for lower in c.to_lowercase() {
            match lower {
                'ı' => out.push('i'),
                'ß' => out.push_str("ss"),
                'æ' => out.push_str("ae"),
                'œ' => out.push_str("oe"),
                'ø' => out.push('o'),
                'ł' => out.push('l'),
                'đ' | 'ð' => out.push('d'),
                'ς' => out.push('σ'),
                other => out.push(other),
            }
        }
    }
}

/// Marks that people leave out: accents, Hebrew points, Arabic vowel signs and the stretching sign.
/// Vowel signs of Indic and South-East Asian scripts and the voicing marks of kana are letters.
fn is_accent(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{483}'..='\u{487}' | '\u{591}'..='\u{5bd}' | '\u{5bf}'..='\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e8}' | '\u{6ea}'..='\u{6ed}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}')
}
