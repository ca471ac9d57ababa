//! The rules that every ranker keeps.

use std::sync::Arc;

use toolsearch_search::ExactFirst;
use toolsearch_testing::{block_on, ranker};

use crate::options::Options;
use crate::ranker::Bm25;

#[test]
fn keeps_the_rules_of_rankers() {
    block_on(ranker::conforms(|| Arc::new(Bm25::default())));
}

#[test]
fn keeps_the_rules_behind_exact_names() {
    block_on(ranker::conforms(|| Arc::new(ExactFirst(Bm25::default()))));
}

#[test]
fn finds_what_is_asked_for_with_any_part_switched_off() {
    let switches: [fn(&mut Options); 4] = [
        |_| {},
        |options| options.words.stem = false,
        |options| options.words.stop_words = false,
        |options| options.words.pairs = false,
    ];
    for switch in switches {
        let mut options = Options::default();
        switch(&mut options);
        block_on(ranker::finds(|| Arc::new(Bm25::new(options.clone()))));
    }
}
