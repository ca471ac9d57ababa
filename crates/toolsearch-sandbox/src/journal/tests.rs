//! Answering pending calls, and the form at rest.

use serde_json::json;

use super::*;
use crate::ErrorCode;

fn suspended() -> Journal {
    let mut journal = Journal::default();
    for (call, handle) in [(3, "b"), (1, "a")] {
        journal.push_pending(PendingCall {
            call,
            handle: handle.into(),
            method: "call".into(),
            args: json!({ "id": call }),
        });
    }
    journal
}

#[test]
fn a_handle_is_answered_once() {
    let mut journal = suspended();
    assert_eq!(journal.pending()[0].handle, "a");
    journal.answer("b", Ok(json!(1))).unwrap();
    assert_eq!(journal.entries()[0].call, 3);
    assert_eq!(journal.pending().len(), 1);
    let again = journal.answer("b", Ok(json!(2)));
    assert_eq!(again, Err(UnknownHandle { handle: "b".into() }));
}

#[test]
fn it_survives_storage() {
    let mut journal = suspended();
    journal
        .answer("a", Err(HostError::new(ErrorCode::ApprovalDenied, "no")))
        .unwrap();
    let text = serde_json::to_string(&journal).unwrap();
    let back: Journal = serde_json::from_str(&text).unwrap();
    assert_eq!(back, journal);
}

#[test]
fn the_digest_tells_method_and_arguments_apart() {
    let one = digest("call", &json!({ "id": "a" }));
    assert_eq!(one.len(), 32);
    assert_eq!(one, digest("call", &json!({ "id": "a" })));
    assert_ne!(one, digest("call", &json!({ "id": "b" })));
    assert_ne!(one, digest("search", &json!({ "id": "a" })));
}
