//! How near a text that names nothing is to the names of a catalog. Every name is looked at, so what a look
//! needs is worked out once: folded names lie one after the other, words and owners are numbers. Not here:
//! what a text names exactly.

use std::sync::Arc;

use toolsearch_schema::names::{fold, words};

use crate::descriptor::ToolDescriptor;

/// What a word is worth that text and name share, and what the owner's name is worth beside one.
const SHARED_WORD: u32 = 12;
const OWNER: u32 = 4;
/// What a name is worth that holds the text or is held by it.
const CONTAINED: u32 = 40;
/// What a name is worth that is the text in other spelling, and what each typing error takes away.
const SPELLED: u32 = 60;
const ERROR: u32 = 10;

/// Longer names are no misspellings of anything.
const MAX_SPELLED_CHARS: usize = 128;
/// Characters of names that one text is compared with letter by letter; names behind them count by their
/// words alone.
const MAX_COMPARED_CHARS: usize = 400_000;
/// Most typing errors that are told apart.
const MAX_ERRORS: usize = 3;
const BAND: usize = 2 * MAX_ERRORS + 1;

/// The folded names of all tools, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    text: String,
    /// The distinct words of each name, as numbers.
    words: Vec<u32>,
    names: Vec<Name>,
}

/// One folded name.
#[derive(Debug, Clone, Copy)]
struct Name {
    /// Where its text and its words end.
    end: usize,
    last_word: usize,
    letters: u64,
    owner: u32,
    chars: u32,
    /// Its first three letters.
    head: u16,
}

impl Forms {
    pub(crate) fn new(entries: &[Arc<ToolDescriptor>]) -> Self {
        let mut forms = Self::default();
        let mut owner = (String::new(), 0);
        for tool in entries {
            if owner.0 != tool.owner {
                owner = (tool.owner.clone(), number(&fold(&tool.owner)));
            }
            let start = forms.text.len();
            let first_word = forms.words.len();
            if tool.name.is_ascii() {
                forms.push_ascii(&tool.name);
            } else {
                forms.text.push_str(&fold(&tool.name));
                let own = words(&tool.name);
                forms.words.extend(own.iter().map(|word| number(word)));
            }
            forms.words[first_word..].sort_unstable();
            let mut kept = first_word;
            for at in first_word..forms.words.len() {
                if at == first_word || forms.words[at] != forms.words[kept - 1] {
                    forms.words[kept] = forms.words[at];
                    kept += 1;
                }
            }
            forms.words.truncate(kept);
            let name = &forms.text[start..];
            forms.names.push(Name {
                end: forms.text.len(),
                last_word: kept,
                letters: letters(name),
                owner: owner.1,
                chars: u32::try_from(name.chars().count()).unwrap_or(u32::MAX),
                head: heads(name).next().unwrap_or(0),
            });
        }
        forms
    }

    /// Does what [`fold`] and [`words`] do to a name that is ASCII.
    fn push_ascii(&mut self, name: &str) {
        let bytes = name.as_bytes();
        let mut before: Option<u8> = None;
        let mut word = START;
        for (at, byte) in bytes.iter().enumerate() {
            if !byte.is_ascii_alphanumeric() {
                before = None;
                continue;
            }
            let next_is_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            let starts = before.is_none_or(|before| {
                byte.is_ascii_uppercase() && (!before.is_ascii_uppercase() || next_is_lower)
            });
            if starts && word != START {
                self.words.push(std::mem::replace(&mut word, START));
            }
            let lower = byte.to_ascii_lowercase();
            word = step(word, lower);
            self.text.push(char::from(lower));
            before = Some(*byte);
        }
        if word != START {
            self.words.push(word);
        }
    }

    fn of(&self, at: usize) -> (&str, &[u32], Name) {
        let before = at.checked_sub(1).map(|before| self.names[before]);
        let (start, first) = before.map_or((0, 0), |name| (name.end, name.last_word));
        let name = self.names[at];
        let words = &self.words[first..name.last_word];
        (&self.text[start..name.end], words, name)
    }
}

