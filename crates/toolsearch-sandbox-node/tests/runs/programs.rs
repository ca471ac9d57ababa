//! Programs, and what comes of them.

use std::time::Duration;

use libtest_mimic::Trial;
use toolsearch_sandbox::Engine;
use toolsearch_testing::engine as suite;

use crate::{engine, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("the_check_tells_what_holds", check),
        trial("hostile_programs_get_nowhere", list),
        trial("hostile_programs_of_a_file", file),
    ]
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

fn list() {
    toolsearch_testing::block_on(async {
        let engine = engine();
        engine.check().unwrap();
        let before = suite::Footprint::now();
        let late = suite::withstands(&engine).await;
        suite::Footprint::is_back(before.as_ref(), 32 << 10);
        let usual = late[late.len() / 2];
        assert!(usual < Duration::from_millis(100), "{late:?}");
        assert!(late.iter().all(|late| late.as_millis() < 2000), "{late:?}");
    });
}

fn file() {
    let Some(lines) = suite::abuse_file() else {
        return;
    };
    toolsearch_testing::block_on(async {
        assert!(suite::withstands_lines(&engine(), &lines).await > 0);
    });
}
