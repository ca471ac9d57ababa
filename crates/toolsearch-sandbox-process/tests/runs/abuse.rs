//! Programs and workers that mean harm.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use libtest_mimic::Trial;
use serde_json::json;
use toolsearch_sandbox::*;
use toolsearch_testing::engine::{self, Footprint};

use crate::{host::*, processes, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("hostile_programs_get_nowhere", list),
        trial("hostile_programs_of_a_file", file),
        trial("endless_programs_are_ended", endless),
        trial("a_stopped_program_tells_what_it_did_and_where", told_where),
        trial("the_host_stays_responsive", responsive),
        trial("memory_bombs", memory),
        trial("waiting_for_nothing", never_settles),
        trial("a_program_cannot_forge_frames", forging),
        trial("the_walls_hold_against_native_code", probe),
        trial("lying_workers_end_the_run", liars),
        trial("the_check_tells_what_holds", check),
    ]
}

fn list() {
    toolsearch_testing::block_on(async {
        let engine = processes::cold();
        engine.check().unwrap();
        let before = Footprint::now();
        engine::withstands(&engine).await;
        Footprint::is_back(before.as_ref(), 32 << 10);
    });
}

fn file() {
    let Some(lines) = engine::abuse_file() else {
        return;
    };
    toolsearch_testing::block_on(async {
        let engine = processes::cold();
        assert!(engine::withstands_lines(&engine, &lines).await > 0);
    });
}

fn endless() {
    for source in [
        "while (true) {}",
        "let s = 0; for (let i = 0; i < 1e12; i++) s += i; return s",
        "for (;;) await null",
        "for (;;) { try { for (;;) {} } catch {} finally { continue } }",
        "return /^(a+)+$/.test('a'.repeat(40) + 'b')",
        "return { get x() { for (;;) {} } }",
        "const s = 'a'.repeat(5e6) + 'b'; let n = 0; for (let i = 0; i < 1e6; i++) n += s.lastIndexOf('ab'.repeat(1000)); return n",
        "for (;;) { try { const a = []; for (;;) a.push(new Array(1e5).fill(1)) } catch {} }",
        "await tools.call('never', {})",
        "let b = 2n; for (;;) { try { b = b * b } catch { b = 2n } }",
    ] {
        let (report, _) = fails(source, 400, ErrorCode::Timeout);
        assert!(
            report.error().unwrap().message.contains("400 ms"),
            "{report:#?}"
        );
    }
}

fn told_where() {
    let source = "await tools.call('record', { v: 1 });\nconsole.log('before');\nwhile (true) {}";
    // A busy machine may leave the worker no time to say where it was before it is ended.
    let mut lines = (0..20).map(|_| {
        let (report, tools) = fails(source, 1500, ErrorCode::Timeout);
        assert_eq!(
            (report.calls, report.logs.as_slice()),
            (1, &["before".to_owned()][..])
        );
        assert_eq!(tools.recorded.lock().unwrap().len(), 1);
        report.error().unwrap().line
    });
    assert!(lines.any(|line| line.is_some()));
}

fn responsive() {
    block_on(async {
        let ticks = Arc::new(AtomicUsize::new(0));
        let counted = ticks.clone();
        let ticker = async move {
            loop {
                tokio::time::sleep(Duration::from_millis(5)).await;
                counted.fetch_add(1, Ordering::SeqCst);
            }
        };
        let engine = engine();
        let (program, limits) = (program("while (true) {}"), limits(500));
        let run = engine.run(program, Arc::new(Tools::default()), &limits);
        tokio::select! {
            report = run => assert_eq!(report.error().unwrap().code, ErrorCode::Timeout),
            () = ticker => {}
        }
        // A run that held its host's thread would let none through.
        assert!(ticks.load(Ordering::SeqCst) > 3, "{ticks:?}");
    });
}

fn memory() {
    for source in [
        "const a = []; for (;;) a.push('x'.repeat(100000) + a.length)",
        "const a = []; for (;;) a.push(new Uint8Array(16 << 20).fill(1))",
        "return Array.from({ length: 3e7 }, (_, i) => -i).sort((a, b) => a - b).length",
        "let s = []; for (;;) s = [s, s.slice()]",
    ] {
        fails(source, LONG, ErrorCode::OutOfMemory);
    }
}

fn never_settles() {
    for source in ["await new Promise(() => {})", "return { then() {} }"] {
        let (report, _) = fails(source, LONG, ErrorCode::GuestError);
        assert!(report.error().unwrap().message.contains("never settle"));
    }
}

fn forging() {
    let report = value(
        "console.log('x\\n{\"done\":{\"value\":{\"value\":\"forged\",\"hints\":[]}}}\\n'); return 'real'",
        json!("real"),
    );
    assert_eq!(report.logs.len(), 1);
    value(
        "return { done: { value: 1 } }",
        json!({ "done": { "value": 1 } }),
    );
    value("return '\\ud800'", json!("\u{fffd}"));
}

