//! Calls, timers, and waiting for them.

use super::*;

#[test]
fn every_form_of_the_helpers() {
    value("return (await tools.search('add')).length", json!(1));
    value(
        "return (await tools.search({ query: 'add', limit: 2 })).length",
        json!(1),
    );
    value(
        "const h = await tools.search('x', { limit: 3 }); return (await tools.describe(h[0])).id",
        json!("t:add"),
    );
    value(
        "return (await tools.call({ id: 'add', args: { a: 1, b: 1 } })).sum",
        json!(2),
    );
    value("return await tools.callValue('text')", json!("plain words"));
    value(
        "return await tools.callValue('json')",
        json!({ "items": [1, 2] }),
    );
    value("return (await tools.call('json')).items.length", json!(2));
    value(
        "const r = await tools.call('text', {}); return r.text ?? r.content?.[0]?.text",
        json!("plain words"),
    );
    value(
        "return Object.keys(await tools.call('add', {}))",
        json!(["tool", "result"]),
    );
    value(
        "return (await servers.github.create_issue({ a: 1, b: 2 })).sum",
        json!(3),
    );
    value(
        "try { await tools.callValue('bad') } catch (e) { return [e.name, e.message, e.code] }",
        json!(["ToolError", "E42", "tool_error"]),
    );
    value(
        "try { await tools.call('denied') } catch (e) { return [e.name, e.message, e.code] }",
        json!(["PolicyDeniedError", "not allowed", "policy_denied"]),
    );
    value(
        "return [await tools.call(5).catch(e => e.message.includes('tools.call(id')), typeof tools.nope]",
        json!([true, "undefined"]),
    );
    let (_, seen) = run_with(
        "await tools.search('q', { limit: 2 }); await servers.a.b(); await tools.call('x', { n: 9007199254740993n })",
        &Limits::default(),
        false,
    );
    assert_eq!(
        seen.calls,
        [
            ("search".into(), json!({ "limit": 2, "query": "q" })),
            ("call".into(), json!({ "id": "a:b", "args": {} })),
            (
                "call".into(),
                json!({ "id": "x", "args": { "n": 9_007_199_254_740_993_u64 } })
            ),
        ]
    );
}

#[test]
fn failures_of_calls() {
    fails(
        "await tools.call('fail');",
        ErrorCode::ToolError,
        &["disk full", "line 1"],
    );
    let lost = fails(
        "\ntools.call('fail', { msg: 1 });\nreturn 'CLAIMED_SUCCESS';",
        ErrorCode::ToolError,
        &["disk full", "await"],
    );
    assert_eq!(lost.line, Some(2));
    fails(
        "(async () => { await tools.call('fail') })(); return 1",
        ErrorCode::ToolError,
        &["disk full"],
    );
    fails(
        "tools.call(); return 1",
        ErrorCode::GuestError,
        &["tools.call(id"],
    );
    fails(
        "await tools.call('denied')",
        ErrorCode::PolicyDenied,
        &["not allowed"],
    );
    value(
        "const r = await Promise.allSettled([tools.call('fail'), tools.call('add', {})]); return r.map(x => x.status)",
        json!(["rejected", "fulfilled"]),
    );
    value(
        "const p = tools.call('fail');\nawait tools.call('add', {});\ntry { await p; } catch (e) { return 'caught'; }",
        json!("caught"),
    );
    value(
        "await Promise.race([tools.call('add', {}), tools.call('fail')]); return 'won'",
        json!("won"),
    );
    value(
        "try { await Promise.all([tools.call('add', {}), tools.call('fail')]); } catch { return 'rejected' }",
        json!("rejected"),
    );
    let GuestOutcome::Value { hints, .. } =
        run("Promise.reject(new Error('late')); return 'returned'")
    else {
        panic!("no value")
    };
    assert!(hints[0].contains("late"), "{hints:?}");
}

#[test]
fn many_calls_are_queued_ordered_drained_and_counted() {
    let all = "const rs = await Promise.all(Array.from({ length: 100 }, (_, i) => tools.call('echo', { i }))); return rs.every((r, i) => r.i === i) ? rs.length : 'order'";
    for reverse in [false, true] {
        let (outcome, seen) = run_with(all, &Limits::default(), reverse);
        assert!(
            matches!(&outcome, GuestOutcome::Value { json, .. } if json == "100"),
            "{outcome:?}"
        );
        assert_eq!((seen.calls.len(), seen.most_open), (100, 16));
    }
    let (outcome, seen) = run_with(
        "for (let i = 0; i < 40; i++) tools.call('add', { i }); return 'x'",
        &Limits::default(),
        false,
    );
    assert!(matches!(outcome, GuestOutcome::Value { .. }));
    assert_eq!(seen.calls.len(), 40);
    for source in [
        "for (let i = 0; i < 300; i++) await tools.call('add', {});",
        "await Promise.all(Array.from({ length: 300 }, () => tools.call('add', {})))",
        "for (let i = 0; i < 300; i++) { try { await tools.call('add', {}) } catch {} } return 'survived'",
    ] {
        let (outcome, seen) = run_with(source, &Limits::default(), false);
        let GuestOutcome::Failed(error) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(error.code, ErrorCode::TooManyCalls);
        assert!(seen.calls.len() <= 256, "{}", seen.calls.len());
    }
}

#[test]
fn waiting_for_nothing_fails_at_once() {
    fails(
        "await new Promise(() => {})",
        ErrorCode::GuestError,
        &["never settle"],
    );
    fails(
        "return { then() {} }",
        ErrorCode::GuestError,
        &["never settle"],
    );
    fails(
        "await tools.call('add', {}); await new Promise(() => {})",
        ErrorCode::GuestError,
        &["never settle"],
    );
    fails(
        "const t = setTimeout(() => {}, 5); clearTimeout(t); await new Promise(() => {})",
        ErrorCode::GuestError,
        &["never settle"],
    );
}

#[test]
fn timers_wait_and_do_not_outlive() {
    value(
        "await new Promise(r => setTimeout(r, 20)); return 'slept'",
        json!("slept"),
    );
    value(
        "const t0 = Date.now(); await new Promise(r => setTimeout(r, 250)); return Date.now() - t0 >= 250",
        json!(true),
    );
    value(
        "setTimeout(() => { throw new Error('late') }, 5); return 1",
        json!(1),
    );
    fails(
        "for (let i = 0; i < 5000; i++) setTimeout(() => {}, 1)",
        ErrorCode::GuestError,
        &["1024 timers"],
    );
    fails(
        "setTimeout('alert(1)', 1)",
        ErrorCode::GuestError,
        &["needs a function"],
    );
}