/// A text that names nothing, ready to be compared with many names.
#[derive(Debug)]
pub(crate) struct Asked {
    folded: String,
    chars: Vec<char>,
    letters: u64,
    /// Each distinct word with how often it stands in the text, sorted.
    words: Vec<(u32, u32)>,
    /// One bit for each three letters that follow each other.
    heads: Vec<u64>,
    /// Characters that may still be compared letter by letter.
    left: usize,
}

impl Asked {
    pub(crate) fn new(text: &str) -> Self {
        let folded = fold(text.rsplit([':', '/']).next().unwrap_or(text));
        let mut numbers: Vec<u32> = words(text).iter().map(|word| number(word)).collect();
        numbers.sort_unstable();
        let counted = numbers.chunk_by(|a, b| a == b);
        let counted = counted.map(|same| (same[0], u32::try_from(same.len()).unwrap_or(u32::MAX)));
        let mut bits = vec![0; 1 << 10];
        for head in heads(&folded) {
            bits[usize::from(head >> 6)] |= 1 << (head & 63);
        }
        Self {
            chars: folded.chars().collect(),
            letters: letters(&folded),
            words: counted.collect(),
            heads: bits,
            left: MAX_COMPARED_CHARS,
            folded,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.folded.is_empty()
    }

    /// How near a tool is: whole-name containment, then small typing errors, then shared words. Exact
    /// where it is above `floor`.
    pub(crate) fn nearness(&mut self, forms: &Forms, at: usize, floor: u32) -> u32 {
        let (text, words, name) = forms.of(at);
        let shared: u32 = words.iter().map(|word| self.count(*word)).sum();
        let mut score = SHARED_WORD * shared;
        if shared > 0 && self.count(name.owner) > 0 {
            score += OWNER;
        }
        if score + SPELLED + CONTAINED <= floor || text.is_empty() {
            return score;
        }
        score + self.misspelling(text, name) + self.containment(text, name)
    }

    fn count(&self, word: u32) -> u32 {
        let found = self.words.binary_search_by_key(&word, |(word, _)| *word);
        found.map_or(0, |at| self.words[at].1)
    }

    /// What a name is worth as another spelling of the text.
    fn misspelling(&mut self, text: &str, name: Name) -> u32 {
        let (asked, chars) = (self.chars.len(), name.chars as usize);
        let budget = asked.max(chars).div_ceil(4).clamp(1, MAX_ERRORS);
        let apart = (name.letters ^ self.letters).count_ones() as usize;
        let is_possible = chars.abs_diff(asked) <= budget
            && apart <= 2 * budget
            && chars.max(asked) <= MAX_SPELLED_CHARS
            && chars <= self.left;
        if !is_possible {
            return 0;
        }
        self.left -= chars;
        let errors = if text.is_ascii() && self.folded.is_ascii() {
            errors(self.folded.as_bytes(), text.as_bytes(), budget)
        } else {
            let text: Vec<char> = text.chars().collect();
            errors(&self.chars, &text, budget)
        };
        errors.map_or(0, |errors| {
            SPELLED - ERROR * u32::try_from(errors).unwrap_or(5).min(5)
        })
    }

    /// What a name of three letters or more is worth that is a part of the text or has the text as its part.
    fn containment(&self, text: &str, name: Name) -> u32 {
        if name.chars < 3 {
            return 0;
        }
        let (folded, letters) = (self.folded.as_str(), self.letters);
        let has_head = self.heads[usize::from(name.head >> 6)] & (1 << (name.head & 63)) != 0;
        let inside = text.len() <= folded.len() && name.letters & !letters == 0 && has_head;
        let around = text.len() >= folded.len() && letters & !name.letters == 0;
        let holds = (inside && folded.contains(text)) || (around && text.contains(folded));
        if holds { CONTAINED } else { 0 }
    }
}

/// The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`; `None`
/// when it is more than `max`, which is at most [`MAX_ERRORS`]. Only a band of the table is worked out.
fn errors<T: PartialEq>(a: &[T], b: &[T], max: usize) -> Option<usize> {
    let max = max.min(MAX_ERRORS);
    let far = max + 1;
    if a.len().abs_diff(b.len()) > max {
        return None;
    }
    // The cell of row i and column j stands at place j - i + max.
    let width = 2 * max + 1;
    let mut before = [far; BAND];
    let mut last = [far; BAND];
    for (place, cell) in last.iter_mut().enumerate().take(width).skip(max) {
        *cell = (place - max).min(far);
    }
    for i in 1..=a.len() {
        let mut row = [far; BAND];
        for place in 0..width {
            let Some(j) = (i + place).checked_sub(max).filter(|j| *j <= b.len()) else {
                continue;
            };
            if j == 0 {
                row[place] = i.min(far);
                continue;
            }
            let mut cell = last[place] + usize::from(a[i - 1] != b[j - 1]);
            if place + 1 < width {
                cell = cell.min(last[place + 1] + 1);
            }
            if place > 0 {
                cell = cell.min(row[place - 1] + 1);
            }
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                cell = cell.min(before[place] + 1);
            }
            row[place] = cell.min(far);
        }
        if row.iter().chain(&last).all(|cell| *cell > max) {
            return None;
        }
        before = std::mem::replace(&mut last, row);
    }
    Some(last[b.len() + max - a.len()]).filter(|errors| *errors <= max)
}

