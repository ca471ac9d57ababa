//! Programs, and what comes of them.

use libtest_mimic::Trial;
use toolsearch_sandbox::Engine;

use crate::{engine, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("the_check_tells_what_holds", check)]
}

fn check() {
    let layers = engine().check().unwrap();
    let names: Vec<&str> = layers
        .list
        .iter()
        .map(|layer| layer.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "process",
            "no_new_privs",
            "landlock",
            "rlimits",
            "seccomp",
            "permission"
        ]
    );
    assert!(
        layers.list.iter().all(|layer| layers.holds(&layer.name)),
        "{layers:#?}"
    );
}
