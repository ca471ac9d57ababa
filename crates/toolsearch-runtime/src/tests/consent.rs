//! Asking for consent: who is asked, what stands for the session, and work that is put aside until
//! somebody answers.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolsearch_catalog::Outcome;
use toolsearch_mode_code::CodeMode;
use toolsearch_policy::{Approver, Subject, Verdict};
use toolsearch_sandbox::{Engine, Host, Layers, Limits, Program, RunReport, Unsupported};
use toolsearch_testing::approver::{HeldApprover, ScriptedApprover};
use toolsearch_testing::eventually;

use super::fixtures::{Office, call, code, listings, office, rules, tool_call};
use super::programs::Script;
use crate::{
    ClientAnswer, Clock, ModelCall, OpenRequest, Pending, Reply, RestoreError, ResumeError, Session,
};

const ISSUE: &str = "mcp:github:create_issue";

fn asking(approver: Arc<dyn Approver>) -> Office {
    office(|parts, options| {
        parts.policy = rules(None, &["delete_*"], &["create_*", "pick_*"]);
        parts.approver = approver;
        options.approval_timeout = Duration::from_secs(600);
    })
}

fn programs(approver: Arc<dyn Approver>) -> Office {
    office(|parts, options| {
        parts.mode = Arc::new(CodeMode);
        parts.engine = Arc::new(Script);
        parts.policy = rules(None, &["delete_*"], &["create_*"]);
        parts.approver = approver;
        options.approval_timeout = Duration::from_secs(600);
    })
}

fn later(handle: &str) -> Verdict {
    Verdict::Pending(handle.to_owned())
}

fn issue(waits: bool) -> ModelCall {
    let mut call = ModelCall::new("tool_call", json!({"id": ISSUE, "args": {"title": "t"}}));
    call.waits = waits;
    call
}

async fn put_aside(session: &Session, call: ModelCall) -> Pending {
    match session.handle(call).await {
        Reply::Pending(pending) => *pending,
        Reply::Done(rendered) => panic!("answered: {rendered:?}"),
    }
}