/// The letters and digits of a text as a set; letters of other scripts share the upper bits.
fn letters(text: &str) -> u64 {
    let bit = |c: char| match c {
        'a'..='z' => 1 << (u32::from(c) - u32::from('a')),
        '0'..='9' => 1 << (26 + u32::from(c) - u32::from('0')),
        c => 1 << (36 + u32::from(c) % 28),
    };
    text.chars().fold(0, |set, c| set | bit(c))
}

/// Every three characters that follow each other, as numbers that differ for most of them.
fn heads(text: &str) -> impl Iterator<Item = u16> + '_ {
    let next = text.chars().skip(1).zip(text.chars().skip(2));
    text.chars().zip(next).map(|(a, (b, c))| {
        let mixed = [a, b, c].iter().fold(0_u32, |mixed, c| {
            mixed.wrapping_mul(0x9e37).wrapping_add(u32::from(*c))
        });
        (mixed & 0xffff) as u16
    })
}

/// Words are compared as numbers: FNV-1a, the same in every process. That two words of a text and a catalog
/// share one is rare, and costs a needless suggestion.
const START: u32 = 0x811c_9dc5;

fn step(number: u32, byte: u8) -> u32 {
    (number ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

fn number(word: &str) -> u32 {
    word.bytes().fold(START, step)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use toolsearch_schema::names::edit_distance;

    use super::{Forms, errors, number};
    use crate::{Source, ToolDescriptor};
    use toolsearch_schema::names::{fold, words};

    proptest! {
        #[test]
        fn the_band_gives_the_whole_table(a in "[abc]{0,9}", b in "[abc]{0,9}", max in 1usize..4) {
            prop_assert_eq!(errors(a.as_bytes(), b.as_bytes(), max), edit_distance(&a, &b, max));
        }

        #[test]
        fn ascii_names_are_folded_and_cut_like_all_others(name in "[a-cA-C0-2_. -]{1,14}") {
            let tool = ToolDescriptor::new(Source::Mcp, "o", &name, serde_json::json!({}));
            prop_assume!(tool.is_ok());
            let forms = Forms::new(&[std::sync::Arc::new(tool.expect("legal"))]);
            let (text, numbers, _) = forms.of(0);
            let mut expected: Vec<u32> = words(&name).iter().map(|word| number(word)).collect();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(numbers, expected);
            if name.bytes().any(|byte| byte.is_ascii_alphanumeric()) {
                prop_assert_eq!(text, fold(&name));
            }
        }
    }
}
