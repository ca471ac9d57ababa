//! The rules that every engine keeps, cold and with a warm worker.

use std::sync::Arc;

use libtest_mimic::Trial;
use toolsearch_testing::engine::{self, Bench};

use crate::{host, processes, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("keeps_the_rules_of_engines", cold),
        trial("keeps_the_rules_of_engines_with_a_warm_worker", warm),
    ]
}

fn cold() {
    let bench = Bench::new(Arc::new(processes::cold()));
    let bench = bench.watched_by(|| !processes::mine().is_empty());
    toolsearch_testing::block_on(engine::conforms(&bench));
}

fn warm() {
    let bench = Bench::new(Arc::new(host::engine()));
    toolsearch_testing::block_on(engine::conforms(&bench));
}
