//! Words of a query that belong together: phrases that mean something else than their words, and words that
//! tools write as one. Not here: what they weigh.

use crate::index::{Bm25Index, Term};
use crate::query::Asked;
use crate::synonyms::Meant;
use crate::words::{MAX_WORD_BYTES, Shape};

/// Places of two neighbouring words that tools write as one, `mind map` as `mindmap`, in either order.
pub(crate) fn joined(index: &Bm25Index, asked: &[Asked<'_>]) -> Vec<(usize, Term)> {
    let mut found = Vec::new();
    if index.parts.options.joined_words <= 0.0 {
        return found;
    }
    let is_plain = |word: &Asked<'_>| word.shape == Shape::Whole && !word.common && !word.has_parts;
    let mut word = String::with_capacity(2 * MAX_WORD_BYTES);
    for (at, two) in asked.windows(2).enumerate() {
        if !two.iter().all(is_plain) {
            continue;
        }
        for (first, second) in [(0, 1), (1, 0)] {
            word.clear();
            // The end of the joined word is stemmed as the end of its second word.
            word.extend([two[first].word.as_str(), two[second].term.as_str()]);
            found.extend(index.find(&word).map(|term| (at, term)));
        }
    }
    found
}

/// Words of a query that mean something together.
pub(crate) struct Phrase<'a> {
    pub(crate) at: usize,
    pub(crate) length: usize,
    pub(crate) meant: &'a [Meant],
}

/// The phrases of a query.
pub(crate) fn phrases<'a>(index: &'a Bm25Index, asked: &[Asked<'_>]) -> Vec<Phrase<'a>> {
    let mut found = Vec::new();
    if index.parts.options.phrase_weight > 0.0 {
        let terms = asked.iter().map(|word| (&*word.term, word.meaning));
        let terms: Vec<_> = terms.collect();
        let synonyms = &index.parts.synonyms;
        synonyms.phrases(&terms, |at, length, meant| {
            found.push(Phrase { at, length, meant });
        });
    }
    found
}
