//! Time, output, and a person who is asked.

use std::time::Duration;

use serde_json::json;

use super::world::World;

/// COD-15: programs without end.
#[test]
fn endless_programs_are_stopped_and_what_they_did_is_told() {
    let world = World::with_options(|options| options.code.wall = Duration::from_millis(800));
    let code = "await tools.call('keep', { value: 1 });\nconsole.log('so far');\nwhile (true) {}";
    let ran = world.run(code);
    assert_eq!(ran.answer["error"]["code"], "timeout", "{:#}", ran.answer);
    assert!(
        ran.answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("800 ms")
    );
    assert_eq!(ran.answer["logs"], json!(["so far"]));
    assert_eq!(ran.answer["calls"][0]["id"], "native:kit:keep");
    assert_eq!(world.kept(), [json!(1)]);
    let busy = world.error("let sum = 0;\nfor (let n = 0; n < 1e12; n++) sum += n;\nreturn sum;");
    assert_eq!(busy["code"], "timeout");
    assert_eq!(world.value("return 'still there';"), "still there");
}

/// COD-22: one budget for everything.
#[test]
fn output_is_cut_once_and_says_so() {
    let world = World::with_options(|options| {
        options.code.output_bytes = 20_000;
    });
    let logs = world.run("for (let i = 0; i < 20000; i++) console.log('row', i);\nreturn 'kept';");
    assert_eq!(logs.answer["value"], "kept");
    assert_eq!(logs.answer["logs"][0], "row 0");
    assert!(logs.answer["logs"].to_string().contains("row 19999"));
    assert!(
        logs.answer.to_string().contains("truncated") && logs.bytes < 60_000,
        "{}",
        logs.bytes
    );
    let value = world.run("return 'v'.repeat(5e6);");
    assert!(
        value.answer.to_string().contains("truncated") && value.bytes < 24_000,
        "{}",
        value.bytes
    );
    let thrown = world.run("throw new Error('because ' + 'y'.repeat(5e6));");
    assert!(
        thrown.answer["error"]["message"]
            .as_str()
            .unwrap()
            .contains("because")
    );
    assert!(thrown.bytes < 24_000, "{}", thrown.bytes);
    let kinds = world.run("console.error('bad'); console.warn('odd'); console.info({ a: [1] }); console.debug(null, 2n); return 1;");
    assert_eq!(
        kinds.answer["logs"],
        json!(["bad", "odd", "{\"a\":[1]}", "null \"2\""])
    );
}

/// COD-23: waiting for a person is no running time.
#[test]
fn consent_takes_its_own_time() {
    let slow = World::asking(Some(Duration::from_millis(2500)), |options| {
        options.code.wall = Duration::from_secs(2);
    });
    assert_eq!(
        slow.value("await tools.call('sign', {}); return 'signed';"),
        "signed"
    );
    let never = World::asking(None, |options| {
        options.approval_timeout = Duration::from_millis(400);
    });
    let caught = "try { await tools.call('sign', {}); } catch (e) { return e.code; }";
    assert_eq!(never.value(caught), "approval_denied");
    let error = never.error("await tools.call('sign', {}); return 'signed';");
    assert_eq!(error["code"], "approval_denied");
}
