//! Each rule fails on its fixture and on nothing else; the clean fixture passes.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::{Rule, check};

const ALL: [Rule; 13] = [
    Rule::LayerTable,
    Rule::Layers,
    Rule::DevCrates,
    Rule::NoRuntime,
    Rule::Owners,
    Rule::ModesCannotCall,
    Rule::OneCallSite,
    Rule::ModuleDocs,
    Rule::FileBudget,
    Rule::CrateList,
    Rule::CrateReadme,
    Rule::WorkspaceDependencies,
    Rule::WorkspaceLints,
];

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join("tidy")
}

#[test]
fn each_rule_fails_on_its_fixture_and_on_nothing_else() {
    for rule in ALL {
        let report = check(&fixtures().join(rule.name())).unwrap();
        let found: BTreeSet<&str> = report
            .violations
            .iter()
            .map(|finding| finding.rule.name())
            .collect();
        assert_eq!(
            found,
            BTreeSet::from([rule.name()]),
            "{:#?}",
            report.violations
        );
    }
}

#[test]
fn the_clean_fixture_passes() {
    let report = check(&fixtures().join("clean")).unwrap();
    assert_eq!(report.violations, []);
    assert_eq!(report.warnings, []);
}

#[test]
fn every_fixture_belongs_to_a_rule() {
    let mut names: BTreeSet<String> = ALL.iter().map(|rule| rule.name().to_owned()).collect();
    names.insert("clean".to_owned());
    let folders: BTreeSet<String> = fs::read_dir(fixtures())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(folders, names);
}

#[test]
fn findings_name_file_and_line() {
    let check = |rule: Rule, expected: &[&str]| {
        let report = check(&fixtures().join(rule.name())).unwrap();
        let places: Vec<String> = report
            .violations
            .iter()
            .map(|finding| format!("{}:{}", finding.path.display(), finding.line))
            .collect();
        assert_eq!(places, expected, "{}", rule.name());
    };
    // A shared part that knows words, and a contract that knows another.
    check(
        Rule::Layers,
        &[
            "crates/toolsearch-http/Cargo.toml:6",
            "crates/toolsearch-policy/Cargo.toml:6",
        ],
    );
    check(Rule::Owners, &["crates/toolsearch-search/Cargo.toml:6"]);
    check(
        Rule::OneCallSite,
        &[
            "crates/toolsearch-mcp/src/lib.rs:4",
            "crates/toolsearch-runtime/src/lib.rs:8",
        ],
    );
    check(
        Rule::LayerTable,
        &["Cargo.toml:7", "crates/toolsearch-extra/Cargo.toml:2"],
    );
    check(
        Rule::FileBudget,
        &["crates/toolsearch-catalog/src/lib.rs:801"],
    );
}
