//! Text that may be shown: cleaned, cut with a visible mark, and tests for harmless identifiers.

/// The mark that stands where text was cut.
const CUT: char = '…';

/// Longest plain identifier in ASCII, and with letters of other scripts.
const MAX_ASCII_IDENTIFIER: usize = 64;
const MAX_UNICODE_IDENTIFIER: usize = 32;

/// Longest word that [`is_safe_word`] accepts.
const MAX_SAFE_WORD: usize = 32;

/// Whether `name` can stand unquoted as a property name: a letter, `_` or `$`, then letters, digits,
/// `_` or `$`; at most 64 characters, or 32 when some are not ASCII.
pub fn is_plain_identifier(name: &str) -> bool {
    let limit = if name.is_ascii() {
        MAX_ASCII_IDENTIFIER
    } else {
        MAX_UNICODE_IDENTIFIER
    };
    let mut characters = name.chars();
    let starts_well = characters
        .next()
        .is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$');
    starts_well
        && characters.all(|c| c.is_alphanumeric() || c == '_' || c == '$')
        && name.chars().take(limit + 1).count() <= limit
}

/// Whether `word` is one short word of ASCII letters and digits, possibly joined by `_`, `-`, `.`,
/// `/` or `:`, so that it cannot carry a sentence.
pub fn is_safe_word(word: &str) -> bool {
    let joins = |b: u8| matches!(b, b'_' | b'-' | b'.' | b'/' | b':');
    (1..=MAX_SAFE_WORD).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || joins(b))
        && word.bytes().any(|b| b.is_ascii_alphanumeric())
}

/// `text` on one line without control, bidirectional and invisible characters, blanks collapsed, and
/// cut to `max_chars` characters with a visible mark.
pub fn sanitise_label(text: &str, max_chars: usize) -> String {
    let mut label = String::new();
    let mut count = 0;
    let mut blank = false;
    for character in text.chars() {
        if character.is_whitespace() || (character.is_control() && !character.is_ascii_graphic()) {
            blank = true;
            continue;
        }
        if is_invisible(character) {
            continue;
        }
        if blank && count > 0 {
            label.push(' ');
            count += 1;
        }
        blank = false;
        label.push(character);
        count += 1;
        if count > max_chars {
            break;
        }
    }
    clip(&label, max_chars)
}

/// `text` cut to `max_chars` characters; a cut one ends in `…`, which counts.
pub fn clip(text: &str, max_chars: usize) -> String {
    if text.len() <= max_chars || text.chars().nth(max_chars).is_none() {
        return text.to_owned();
    }
    let Some(kept) = max_chars.checked_sub(1) else {
        return String::new();
    };
    let mut clipped: String = text.chars().take(kept).collect();
    clipped.truncate(clipped.trim_end().len());
    clipped.push(CUT);
    clipped
}

/// Characters that change what a reader sees without being seen: bidirectional controls, zero-width
/// characters, soft hyphens, variation and tag characters, private use, noncharacters.
#[must_use]
pub fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{e000}'..='\u{f8ff}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{10ffff}')
        || (u32::from(character) & 0xfffe) == 0xfffe
}