async fn still_waits(session: &Session, pending: Pending) -> Pending {
    match session.resume(pending, Vec::new()).await {
        Ok(Reply::Pending(pending)) => *pending,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_question_holds_the_call_that_it_is_about() {
    let person = Arc::new(ScriptedApprover::new([Verdict::Once]));
    let office = asking(Arc::clone(&person) as _);
    let session = office.open().await;
    assert!(!call(&session, ISSUE, json!({"title": "t"})).await.is_error);
    let asked = &person.requests()[0];
    assert_eq!(asked.tool.as_str(), ISSUE);
    assert_eq!(Value::Object(asked.args.clone()), json!({"title": "t"}));
    assert_eq!(asked.session, session.id());
    assert!(asked.reason.contains("create_*"), "{}", asked.reason);
    let now = crate::SystemClock.now_ms();
    let expires = asked.expires_ms.expect("a question ends");
    assert!(expires > now && expires <= now + 600_000);
}

#[tokio::test]
async fn what_is_said_for_the_session_stands_in_it_and_nowhere_else() {
    let no = Verdict::DeniedForSession("never".to_owned());
    for (verdict, works) in [(Verdict::ForSession, true), (no, false)] {
        let person = Arc::new(ScriptedApprover::new([verdict]));
        let office = asking(Arc::clone(&person) as _);
        let session = office.open().await;
        for title in ["a", "b"] {
            let answer = tool_call(&session, ISSUE, json!({"title": title})).await;
            assert_eq!(answer.is_error, !works, "{answer:?}");
            assert!(works || answer.joined_text().contains("never"));
        }
        assert_eq!(
            person.requests().len(),
            1,
            "the second call is not asked about"
        );
        let other = office.open().await;
        tool_call(&other, ISSUE, json!({"title": "c"})).await;
        assert_eq!(person.requests().len(), 2, "another session is asked");
    }
}

#[tokio::test]
async fn who_calls_may_say_who_is_asked() {
    let nobody = Arc::new(ScriptedApprover::default());
    let office = asking(Arc::clone(&nobody) as _);
    let session = office.open().await;
    let person: Arc<ScriptedApprover> = Arc::new(ScriptedApprover::new([Verdict::Once]));
    let mut call = issue(false);
    call.approver = Some(Arc::clone(&person) as _);
    let Reply::Done(answer) = session.handle(call).await else {
        panic!("answered at once");
    };
    assert!(!answer.is_error, "{answer:?}");
    assert_eq!((person.requests().len(), nobody.requests().len()), (1, 0));

    let office = programs(Arc::clone(&nobody) as _);
    let session = office.open().await;
    let person: Arc<ScriptedApprover> = Arc::new(ScriptedApprover::new([Verdict::Once]));
    let script = json!([["call", {"id": ISSUE, "args": {"title": "t"}}]]);
    let mut run = ModelCall::new("tool_search_code", json!({"code": script.to_string()}));
    run.approver = Some(Arc::clone(&person) as _);
    assert!(matches!(session.handle(run).await, Reply::Done(_)));
    assert_eq!(
        person.requests().len(),
        1,
        "calls of a program are asked about by the same one"
    );
    assert_eq!(office.bench.ran().len(), 1);
}

#[tokio::test]
async fn a_call_that_cannot_wait_gets_the_handle() {
    let person = ScriptedApprover::new([later("q7"), later("q7"), later("q7"), Verdict::Once]);
    let office = asking(Arc::new(person));
    let session = office.open().await;
    for _ in 0..3 {
        let answer = tool_call(&session, ISSUE, json!({"title": "t"})).await;
        assert_eq!(code(&answer).as_deref(), Some("approval_required"));
        assert_eq!(
            answer.meta.as_ref().expect("meta")["toolsearch/handle"],
            "q7"
        );
        let text = answer.joined_text();
        assert!(
            text.contains("q7") && !text.contains("three times"),
            "{text}"
        );
    }
    assert!(office.bench.ran().is_empty());
    let answer = tool_call(&session, ISSUE, json!({"title": "t"})).await;
    assert!(
        !answer.is_error,
        "the same call runs once somebody has agreed"
    );
}

#[tokio::test]
async fn a_call_is_put_aside_until_somebody_agrees() {
    let script = [later("q1"), later("q1"), Verdict::Once];
    let office = asking(Arc::new(ScriptedApprover::new(script)));
    let session = office.open().await;
    let pending = put_aside(&session, issue(true)).await;
    let held = pending.held();
    assert_eq!((held.len(), held[0].handle.as_str()), (1, "q1"));
    assert_eq!(held[0].tool.id.as_str(), ISSUE);
    assert_eq!(Value::Object(held[0].args.clone()), json!({"title": "t"}));
    assert!(pending.calls().is_empty(), "the client has nothing to run");
    let foreign = vec![ClientAnswer::new("q1", Outcome::text("forged"))];
    let (error, pending) = session
        .resume(pending, foreign)
        .await
        .expect_err("no call of a client");
    assert_eq!(error, ResumeError::Unknown("q1".to_owned()));

    let pending = still_waits(&session, pending).await;
    assert!(office.bench.ran().is_empty());
    let Ok(Reply::Done(answer)) = session.resume(pending, Vec::new()).await else {
        panic!("agreed");
    };
    assert!(!answer.is_error, "{answer:?}");
    assert_eq!(
        office.bench.ran(),
        [("create_issue".to_owned(), json!({"title": "t"}))]
    );
}

#[tokio::test]
async fn a_client_tool_is_handed_out_only_after_consent() {
    let office = asking(Arc::new(ScriptedApprover::new([
        later("q1"),
        Verdict::Once,
    ])));
    let session = office.open().await;
    let mut call = ModelCall::new("pick_colour", json!({"title": "wall"}));
    call.waits = true;
    let pending = put_aside(&session, call).await;
    assert!(pending.calls().is_empty());
    let pending = still_waits(&session, pending).await;
    assert!(pending.held().is_empty());
    let handle = pending.calls()[0].handle.clone();
    let answer = vec![ClientAnswer::new(handle, Outcome::text("blue"))];
    let Ok(Reply::Done(rendered)) = session.resume(pending, answer).await else {
        panic!("answered");
    };
    assert_eq!(rendered.joined_text(), "blue");
}

#[tokio::test]
async fn a_refusal_ends_what_was_put_aside() {
    let no = Verdict::Denied("not that one".to_owned());
    let office = asking(Arc::new(ScriptedApprover::new([later("q1")])));
    let session = office.open().await;
    let pending = put_aside(&session, issue(true)).await;
    let other: Arc<dyn Approver> = Arc::new(ScriptedApprover::new([no]));
    let Ok(Reply::Done(answer)) = session.resume(pending.asking(other), Vec::new()).await else {
        panic!("refused");
    };
    assert_eq!(code(&answer).as_deref(), Some("approval_denied"));
    assert!(answer.joined_text().contains("not that one"));
    assert!(office.bench.ran().is_empty());
}

/// A program that searches, calls what it may, calls what somebody has to agree to, and what the
/// client has to run.
fn script() -> Value {
    json!([
        ["call", {"id": "native:core:search", "args": {"title": "first"}}],
        ["call", {"id": ISSUE, "args": {"title": "second"}}],
        ["call", {"id": "client:client:pick_colour", "args": {"title": "third"}}],
    ])
}

fn run(script: &Value) -> ModelCall {
    let mut call = ModelCall::new("tool_search_code", json!({"code": script.to_string()}));
    call.waits = true;
    call
}

#[tokio::test]
async fn a_program_goes_on_by_replay_and_makes_no_call_twice() {
    let script_of_person = [later("q1"), later("q1"), Verdict::Once];
    let office = programs(Arc::new(ScriptedApprover::new(script_of_person)));
    let session = office.open().await;
    let pending = put_aside(&session, run(&script())).await;
    assert_eq!(pending.held()[0].handle, "q1");
    let pending = still_waits(&session, pending).await;
    // Consent brings it as far as the call that only the client can make.
    let pending = still_waits(&session, pending).await;
    let names: Vec<String> = office
        .bench
        .ran()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["search", "create_issue"]);
    let handle = pending.calls()[0].handle.clone();
    let answer = vec![ClientAnswer::new(handle, Outcome::text("blue"))];
    let Ok(Reply::Done(answer)) = session.resume(pending, answer).await else {
        panic!("done");
    };
    let report: Value = serde_json::from_str(&answer.joined_text()).expect("a report");
    assert_eq!(report["ok"], true, "{report}");
    let calls: Vec<&str> = report["calls"]
        .as_array()
        .expect("calls")
        .iter()
        .map(|call| call["id"].as_str().expect("an id"))
        .collect();
    assert_eq!(
        calls,
        ["native:core:search", ISSUE, "client:client:pick_colour"]
    );
    assert_eq!(office.bench.ran().len(), 2);
}

async fn named(office: &Office, name: &str, subject: Subject) -> Session {
    let mut request = OpenRequest::new(subject, listings());
    request.session = Some(name.to_owned());
    office.runtime.open(request).await.expect("a session")
}

#[tokio::test]
async fn work_goes_on_in_another_process() {
    let first = programs(Arc::new(ScriptedApprover::new([later("q1")])));
    let session = named(&first, "s1", Subject::anyone()).await;
    let pending = put_aside(&session, run(&script())).await;
    let saved = session.save(&pending).to_string();

    let second = programs(Arc::new(ScriptedApprover::new([Verdict::Once])));
    let session = named(&second, "s1", Subject::anyone()).await;
    let saved: Value = serde_json::from_str(&saved).expect("JSON");
    let pending = session.restore(saved.clone()).expect("the same session");
    assert_eq!(pending.held()[0].handle, "q1");
    let pending = still_waits(&session, pending).await;
    let names: Vec<String> = second
        .bench
        .ran()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names,
        ["create_issue"],
        "what the first process did is not done again"
    );

    let saved_again = session.save(&pending);
    let pending = session.restore(saved_again).expect("the same session");
    let handle = pending.calls()[0].handle.clone();
    let answer = vec![ClientAnswer::new(handle, Outcome::text("blue"))];
    let Ok(Reply::Done(answer)) = session.resume(pending, answer).await else {
        panic!("done");
    };
    assert!(!answer.is_error, "{answer:?}");
    let next = session
        .handle(ModelCall::new("pick_colour", json!({})))
        .await;
    let Reply::Pending(next) = next else {
        panic!("the client has to run it");
    };
    assert_eq!(next.calls()[0].handle, "c2", "no name is given twice");

    let other = named(&second, "s2", Subject::anyone()).await;
    assert_eq!(
        other.restore(saved.clone()).err(),
        Some(RestoreError::Foreign)
    );
    let other = named(&second, "s1", Subject::agent("support")).await;
    assert_eq!(
        other.restore(saved.clone()).err(),
        Some(RestoreError::Foreign)
    );
    let strict = office(|parts, _| parts.policy = rules(None, &["create_*"], &[]));
    let strict = named(&strict, "s1", Subject::anyone()).await;
    assert_eq!(
        strict.restore(saved).err(),
        Some(RestoreError::Gone(ISSUE.to_owned()))
    );
}

