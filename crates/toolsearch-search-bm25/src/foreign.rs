//! Unknown words of a query as words of another language. Not here: the tables, and what a translation
//! weighs.

use crate::index::{Bm25Index, Term};
use crate::query::Asked;
use crate::words::Shape;

/// For every word the terms that a lexicon gives for it; none of them for a word that says nothing. One
/// such word may be chance in an English query; a table is believed when it knows two words, or half of
/// them, and one that says something. Of several tables the one that knows most is taken.
pub(crate) fn foreign_words(index: &Bm25Index, asked: &[Asked<'_>]) -> Vec<Option<Vec<Term>>> {
    let is_whole = |word: &Asked<'_>| word.shape == Shape::Whole && !word.common;
    let whole = asked.iter().filter(|word| is_whole(word)).count();
    let unknown: Vec<usize> = (0..asked.len())
        .filter(|at| is_whole(&asked[*at]) && asked[*at].found.is_none())
        .collect();
    let mut best = (0, vec![None; asked.len()]);
    if unknown.is_empty() {
        return best.1;
    }
    let mut two = String::new();
    for lexicon in &index.parts.options.lexicons {
        let mut found = vec![None; asked.len()];
        let (mut hits, mut fillers) = (0, 0);
        for at in &unknown {
            let word = &asked[*at];
            if lexicon.is_filler(&word.word) {
                fillers += 1;
                found[*at] = Some(Vec::new());
                continue;
            }
            let pair = asked.get(at + 1).and_then(|next| {
                two.clear();
                two.extend([&*word.word, " ", &next.word]);
                lexicon.english(&two)
            });
            if let Some(english) = pair.or_else(|| lexicon.english(&word.word)) {
                hits += 1;
                let terms = english.split(' ').map(|part| index.parts.words.term(part));
                let terms: Vec<Term> = terms.filter_map(|term| index.find(&term)).collect();
                found[*at] = Some(terms).filter(|terms| !terms.is_empty());
            }
        }
        let all = hits + fillers;
        if hits > 0 && all > best.0 && (all >= 2 || all * 2 >= whole) {
            best = (all, found);
        }
    }
    best.1
}
