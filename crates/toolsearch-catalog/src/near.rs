//! How near a text that names nothing is to the names of a catalog. Names that are ASCII, which is most
//! of them, are folded once and compared where they lie, because every name is compared. Not here: what
//! a text names exactly.

use std::collections::HashMap;
use std::sync::Arc;

use toolsearch_schema::names::{edit_distance, fold, words};

use crate::descriptor::ToolDescriptor;

/// What a word is worth that text and name share, and what the owner's name is worth beside one.
const SHARED_WORD: u32 = 12;
const OWNER: u32 = 4;

/// The folded names of all tools, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Forms {
    text: String,
    words: Vec<u32>,
    names: Vec<Name>,
}

/// Where the folded form and the words of one name end, and which letters it has.
#[derive(Debug, Clone, Copy)]
struct Name {
    end: usize,
    last_word: usize,
    letters: u64,
}

/// One folded ASCII name.
struct Form<'a> {
    text: &'a str,
    /// Where its words begin.
    words: &'a [u32],
    letters: u64,
}

impl Forms {
    pub(crate) fn new(entries: &[Arc<ToolDescriptor>]) -> Self {
        let mut forms = Self::default();
        for tool in entries {
            let start = forms.text.len();
            if tool.name.is_ascii() {
                forms.push(&tool.name);
            }
            forms.names.push(Name {
                end: forms.text.len(),
                last_word: forms.words.len(),
                letters: letters(&forms.text[start..]),
            });
        }
        forms
    }

    /// Does what [`fold`] and [`words`] do to a name that is ASCII.
    fn push(&mut self, name: &str) {
        let start = self.text.len();
        let bytes = name.as_bytes();
        let mut before: Option<u8> = None;
        for (at, byte) in bytes.iter().enumerate() {
            if !byte.is_ascii_alphanumeric() {
                before = None;
                continue;
            }
            let next_is_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
            let starts = before.is_none_or(|before| {
                byte.is_ascii_uppercase() && (!before.is_ascii_uppercase() || next_is_lower)
            });
            if starts {
                let place = u32::try_from(self.text.len() - start).unwrap_or(u32::MAX);
                self.words.push(place);
            }
            self.text.push(char::from(byte.to_ascii_lowercase()));
            before = Some(*byte);
        }
    }

    /// The form of a name; `None` when it is not ASCII or has no letter.
    fn of(&self, at: usize) -> Option<Form<'_>> {
        let before = at.checked_sub(1).map(|before| self.names[before]);
        let (start, first) = before.map_or((0, 0), |name| (name.end, name.last_word));
        let name = self.names[at];
        (start < name.end).then(|| Form {
            text: &self.text[start..name.end],
            words: &self.words[first..name.last_word],
            letters: name.letters,
        })
    }
}

impl<'a> Form<'a> {
    fn words(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let (text, words) = (self.text, self.words);
        let ends = words.iter().skip(1).map(|end| *end as usize);
        let starts = words.iter().map(|start| *start as usize);
        starts
            .zip(ends.chain([text.len()]))
            .map(|(start, end)| &text[start..end])
    }
}

/// A text that names nothing, ready to be compared with many names.
#[derive(Debug)]
pub(crate) struct Asked {
    folded: String,
    chars: usize,
    letters: u64,
    /// How often each word stands in the text. Only asked, never walked into an answer.
    words: HashMap<String, u32>,
}

impl Asked {
    pub(crate) fn new(text: &str) -> Self {
        let folded = fold(text.rsplit([':', '/']).next().unwrap_or(text));
        let mut counted = HashMap::new();
        for word in words(text) {
            *counted.entry(word).or_insert(0) += 1;
        }
        Self {
            chars: folded.chars().count(),
            letters: letters(&folded),
            folded,
            words: counted,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.folded.is_empty()
    }

    /// How near a tool is: whole-name containment, then small typing errors, then shared words. Exact
    /// where it is above `floor`.
    pub(crate) fn nearness(
        &self,
        forms: &Forms,
        at: usize,
        tool: &ToolDescriptor,
        floor: u32,
    ) -> u32 {
        let (mut score, shared) = match forms.of(at) {
            Some(form) => self.to_form(&form),
            None => {
                let name = fold(&tool.name);
                let mut own = words(&tool.name);
                own.sort();
                own.dedup();
                let shared = self.shared(own.iter().map(String::as_str));
                (self.misspelling(&name) + self.containment(&name), shared)
            }
        };
        if shared > 0 {
            score += SHARED_WORD * shared;
            if score + OWNER > floor && self.words.contains_key(&fold(&tool.owner)) {
                score += OWNER;
            }
        }
        score
    }

    /// What the name as a whole is worth, and how many words it shares; with everything passed over that
    /// cannot be: most names of a large catalog have too little in common with the text.
    fn to_form(&self, form: &Form<'_>) -> (u32, u32) {
        let name = form.text;
        let mut score = 0;
        let budget = self.budget(name.len());
        let apart = (form.letters ^ self.letters).count_ones() as usize;
        if name.len().abs_diff(self.chars) <= budget && apart <= 2 * budget {
            score += self.misspelling(name);
        }
        let may_hold = |letters: u64, by: u64| letters & !by == 0;
        if may_hold(form.letters, self.letters) || may_hold(self.letters, form.letters) {
            score += self.containment(name);
        }
        let repeated = |at: usize, word: &str| form.words().take(at).any(|other| other == word);
        let own = form.words().enumerate();
        let own = own.filter(|(at, word)| !repeated(*at, word));
        (score, self.shared(own.map(|(_, word)| word)))
    }

    /// How far a name may be apart to count as a misspelling.
    fn budget(&self, name_chars: usize) -> usize {
        self.chars.max(name_chars).div_ceil(4).clamp(1, 3)
    }

    fn misspelling(&self, name: &str) -> u32 {
        let budget = self.budget(name.chars().count());
        edit_distance(&self.folded, name, budget).map_or(0, |distance| {
            60 - 10 * u32::try_from(distance).unwrap_or(5).min(5)
        })
    }

    fn containment(&self, name: &str) -> u32 {
        let folded = self.folded.as_str();
        let holds =
            name.chars().nth(2).is_some() && (folded.contains(name) || name.contains(folded));
        if holds { 40 } else { 0 }
    }

    /// How many words of the text are among the distinct words of a name.
    fn shared<'a>(&self, own: impl Iterator<Item = &'a str>) -> u32 {
        own.filter_map(|word| self.words.get(word)).sum()
    }
}

/// The letters and digits of a text as a set, without regard to case; what is no ASCII is left out.
fn letters(text: &str) -> u64 {
    let bit = |byte: u8| match byte {
        b'a'..=b'z' => 1 << (byte - b'a'),
        b'A'..=b'Z' => 1 << (byte - b'A'),
        b'0'..=b'9' => 1 << (26 + byte - b'0'),
        _ => 0,
    };
    text.bytes().fold(0, |set, byte| set | bit(byte))
}