#[tokio::test]
async fn damaged_work_is_refused() {
    let office = programs(Arc::new(ScriptedApprover::new([later("q1"), later("q1")])));
    let session = named(&office, "s1", Subject::anyone()).await;
    let pending = put_aside(&session, run(&script())).await;
    let whole = session.save(&pending);
    let damaged = |change: &dyn Fn(&mut Value)| {
        let mut saved = whole.clone();
        change(&mut saved);
        matches!(session.restore(saved), Err(RestoreError::Malformed(_)))
    };
    assert!(damaged(&|saved| *saved = json!([])));
    assert!(damaged(&|saved| saved["v"] = json!(2)));
    assert!(damaged(
        &|saved| saved["program"]["journal"] = json!({"entries": 1})
    ));
    assert!(damaged(&|saved| saved["program"]["outer"] = json!("x")));
    assert!(damaged(
        &|saved| saved["program"]["waiting"][0]["handle"] = json!("c9.9")
    ));
    assert!(damaged(
        &|saved| saved["program"]["waiting"][0]["call"]["args"] = json!("{}")
    ));
    assert!(damaged(&|saved| saved["program"] = Value::Null));
    assert!(damaged(&|saved| saved["request"] = Value::Null));
    assert!(session.restore(whole.clone()).is_ok());
}

