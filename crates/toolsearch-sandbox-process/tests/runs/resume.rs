//! Runs that stop for a person or a client and go on later, in another process.

use std::sync::Arc;

use libtest_mimic::Trial;
use serde_json::{Value, json};
use toolsearch_sandbox::*;

use crate::{host::*, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("side_effects_happen_once", once),
        trial("several_waits_are_answered_one_by_one", several),
        trial("a_denied_wait_can_be_caught", denied),
        trial("another_program_does_not_fit_the_journal", mismatch),
        trial("order_clock_and_randomness_repeat", repeats),
    ]
}

fn step(source: &str, journal: Journal, tools: &Arc<Tools>) -> RunReport {
    // Through text, as if stored.
    let text = serde_json::to_string(&journal).unwrap();
    let journal = serde_json::from_str(&text).unwrap();
    block_on(engine().run(
        program(source).resumed(journal),
        tools.clone(),
        &limits(LONG),
    ))
}

#[track_caller]
fn suspended(report: RunReport) -> Journal {
    match report.status {
        RunStatus::Suspended { journal } => journal,
        other => panic!("{other:#?}"),
    }
}

fn answer(value: Value) -> Result<Value, HostError> {
    Ok(json!({ "tool": { "id": "ask" }, "result": { "structuredContent": value } }))
}

fn once() {
    let source = "await tools.call('record', { v: 'before' });
        console.log('asking');
        const yes = await tools.callValue('ask', { n: 1 });
        await tools.call('record', { v: yes.word });
        return yes.word";
    let tools: Arc<Tools> = Arc::default();
    let first = step(source, Journal::default(), &tools);
    assert_eq!(
        (first.calls, first.logs.as_slice()),
        (2, &["asking".to_owned()][..])
    );
    let mut journal = suspended(first);
    assert_eq!(journal.pending()[0].handle, "ask-1");
    assert_eq!(
        journal.pending()[0].args,
        json!({ "id": "ask", "args": { "n": 1 } })
    );
    // Without an answer nothing new happens.
    assert_eq!(suspended(step(source, journal.clone(), &tools)), journal);
    journal
        .answer("ask-1", answer(json!({ "word": "after" })))
        .unwrap();
    let last = step(source, journal, &tools);
    assert_eq!(last.value(), Some(&json!("after")), "{last:#?}");
    assert_eq!(
        *tools.recorded.lock().unwrap(),
        [json!("before"), json!("after")]
    );
}

fn several() {
    let source = "const [a, b, c] = await Promise.all([
            tools.callValue('ask', { n: 1 }), tools.callValue('slow', { ms: 30, tag: 'x' }), tools.callValue('ask', { n: 2 })]);
        await tools.call('record', { v: [a, b.tag, c] });
        return [a, b.tag, c]";
    let tools: Arc<Tools> = Arc::default();
    let mut journal = suspended(step(source, Journal::default(), &tools));
    let handles: Vec<&str> = journal
        .pending()
        .iter()
        .map(|call| call.handle.as_str())
        .collect();
    assert_eq!(handles, ["ask-1", "ask-2"]);
    assert_eq!(
        journal.entries().len(),
        1,
        "what was under way is finished first"
    );
    journal.answer("ask-2", answer(json!("two"))).unwrap();
    let mut journal = suspended(step(source, journal, &tools));
    assert_eq!(journal.pending().len(), 1);
    journal.answer("ask-1", answer(json!("one"))).unwrap();
    let last = step(source, journal, &tools);
    assert_eq!(last.value(), Some(&json!(["one", "x", "two"])), "{last:#?}");
    assert_eq!(tools.recorded.lock().unwrap().len(), 1);
}

fn denied() {
    let source = "try { await tools.call('ask', { n: 1 }) } catch (e) { return e.code }";
    let tools: Arc<Tools> = Arc::default();
    let mut journal = suspended(step(source, Journal::default(), &tools));
    let no = HostError::new(ErrorCode::ApprovalDenied, "nobody answered");
    journal.answer("ask-1", Err(no)).unwrap();
    assert_eq!(
        step(source, journal, &tools).value(),
        Some(&json!("approval_denied"))
    );
}

fn mismatch() {
    let source =
        "await tools.call('record', { v: 1 }); await tools.call('ask', { n: 1 }); return 1";
    let tools: Arc<Tools> = Arc::default();
    let mut journal = suspended(step(source, Journal::default(), &tools));
    journal.answer("ask-1", answer(json!(1))).unwrap();
    for other in [
        "await tools.call('record', { v: 2 }); return 1",
        "await tools.search('x'); return 1",
        "return 1",
        "await new Promise(r => setTimeout(r, 1)); return 1",
    ] {
        let report = step(other, journal.clone(), &tools);
        let code = report.error().map(|error| &error.code);
        assert_eq!(
            code,
            Some(&ErrorCode::ReplayMismatch),
            "{other}\n{report:#?}"
        );
    }
    assert_eq!(tools.recorded.lock().unwrap().len(), 1);
}

fn repeats() {
    let source = "const trace = [];
        const note = (name) => trace.push([name, Math.random(), Date.now()]);
        await Promise.all([
            tools.call('slow', { ms: 400, tag: 1 }).then(() => note('slow')),
            tools.call('slow', { ms: 5, tag: 2 }).then(() => note('quick')),
            new Promise(r => setTimeout(r, 150)).then(() => note('timer')),
        ]);
        console.log(trace);
        await tools.call('ask', { n: 1 });
        return trace";
    let tools: Arc<Tools> = Arc::default();
    let first = step(source, Journal::default(), &tools);
    let seen: Value = serde_json::from_str(&first.logs[0]).unwrap();
    assert_eq!(seen.as_array().map(Vec::len), Some(3));
    assert_ne!(seen[0][0], "slow", "not in the order of the program");
    let mut journal = suspended(first);
    journal.answer("ask-1", answer(json!(1))).unwrap();
    let last = step(source, journal, &tools);
    assert_eq!(last.value(), Some(&seen), "{last:#?}");
}
