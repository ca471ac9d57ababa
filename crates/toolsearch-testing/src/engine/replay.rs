//! Suspended runs: they wait with a journal, and go on without doing anything twice.

use std::sync::Arc;

use serde_json::json;
use toolsearch_sandbox::{ErrorCode, HostError, Journal, Limits, Program, RunReport, RunStatus};

use super::hosts::{TestHost, answer, handle};
use super::{Bench, EPOCH_MS, SEED, completed, failed};

pub(super) async fn conforms(bench: &Bench) {
    each_side_effect_happens_once(bench).await;
    answers_may_come_one_by_one(bench).await;
    an_answer_may_be_an_error(bench).await;
    another_program_is_refused(bench).await;
}

async fn run(bench: &Bench, source: &str, journal: Journal, host: &Arc<TestHost>) -> RunReport {
    let program = Program::new(source, SEED, EPOCH_MS).resumed(journal);
    bench.program(program, host, &Limits::default()).await
}

/// The journal of a run that must be suspended, as it comes back from a store.
fn suspended(report: &RunReport, waits: &[u64]) -> Journal {
    let RunStatus::Suspended { journal } = &report.status else {
        panic!("a run that waits is suspended, not {:?}", report.status);
    };
    let handles: Vec<&str> = report
        .pending()
        .iter()
        .map(|call| call.handle.as_str())
        .collect();
    let expected: Vec<String> = waits.iter().map(|n| handle(*n)).collect();
    assert_eq!(handles, expected, "the calls that are waited for");
    let stored = serde_json::to_string(journal).expect("because a journal is plain data");
    let read: Journal = serde_json::from_str(&stored).expect("because it was just written");
    assert_eq!(&read, journal, "a journal survives a store");
    read
}

async fn each_side_effect_happens_once(bench: &Bench) {
    let source = &bench.programs.asks;
    let host = Arc::new(TestHost::new());
    let report = run(bench, source, Journal::default(), &host).await;
    let mut journal = suspended(&report, &[2]);
    assert_eq!(host.steps(), [1, 2]);
    journal
        .answer(&handle(2), Ok(answer(20)))
        .expect("because it waits");
    let again = journal.clone();
    for journal in [journal, again] {
        let host = Arc::new(TestHost::new());
        let report = run(bench, source, journal, &host).await;
        assert_eq!(completed(&report, "asks"), json!([1, 20, 3]));
        assert_eq!(host.steps(), [3], "answered calls are not made again");
        assert_eq!(report.calls, 3, "calls of the journal count");
    }
}

async fn answers_may_come_one_by_one(bench: &Bench) {
    let source = &bench.programs.asks_twice;
    let host = Arc::new(TestHost::new());
    let report = run(bench, source, Journal::default(), &host).await;
    let mut journal = suspended(&report, &[2, 3]);
    assert_eq!(host.steps(), [1, 2, 3]);
    journal
        .answer(&handle(3), Ok(answer(30)))
        .expect("because it waits");
    let host = Arc::new(TestHost::new());
    let report = run(bench, source, journal, &host).await;
    let mut journal = suspended(&report, &[2]);
    assert_eq!(
        host.steps(),
        [] as [u64; 0],
        "what waits is not asked again"
    );
    journal
        .answer(&handle(2), Ok(answer(20)))
        .expect("because it waits");
    let report = run(bench, source, journal, &host).await;
    assert_eq!(completed(&report, "asks_twice"), json!([1, 20, 30, 4]));
    assert_eq!(host.steps(), [4]);
}

async fn an_answer_may_be_an_error(bench: &Bench) {
    let host = Arc::new(TestHost::new());
    let report = run(bench, &bench.programs.asks, Journal::default(), &host).await;
    let mut journal = suspended(&report, &[2]);
    let refused = HostError::new(ErrorCode::ApprovalDenied, "somebody said no");
    journal
        .answer(&handle(2), Err(refused))
        .expect("because it waits");
    let host = Arc::new(TestHost::new());
    let report = run(bench, &bench.programs.asks, journal, &host).await;
    let error = failed(&report, "a refused question");
    assert_eq!(error.code, ErrorCode::ApprovalDenied, "{error}");
    assert!(error.message.contains("somebody said no"), "{error}");
    assert_eq!(host.steps(), [] as [u64; 0], "nothing runs after a refusal");
}

async fn another_program_is_refused(bench: &Bench) {
    let host = Arc::new(TestHost::new());
    let report = run(bench, &bench.programs.asks, Journal::default(), &host).await;
    let waiting = suspended(&report, &[2]);
    let mut answered = waiting.clone();
    answered
        .answer(&handle(2), Ok(answer(20)))
        .expect("because it waits");
    for journal in [waiting, answered] {
        for other in [&bench.programs.differs, &bench.programs.value] {
            let host = Arc::new(TestHost::new());
            let report = run(bench, other, journal.clone(), &host).await;
            let error = failed(&report, other);
            assert_eq!(error.code, ErrorCode::ReplayMismatch, "{other}\n{error}");
            assert_eq!(host.steps(), [] as [u64; 0], "nothing new is done");
        }
    }
}