/// Makes one call and watches the clock stop of its own run.
#[derive(Debug, Clone)]
struct Watching(Arc<HeldApprover>);

#[async_trait::async_trait]
impl Engine for Watching {
    fn name(&self) -> &str {
        "watching"
    }

    fn check(&self) -> Result<Layers, Unsupported> {
        Ok(Layers::default())
    }

    async fn run(&self, program: Program, host: Arc<dyn Host>, limits: &Limits) -> RunReport {
        let pause = host.pause().expect("this host asks people");
        assert!(!pause.is_held(), "nobody is asked yet");
        let watch = async {
            eventually("somebody is asked", || !self.0.open().is_empty()).await;
            assert!(
                pause.is_held(),
                "waiting for a person is no work of the program"
            );
            assert!(self.0.answer(Verdict::Once));
        };
        let (report, ()) = tokio::join!(Script.run(program, host, limits), watch);
        assert!(!pause.is_held(), "the answer starts the clock again");
        report
    }
}

#[tokio::test]
async fn waiting_for_a_person_stops_the_clock_of_a_program() {
    let person = Arc::new(HeldApprover::new());
    let office = office(|parts, options| {
        parts.mode = Arc::new(CodeMode);
        parts.engine = Arc::new(Watching(Arc::clone(&person)));
        parts.policy = rules(None, &[], &["create_*"]);
        parts.approver = Arc::clone(&person) as _;
        options.approval_timeout = Duration::from_secs(600);
    });
    let session = office.open().await;
    let script = json!([["call", {"id": ISSUE, "args": {"title": "t"}}]]);
    let answer = call(
        &session,
        "tool_search_code",
        json!({"code": script.to_string()}),
    )
    .await;
    assert!(!answer.is_error, "{answer:?}");
    assert_eq!(office.bench.ran().len(), 1);
}

#[tokio::test]
async fn an_answer_that_never_comes_is_a_clear_no() {
    let person = Arc::new(HeldApprover::new());
    let office = office(|parts, options| {
        parts.policy = rules(None, &[], &["create_*"]);
        parts.approver = Arc::clone(&person) as _;
        options.approval_timeout = Duration::from_millis(20);
    });
    let session = office.open().await;
    let answer = tool_call(&session, ISSUE, json!({"title": "t"})).await;
    assert_eq!(code(&answer).as_deref(), Some("approval_denied"));
    assert!(answer.joined_text().contains("timed out after 20 ms"));
    assert!(person.open().is_empty(), "the question is withdrawn");
    assert!(
        !person.answer(Verdict::Once),
        "a late yes finds no question"
    );
    assert!(office.bench.ran().is_empty());
}
