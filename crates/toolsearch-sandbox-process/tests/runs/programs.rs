//! Programs that behave, and the limits of those that do not mean harm.

use std::sync::Arc;

use libtest_mimic::Trial;
use serde_json::json;
use toolsearch_sandbox::*;

use crate::{host::*, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("three_lines", three_lines),
        trial("parallel_calls_keep_their_order", parallel_calls),
        trial("failing_calls", failing_calls),
        trial("many_calls", many_calls),
        trial("large_values_pass_through", large_values),
        trial("logs_value_and_error_share_a_budget", output_budget),
        trial("waiting_for_a_person_is_free", approval),
        trial(
            "a_busy_program_pays_while_a_person_is_asked",
            busy_during_approval,
        ),
        trial("timers", timers),
        trial("sources", sources),
        trial("one_engine_many_runs", many_runs),
        Trial::test("cost", || {
            cost();
            Ok(())
        })
        .with_ignored_flag(true),
    ]
}

const THREE_LINES: &str = "const hits = await openclaw.tools.search('add two numbers');
const tool = await openclaw.tools.describe(hits[0].id);
return await openclaw.tools.call(tool.id, { a: 20, b: 22 });";

fn three_lines() {
    let report = value(
        THREE_LINES,
        json!({ "tool": { "id": "t" }, "result": { "structuredContent": { "sum": 42 } } }),
    );
    assert_eq!((report.calls, report.engine.as_str()), (3, "quickjs"));
    assert!(!report.duration.is_zero());
    assert!(!report.truncated.any());
}

fn parallel_calls() {
    let source = "const rs = await Promise.all(Array.from({ length: 100 }, (_, i) => tools.call('slow', { ms: 50, tag: String(i) })));
        return rs.map(r => Number(r.tag)).every((t, i) => t === i) ? rs.length : 'order'";
    let (report, tools) = run(source, LONG);
    assert_eq!(report.value(), Some(&json!(100)), "{report:#?}");
    let most = tools.most_open.load(std::sync::atomic::Ordering::SeqCst);
    assert!((2..=16).contains(&most), "{most} at once");
}

fn failing_calls() {
    let (report, _) = fails(
        "tools.call('fail', { msg: 'disk full' });\nreturn 'CLAIMED_SUCCESS';",
        LONG,
        ErrorCode::ToolError,
    );
    assert!(report.error().unwrap().to_string().contains("disk full"));
    let (report, _) = fails(
        "const x = 1;\nawait tools.call('denied', {});",
        LONG,
        ErrorCode::PolicyDenied,
    );
    assert_eq!(report.error().unwrap().line, Some(2));
    value(
        "try { await tools.call('denied') } catch (e) { return [e.name, e.code, e.message] }",
        json!(["PolicyDeniedError", "policy_denied", "not allowed"]),
    );
    let source = "try { await Promise.all([tools.call('slow', { ms: 30, tag: 'a' }), tools.call('fail', { msg: 'third' }), tools.call('record', { v: 'r' })]); } catch { return 'rejected' }";
    let (report, tools) = run(source, LONG);
    assert_eq!(report.value(), Some(&json!("rejected")));
    assert_eq!(*tools.recorded.lock().unwrap(), [json!("r")]);
    assert_eq!(
        tools.dropped.load(std::sync::atomic::Ordering::SeqCst),
        0,
        "started calls are drained"
    );
}

fn many_calls() {
    let source = "for (let i = 0; i < 300; i++) await tools.call('record', { v: i });";
    let (report, tools) = fails(source, LONG, ErrorCode::TooManyCalls);
    assert_eq!(tools.recorded.lock().unwrap().len(), 256, "{report:#?}");
    fails(
        "await Promise.all(Array.from({ length: 300 }, () => tools.call('add', {})))",
        LONG,
        ErrorCode::TooManyCalls,
    );
    fails(
        "for (let i = 0; i < 100000; i++) tools.call('add', { i }); return 'x'",
        LONG,
        ErrorCode::TooManyCalls,
    );
}

fn large_values() {
    value(
        "const p = await tools.callValue('page', { bytes: 300_000 }); p.text += '!'; const r = await tools.callValue('echo', p); return r.text.length",
        json!(300_001),
    );
    value(
        "return (await tools.callValue('page', { bytes: 10_000_000 })).text.length",
        json!(10_000_000),
    );
    let (report, _) = fails(
        "return (await tools.callValue('page', { bytes: 20_000_000 })).text.length",
        LONG,
        ErrorCode::ToolError,
    );
    assert!(
        report.error().unwrap().message.contains("16777216"),
        "{report:#?}"
    );
    let (report, _) = fails(
        "await tools.call('echo', { x: 'y'.repeat(17_000_000) })",
        LONG,
        ErrorCode::GuestError,
    );
    assert!(
        report.error().unwrap().message.contains("larger than"),
        "{report:#?}"
    );
}

