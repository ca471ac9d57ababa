//! Which Node is used; running it is tested in `tests/runs`.

use super::*;
use crate::probe::{Answer, judge, probe};

fn answer(version: &str, model: bool, older: bool) -> Answer {
    serde_json::from_value(serde_json::json!({
        "program": "/opt/node/bin/node",
        "version": version,
        "libraries": ["linux-vdso.so.1", "/lib/libc.so.6"],
        "model": model,
        "older": older,
    }))
    .unwrap()
}

#[test]
fn the_flag_follows_what_node_knows() {
    for (version, model, older, flag) in [
        ("20.20.2", false, true, Some("--experimental-permission")),
        ("24.1.0", true, true, Some("--permission")),
        ("25.0.0", true, false, Some("--permission")),
        ("18.20.0", false, false, None),
        ("22.0.0", false, false, None),
    ] {
        let found = judge(answer(version, model, older));
        assert_eq!(
            found.as_ref().ok().map(|found| found.permission),
            flag,
            "{version}"
        );
        match found {
            Ok(found) => assert_eq!(found.libraries, [PathBuf::from("/lib/libc.so.6")]),
            Err(why) => assert!(why.reason.contains("install Node"), "{why}"),
        }
    }
}

#[test]
fn a_missing_or_strange_binary_is_told() {
    let missing = Node::at("/nonexistent/node").launch().unwrap_err();
    assert!(missing.reason.contains("/nonexistent/node"), "{missing}");
    assert!(missing.reason.contains("quickjs"), "{missing}");
    let strange = probe("/bin/echo".as_ref()).unwrap_err();
    assert!(strange.reason.contains("does not answer"), "{strange}");
}
