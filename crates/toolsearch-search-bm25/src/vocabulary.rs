//! The sorted words of a segment in one string, with a table to find them. Not here: postings.

use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::fast::RandomState;

/// A place of the table that holds no term.
const FREE: u32 = u32::MAX;

/// All terms, sorted; a term's number is its place. The table is only asked, never walked, so that its
/// order, which differs from run to run, reaches nothing.
#[derive(Debug, Default)]
pub(crate) struct Vocabulary {
    text: String,
    ends: Vec<u32>,
    table: Vec<u32>,
    hasher: RandomState,
}

impl Vocabulary {
    /// Takes terms that are sorted and distinct.
    pub(crate) fn of_sorted<'a>(terms: impl Iterator<Item = &'a str>) -> Self {
        let mut vocabulary = Self::default();
        for term in terms {
            vocabulary.text.push_str(term);
            vocabulary.ends.push(as_u32(vocabulary.text.len()));
        }
        vocabulary.text.shrink_to_fit();
        vocabulary.ends.shrink_to_fit();
        let size = (vocabulary.len() * 3 / 2).next_power_of_two().max(2);
        vocabulary.table = vec![FREE; size];
        for number in 0..as_u32(vocabulary.len()) {
            let mut at = vocabulary.first_place(vocabulary.term(number));
            while vocabulary.table[at] != FREE {
                at = (at + 1) & (size - 1);
            }
            vocabulary.table[at] = number;
        }
        vocabulary
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn term(&self, number: u32) -> &str {
        let at = number as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[start as usize..self.ends[at] as usize]
    }

    pub(crate) fn find(&self, term: &str) -> Option<u32> {
        if self.ends.is_empty() {
            return None;
        }
        let mut at = self.first_place(term);
        loop {
            match self.table[at] {
                FREE => return None,
                number if self.term(number) == term => return Some(number),
                _ => at = (at + 1) & (self.table.len() - 1),
            }
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "only the low bits are used"
    )]
    fn first_place(&self, term: &str) -> usize {
        self.hasher.hash_one(term) as usize & (self.table.len() - 1)
    }

    /// The numbers of all terms that begin with a letter from `from` to `to`.
    pub(crate) fn beginning_between(&self, from: char, to: char) -> Range<u32> {
        let mut bytes = [0; 4];
        let start = self.first_not_below(from.encode_utf8(&mut bytes));
        let end = char::from_u32(u32::from(to) + 1).map_or(self.len(), |next| {
            self.first_not_below(next.encode_utf8(&mut bytes))
        });
        as_u32(start)..as_u32(end.max(start))
    }

    fn first_not_below(&self, term: &str) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.term(as_u32(middle)) < term {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Bytes on the heap.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.text.capacity() + 4 * (self.ends.capacity() + self.table.capacity())
    }
}

/// Sizes of an index fit 32 bits: a catalog that would not is far beyond any memory.
pub(crate) fn as_u32(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}
