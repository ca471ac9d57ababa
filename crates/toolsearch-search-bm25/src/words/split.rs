//! Where words begin and end: at everything that is no letter or digit, at a change of case inside an
//! identifier, and at every character of scripts that are written without spaces. Letters and digits
//! stay together (`s3`, `k8s`).

use unicode_normalization::char::is_combining_mark;

use super::{Kind, Shape};
use crate::options::WordOptions;

/// Gives the pieces of a folded text in order until `each` returns false.
pub(crate) fn pieces(
    text: &str,
    options: WordOptions,
    kind: Kind,
    mut each: impl FnMut(&str, Shape) -> bool,
) {
    let in_word = |c: char| is_word_character(c) || (c == '_' && !options.split_identifiers);
    for chunk in text
        .split(|c| !in_word(c))
        .filter(|chunk| !chunk.is_empty())
    {
        let go_on = if options.pairs && !chunk.is_ascii() {
            by_script(chunk, |run, unspaced| {
                if unspaced {
                    pairs(run, &mut each)
                } else {
                    word(run, options, kind, &mut each)
                }
            })
        } else {
            word(chunk, options, kind, &mut each)
        };
        if !go_on {
            return;
        }
    }
}

/// A word, and the words inside it.
fn word(
    whole: &str,
    options: WordOptions,
    kind: Kind,
    each: &mut impl FnMut(&str, Shape) -> bool,
) -> bool {
    if !each(whole, Shape::Whole) {
        return false;
    }
    if kind == Kind::Prose || !options.split_identifiers {
        return true;
    }
    let mut start = 0;
    for cut in case_changes(whole) {
        if !each(&whole[start..cut], Shape::Part) {
            return false;
        }
        start = cut;
    }
    start == 0 || each(&whole[start..], Shape::Part)
}

/// The places at which case shows that a word begins: `createIssue`, `HTTPServer`, but not `URLs`.
fn case_changes(word: &str) -> impl Iterator<Item = usize> + '_ {
    let mut before: Option<char> = None;
    word.char_indices().filter_map(move |(at, c)| {
        let previous = before.replace(c)?;
        if !c.is_uppercase() {
            return None;
        }
        let mut after = word[at + c.len_utf8()..].chars();
        let next = after.next();
        let ends_in_plural = next == Some('s') && after.next().is_none_or(|c| !c.is_lowercase());
        let begins =
            !previous.is_uppercase() || (next.is_some_and(char::is_lowercase) && !ends_in_plural);
        begins.then_some(at)
    })
}

/// Overlapping pairs of characters; a single character stands alone.
fn pairs(run: &str, each: &mut impl FnMut(&str, Shape) -> bool) -> bool {
    let starts = || run.char_indices().map(|(at, _)| at);
    let ends = starts().skip(2).chain([run.len()]);
    starts()
        .zip(ends)
        .all(|(start, end)| each(&run[start..end], Shape::Pair))
}

/// Cuts where a script without spaces meets another; true marks the one without spaces.
fn by_script(chunk: &str, mut each: impl FnMut(&str, bool) -> bool) -> bool {
    let mut start = 0;
    let mut current = None;
    for (at, c) in chunk.char_indices() {
        let unspaced = is_unspaced(c);
        if let Some(was) = current
            && was != unspaced
        {
            if !each(&chunk[start..at], was) {
                return false;
            }
            start = at;
        }
        current = Some(unspaced);
    }
    current.is_none_or(|was| each(&chunk[start..], was))
}

fn is_word_character(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
    } else {
        c.is_alphanumeric() || is_combining_mark(c)
    }
}

/// Thai, Lao, Burmese, Khmer, Hangul, kana and Han. Korean has spaces, but its endings stick to the
/// words, so that pairs find more.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{1100}'..='\u{11ff}'
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}' | '\u{3100}'..='\u{318f}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}