fn output_budget() {
    let (report, tools) = run(
        "for (let i = 0; i < 100000; i++) console.log('line', i); return 'value-kept'",
        LONG,
    );
    assert_eq!(report.value(), Some(&json!("value-kept")), "{report:#?}");
    assert!(report.truncated.logs && !report.truncated.value);
    assert_eq!(report.logs[0], "line 0");
    assert_eq!(report.logs.last().unwrap(), "line 99999");
    assert_eq!(
        report
            .logs
            .iter()
            .filter(|line| line.contains("truncated"))
            .count(),
        1
    );
    let bytes: usize = report.logs.iter().map(|line| line.len() + 1).sum();
    assert!(bytes <= (64 << 10) + 64, "{bytes}");
    let streamed = tools.logged.lock().unwrap();
    assert_eq!(streamed[0], "line 0");

    let (report, _) = run("console.log('lost'); return 'x'.repeat(5_000_000)", LONG);
    assert!(report.truncated.value);
    let shown = report.value().unwrap().to_string();
    assert!(
        shown.len() <= 64 << 10 && shown.contains("truncated"),
        "{}",
        shown.len()
    );
    assert!(report.hints.iter().any(|hint| hint.contains("cut")));

    let (report, _) = fails(
        "throw new Error('start ' + 'y'.repeat(5_000_000))",
        LONG,
        ErrorCode::GuestError,
    );
    let error = report.error().unwrap();
    assert!(error.message.starts_with("start") && error.message.len() <= 4096);
    assert!(report.truncated.error);
}

fn approval() {
    let (report, _) = run(
        "await tools.call('approval', { ms: 2000 }); return 'ok'",
        1500,
    );
    assert_eq!(report.value(), Some(&json!("ok")), "{report:#?}");
    assert!(!report.paused.is_zero(), "{report:#?}");
    fails(
        "await tools.call('slow', { ms: 5000, tag: 1 })",
        300,
        ErrorCode::Timeout,
    );
}

fn busy_during_approval() {
    let source = "tools.call('approval', { ms: 5000 }); while (true) {}";
    let (report, _) = fails(source, 300, ErrorCode::Timeout);
    assert!(report.paused.is_zero(), "{report:#?}");
}

fn timers() {
    value(
        "await new Promise(r => setTimeout(r, 20)); return 'slept'",
        json!("slept"),
    );
    value(
        "const t = Date.now(); await new Promise(r => setTimeout(r, 60)); return Date.now() - t >= 59",
        json!(true),
    );
    // Timers do not outlive the program: this one would outlive its time.
    value(
        "setTimeout(() => console.log('late'), 86400000); return 1",
        json!(1),
    );
}

fn sources() {
    value(
        "```js\nreturn (await tools.call('add', { a: 2, b: 3 })).sum;\n```",
        json!(5),
    );
    let (report, _) = fails(
        "const a = 1;\nconst b = ;\nreturn b",
        LONG,
        ErrorCode::SyntaxError,
    );
    assert_eq!(report.error().unwrap().line, Some(2));
    let (report, _) = run(&"x".repeat(70_000), LONG);
    assert_eq!(report.error().unwrap().code, ErrorCode::SourceTooLarge);
    let (report, _) = run("return undefined", LONG);
    assert_eq!(report.status, RunStatus::Completed(RunValue::Nothing));
    assert!(report.hints[0].contains("no value returned"));
}

fn many_runs() {
    let engine = engine();
    let tools: Arc<Tools> = Arc::default();
    // The warm worker of one runtime serves the next one.
    for round in 0..3 {
        block_on(async {
            let runs = (0..8).map(|n| {
                let source = format!("globalThis.seen = (globalThis.seen ?? 0) + 1; return [seen, {n} + (await tools.callValue('add', {{ a: {round}, b: 0 }})).sum]");
                let (engine, tools) = (&engine, tools.clone());
                async move { engine.run(program(&source), tools, &limits(LONG)).await }
            });
            for (n, report) in futures::future::join_all(runs)
                .await
                .into_iter()
                .enumerate()
            {
                assert_eq!(report.value(), Some(&json!([1, n + round])), "{report:#?}");
            }
        });
    }
}

/// Prints medians; asked for by name.
#[expect(clippy::print_stderr, reason = "it is there to print")]
fn cost() {
    let tools: Arc<Tools> = Arc::default();
    let median = |mut times: Vec<u128>| {
        times.sort_unstable();
        times[times.len() / 2]
    };
    let limits = limits(LONG);
    block_on(async {
        let cold: Vec<u128> = {
            let mut times = Vec::new();
            for _ in 0..40 {
                let engine = engine();
                let report = engine
                    .run(program(THREE_LINES), tools.clone(), &limits)
                    .await;
                assert!(report.is_completed());
                times.push(report.duration.as_micros());
            }
            times
        };
        let engine = engine();
        engine.check().unwrap();
        let mut warm = Vec::new();
        for _ in 0..40 {
            tokio::time::sleep(std::time::Duration::from_millis(30)).await;
            let report = engine
                .run(program(THREE_LINES), tools.clone(), &limits)
                .await;
            warm.push(report.duration.as_micros());
        }
        eprintln!(
            "three calls: cold {} µs, warm {} µs (medians)",
            median(cold),
            median(warm)
        );
    });
}
