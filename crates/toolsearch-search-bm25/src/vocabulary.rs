//! The sorted words of an index in one string. Not here: postings.

use std::ops::Range;

/// All terms, sorted; a term's number is its place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Vocabulary {
    text: String,
    ends: Vec<u32>,
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
        let at = self.first_not_below(term);
        (at < self.len())
            .then(|| as_u32(at))
            .filter(|at| self.term(*at) == term)
    }

    /// The numbers of all terms that begin with `c`.
    pub(crate) fn beginning_with(&self, c: char) -> Range<u32> {
        let mut bytes = [0; 4];
        let from = self.first_not_below(c.encode_utf8(&mut bytes));
        let until = char::from_u32(u32::from(c) + 1).map_or(self.len(), |next| {
            self.first_not_below(next.encode_utf8(&mut bytes))
        });
        as_u32(from)..as_u32(until.max(from))
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
}

/// Sizes of an index fit 32 bits: a catalog that would not is far beyond any memory.
pub(crate) fn as_u32(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}
