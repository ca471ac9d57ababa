//! First runs, replays, mismatches.

use serde_json::json;

use super::*;

fn ledger(journal: Journal) -> Ledger {
    Ledger::new(journal, &Limits::default()).unwrap()
}

/// A first run: calls 0, 1, 2; 2 answered before 0, and 1 suspended.
fn suspended() -> Journal {
    let mut books = ledger(Journal::default());
    for call in 0..3 {
        assert_eq!(
            books.issue(call, "call", json!({ "n": call })),
            Ok(Issue::Ask)
        );
    }
    books.answer(2, 5, Ok(json!("two")));
    books.suspend(1, "wait".into());
    books.answer(0, 7, Ok(json!("zero")));
    assert!(!books.is_stuck(), "answers are still to be handed over");
    assert_eq!(books.next_answer().map(|e| e.call), Some(2));
    assert_eq!(books.next_answer().map(|e| e.call), Some(0));
    assert_eq!(books.next_answer(), None);
    assert!(books.is_stuck());
    books.into_journal()
}

#[test]
fn a_replay_repeats_the_order_and_asks_only_for_what_is_new() {
    let mut journal = suspended();
    journal.answer("wait", Ok(json!("one"))).unwrap();
    let mut books = ledger(journal);
    assert_eq!(books.recorded_until_ms(), 7);
    assert_eq!(
        books.issue(0, "call", json!({ "n": 0 })),
        Ok(Issue::Recorded)
    );
    assert_eq!(
        books.next_answer(),
        None,
        "call 2 was first and is not made yet"
    );
    assert_eq!(
        books.issue(1, "call", json!({ "n": 1 })),
        Ok(Issue::Recorded)
    );
    assert_eq!(
        books.issue(2, "call", json!({ "n": 2 })),
        Ok(Issue::Recorded)
    );
    let order: Vec<_> = std::iter::from_fn(|| books.next_answer())
        .map(|e| e.call)
        .collect();
    assert_eq!(order, [2, 0, 1]);
    assert_eq!(books.issue(3, "call", json!({})), Ok(Issue::Ask));
    books.answer(3, 9, Ok(json!(null)));
    assert_eq!(books.next_answer().map(|e| e.call), Some(3));
    assert_eq!(books.check_done(), Ok(()));
}

#[test]
fn a_call_that_still_waits_is_not_asked_again() {
    let mut books = ledger(suspended());
    for call in 0..3 {
        let issue = books.issue(call, "call", json!({ "n": call })).unwrap();
        assert_eq!(issue == Issue::Waiting, call == 1);
    }
    while books.next_answer().is_some() {}
    assert!(books.is_stuck());
    let journal = books.into_journal();
    assert_eq!(journal.pending()[0].handle, "wait");
    assert_eq!(journal.entries().len(), 2);
}

#[test]
fn live_answers_wait_for_the_recorded_ones() {
    let mut journal = suspended();
    journal.answer("wait", Ok(json!("one"))).unwrap();
    let mut books = ledger(journal);
    books.issue(0, "call", json!({ "n": 0 })).unwrap();
    books.issue(1, "call", json!({ "n": 1 })).unwrap();
    assert_eq!(books.next_answer(), None);
    assert_eq!(
        books.check_waiting().map_err(|e| e.detail),
        Err("call 2 was not made again".into())
    );
}

#[test]
fn another_call_under_a_known_number_is_a_mismatch() {
    for (method, args) in [("call", json!({ "n": 9 })), ("search", json!({ "n": 0 }))] {
        let mut books = ledger(suspended());
        assert!(books.issue(0, method, args).is_err());
    }
    let mut books = ledger(suspended());
    books.issue(0, "call", json!({ "n": 0 })).unwrap();
    assert!(
        books.issue(1, "call", json!({ "n": 8 })).is_err(),
        "pending calls are compared too"
    );
    assert!(
        ledger(suspended()).issue(5, "call", json!({})).is_err(),
        "numbers have no gaps"
    );
}

#[test]
fn an_early_end_is_a_mismatch() {
    assert!(ledger(suspended()).check_done().is_err());
    assert!(ledger(Journal::default()).check_done().is_ok());
}

#[test]
fn a_broken_journal_is_refused() {
    let text = r#"{"entries":[
        {"call":0,"method":"call","digest":"","at_ms":0,"answer":{"value":1}},
        {"call":0,"method":"call","digest":"","at_ms":0,"answer":{"value":2}}],"pending":[]}"#;
    let journal: Journal = serde_json::from_str(text).unwrap();
    assert!(Ledger::new(journal, &Limits::default()).is_err());
}

#[test]
fn answers_to_nobody_are_ignored() {
    let mut books = ledger(Journal::default());
    books.answer(4, 0, Ok(json!(1)));
    books.suspend(4, "x".into());
    assert_eq!(books.next_answer(), None);
    assert!(!books.is_stuck());
}