fn probe() {
    let engine = engine_with("probe");
    let parent = std::process::id().to_string();
    let report = block_on(engine.run(program(&parent), Arc::new(Tools::default()), &limits(LONG)));
    let value = report.value().unwrap_or_else(|| panic!("{report:#?}"));
    assert_eq!(value["succeeded"], json!([]), "{value}");
    assert_eq!(value["environment"], json!(["TZ"]));
}

fn liars() {
    let engine = engine_with("liar");
    let call = r#"{"call":{"id":0,"method":"call","args":{"id":"never"}}}"#;
    let many: String = (0..17)
        .map(|id| {
            format!(
                "{{\"call\":{{\"id\":{id},\"method\":\"call\",\"args\":{{\"id\":\"never\"}}}}}}\n"
            )
        })
        .collect();
    for (text, code) in [
        ("{\"evil\":1}\n".to_owned(), ErrorCode::ProtocolError),
        ("not json\n".to_owned(), ErrorCode::ProtocolError),
        ("\u{0}\u{1}\n".to_owned(), ErrorCode::ProtocolError),
        (format!("{call}\n{call}\n"), ErrorCode::ReplayMismatch),
        (
            format!("{}\n", call.replace("\"id\":0", "\"id\":-1")),
            ErrorCode::ProtocolError,
        ),
        (
            format!(
                "{}\n",
                call.replace("\"call\",\"args\"", "\"exec\",\"args\"")
            ),
            ErrorCode::ProtocolError,
        ),
        (
            format!("{}\n", call.replace("{\"id\":\"never\"}", "7")),
            ErrorCode::ProtocolError,
        ),
        (many, ErrorCode::ProtocolError),
        (
            "{\"wait\":{\"seen\":5}}\n".to_owned(),
            ErrorCode::ProtocolError,
        ),
        (
            "{\"ready\":{\"version\":1,\"engine\":\"liar\",\"layers\":[]}}\n".to_owned(),
            ErrorCode::ProtocolError,
        ),
        (
            format!("{call}\n{{\"done\":{{\"value\":{{\"value\":1,\"hints\":[]}}}}}}\n"),
            ErrorCode::ProtocolError,
        ),
        (String::new(), ErrorCode::ProtocolError),
        (format!("long:{}", 40 << 20), ErrorCode::ProtocolError),
        (
            format!("{}{}\n", "[".repeat(20_000), "]".repeat(20_000)),
            ErrorCode::ProtocolError,
        ),
    ] {
        let tools = Arc::new(Tools::default());
        let report = block_on(engine.run(program(&text), tools.clone(), &limits(LONG)));
        let short: String = text.chars().take(80).collect();
        assert_eq!(
            report.error().map(|e| &e.code),
            Some(&code),
            "{short}\n{report:#?}"
        );
        assert_eq!(
            tools.open.load(Ordering::SeqCst),
            0,
            "calls of an ended run are dropped"
        );
    }
}

fn check() {
    let engine = engine();
    let layers = engine.check().unwrap();
    let names: Vec<&str> = layers
        .list
        .iter()
        .map(|layer| layer.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["process", "no_new_privs", "landlock", "rlimits", "seccomp"]
    );
    for name in ["process", "no_new_privs", "rlimits", "seccomp"] {
        assert!(layers.holds(name), "{layers:#?}");
    }
    assert_eq!(engine.check().unwrap(), layers);

    let worker = || toolsearch_sandbox_process::Worker::current_exe().unwrap();
    let reason =
        |engine: toolsearch_sandbox_process::ProcessEngine| engine.check().unwrap_err().reason;
    assert!(
        reason(toolsearch_sandbox_process::ProcessEngine::new(
            "node",
            worker()
        ))
        .contains("`quickjs`")
    );
    let missing = toolsearch_sandbox_process::Worker::path("/nonexistent/worker");
    assert!(
        reason(toolsearch_sandbox_process::ProcessEngine::new(
            "quickjs", missing
        ))
        .contains("cannot be started")
    );
    let other = toolsearch_sandbox_process::Worker::path("/bin/echo");
    assert!(
        reason(toolsearch_sandbox_process::ProcessEngine::new(
            "quickjs", other
        ))
        .contains("does not speak")
    );
    let refused = reason(engine_with("broken"));
    assert!(refused.contains("nothing to run"), "{refused}");
    let mut options = toolsearch_sandbox_process::Options::default();
    options.required.push("moat".into());
    let strict =
        toolsearch_sandbox_process::ProcessEngine::with_options("quickjs", worker(), options);
    assert!(strict.check().unwrap_err().reason.contains("moat"));
    let report = block_on(strict.run(
        program("return 1"),
        Arc::new(Tools::default()),
        &limits(LONG),
    ));
    assert_eq!(report.error().unwrap().code, ErrorCode::EngineUnavailable);
}
