//! A session that goes on from another one, and what holds over nested and direct calls alike.

use std::sync::Arc;

use serde_json::{Value, json};
use toolsearch_mode_code::CodeMode;
use toolsearch_policy::{Subject, Verdict};
use toolsearch_testing::approver::ScriptedApprover;

use super::fixtures::{Office, call, listings, office, rules, tool_call};
use super::programs::Script;
use crate::{OpenRequest, Session};

/// A session that goes on from `before`, with a tool less.
async fn continued(office: &Office, before: &Session, subject: Subject) -> Session {
    let mut listings = listings();
    listings[1].tools.retain(|tool| tool.name != "alone");
    let mut request = OpenRequest::new(subject, listings);
    request.session = Some(before.id().to_owned());
    request.continues = Some(before.clone());
    office.runtime.open(request).await.expect("a session")
}

async fn read_on(session: &Session) -> bool {
    let args = json!({"handle": "r1", "offset": 65_536, "length": 10});
    let read = tool_call(session, "native:toolsearch:result_read", args).await;
    read.joined_text().starts_with("xxxxxxxxxx\n")
}

#[tokio::test]
async fn a_session_that_is_planned_again_keeps_results_consent_and_guard() {
    let verdicts = [
        Verdict::ForSession,
        Verdict::DeniedForSession("no".to_owned()),
    ];
    let person = Arc::new(ScriptedApprover::new(verdicts));
    let office = office(|parts, _| {
        parts.policy = rules(None, &[], &["create_issue", "delete_issue"]);
        parts.approver = Arc::clone(&person) as _;
    });
    let before = office.open().await;
    tool_call(&before, "large", json!({})).await;
    tool_call(&before, "create_issue", json!({"title": "a"})).await;
    tool_call(&before, "delete_issue", json!({})).await;
    for _ in 0..2 {
        tool_call(&before, "fail", json!({})).await;
    }

    let after = continued(&office, &before, Subject::anyone()).await;
    drop(before);
    assert_eq!(
        after.catalog().resolve("alone").ok().map(|tool| &tool.name),
        None
    );
    assert!(read_on(&after).await, "a cut result is still there");
    let agreed = tool_call(&after, "create_issue", json!({"title": "b"})).await;
    assert!(
        !agreed.is_error,
        "consent for the session stands: {agreed:?}"
    );
    let refused = tool_call(&after, "delete_issue", json!({})).await;
    assert!(refused.is_error, "so does a refusal: {refused:?}");
    assert_eq!(person.requests().len(), 2, "nobody is asked again");
    let third = tool_call(&after, "fail", json!({})).await.joined_text();
    assert!(third.contains("failed three times"), "{third}");
}

#[tokio::test]
async fn calls_stay_in_turn_while_a_session_is_planned_again() {
    let office = office(|_, _| {});
    let before = office.open().await;
    let mut request = OpenRequest::new(Subject::anyone(), listings());
    request.continues = Some(before.clone());
    let after = office.runtime.open(request).await.expect("a session");
    tokio::join!(
        tool_call(&before, "alone", json!({})),
        tool_call(&after, "alone", json!({})),
    );
    assert_eq!(office.bench.ran().len(), 2);
    assert_eq!(office.bench.most_at_once(), 1);
}

#[tokio::test]
async fn nothing_is_carried_over_to_another_subject() {
    let person = Arc::new(ScriptedApprover::new([Verdict::ForSession]));
    let office = office(|parts, _| {
        parts.policy = rules(None, &[], &["create_issue"]);
        parts.approver = Arc::clone(&person) as _;
    });
    let before = office.open().await;
    tool_call(&before, "large", json!({})).await;
    tool_call(&before, "create_issue", json!({"title": "a"})).await;
    let other = continued(&office, &before, Subject::agent("support")).await;
    assert!(!read_on(&other).await);
    let answer = tool_call(&other, "create_issue", json!({"title": "a"})).await;
    assert!(answer.is_error, "{answer:?}");
    assert_eq!(
        person.requests().len(),
        2,
        "the other one has to be asked about"
    );
}

fn scripted() -> Office {
    office(|parts, _| {
        parts.mode = Arc::new(CodeMode);
        parts.engine = Arc::new(Script);
    })
}

async fn run(session: &Session, script: Value) -> String {
    let code = json!({"code": script.to_string()});
    call(session, "tool_search_code", code).await.joined_text()
}

#[tokio::test]
async fn sequential_calls_of_programs_and_of_the_model_never_overlap() {
    let office = scripted();
    let session = office.open().await;
    let alone = json!(["call", {"id": "alone", "args": {}}]);
    let program = json!([alone, alone, alone]);
    let nested = || run(&session, program.clone());
    let direct = || call(&session, "native:core:alone", json!({}));
    let (one, two, three, four) = tokio::join!(nested(), direct(), nested(), direct());
    for text in [&one, &three] {
        let report: Value = serde_json::from_str(text).expect("a report");
        assert_eq!(report["ok"], true, "{report}");
    }
    assert!(!two.is_error && !four.is_error);
    assert_eq!(office.bench.ran().len(), 8);
    assert_eq!(office.bench.most_at_once(), 1);
}

#[tokio::test]
async fn failures_of_programs_and_of_the_model_are_counted_together() {
    let office = scripted();
    let session = office.open().await;
    let program = json!([["call", {"id": "fail", "args": {}}]]);
    let first = run(&session, program.clone()).await;
    assert!(!first.contains("failed three times"), "{first}");
    let second = call(&session, "native:core:fail", json!({}))
        .await
        .joined_text();
    assert!(!second.contains("failed three times"), "{second}");
    let third = run(&session, program).await;
    assert!(third.contains("failed three times"), "{third}");
}
