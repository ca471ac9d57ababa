//! Programs, and what comes of them.

use std::{sync::Arc, time::Duration};

use libtest_mimic::Trial;
use serde_json::json;
use toolsearch_sandbox::{Engine, HostReply, Limits, Program, RunReport};
use toolsearch_testing::engine::{self as suite, RecordingHost};

use crate::{engine, trial};

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("the_check_tells_what_holds", check),
        trial("forms_of_a_program", forms),
        trial("errors_name_the_line_and_the_way_out", errors),
        trial("hostile_programs_get_nowhere", list),
        trial("hostile_programs_of_a_file", file),
    ]
}

fn check() {
    let layers = engine().check().unwrap();
    let names: Vec<&str> = layers
        .list
        .iter()
        .map(|layer| layer.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "process",
            "no_new_privs",
            "landlock",
            "rlimits",
            "seccomp",
            "permission"
        ]
    );
    assert!(
        layers.list.iter().all(|layer| layers.holds(&layer.name)),
        "{layers:#?}"
    );
}

fn list() {
    toolsearch_testing::block_on(async {
        let engine = engine();
        engine.check().unwrap();
        let before = suite::Footprint::now();
        suite::withstands(&engine).await;
        suite::Footprint::is_back(before.as_ref(), 32 << 10);
    });
}

fn file() {
    let Some(lines) = suite::abuse_file() else {
        return;
    };
    toolsearch_testing::block_on(async {
        assert!(suite::withstands_lines(&engine(), &lines).await > 0);
    });
}

fn run(engine: &impl Engine, source: &str) -> RunReport {
    let host = Arc::new(RecordingHost::new(|_, args| {
        let result = json!({ "content": [], "structuredContent": args["args"] });
        HostReply::Value(json!({ "tool": { "id": "echo" }, "result": result }))
    }));
    let program = Program::new(source, 7, 1_700_000_000_000);
    let limits = Limits::default().with_wall(Duration::from_secs(30));
    toolsearch_testing::block_on(engine.run(program, host, &limits))
}

fn forms() {
    let engine = engine();
    for (source, value) in [
        ("async () => 5", json!(5)),
        ("export default async () => 5;", json!(5)),
        ("async function main() { return 5 }", json!(5)),
        (
            "(async () => (await tools.callValue('echo', { n: 5 })).n)();",
            json!(5),
        ),
        (
            "```js\nconst r = await (tools.callValue('echo', { n: 5 })); return r.n;\n```",
            json!(5),
        ),
        ("const a = 2; a + 3", json!(5)),
        (
            "const tools = openclaw.tools; return typeof tools.call;",
            json!("function"),
        ),
        (
            "await new Promise((go) => setTimeout(go, 5)); return new Date().getUTCFullYear();",
            json!(2023),
        ),
        (
            "queueMicrotask(() => { globalThis.ran = 1 }); await null; return ran;",
            json!(1),
        ),
    ] {
        let report = run(&engine, source);
        assert_eq!(report.value(), Some(&value), "{source}\n{report:#?}");
    }
    let nothing = run(
        &engine,
        "const n = await tools.callValue('echo', { n: 1 }); n.n",
    );
    assert!(
        nothing.is_completed() && nothing.hints[0].contains("return"),
        "{nothing:#?}"
    );
}

fn errors() {
    let engine = engine();
    for (source, line, words) in [
        ("const a = 1;\nreturn (((", 2, "not closed"),
        ("const a = 1;\nconst b = ;", 2, "SyntaxError"),
        ("const a = 1;\n\nnull.x;", 3, "TypeError"),
        ("return 1 + fetch('x');", 1, "tools.search"),
        ("import fs from 'fs';", 1, "import"),
        ("const n: number = 4;", 1, "TypeScript"),
        ("await tools.call('echo', { f: [() => 1] });", 1, "function"),
    ] {
        let report = run(&engine, source);
        let error = report
            .error()
            .unwrap_or_else(|| panic!("{source}\n{report:#?}"));
        assert_eq!(error.line, Some(line), "{source}\n{error:?}");
        assert!(error.to_string().contains(words), "{source}\n{error}");
    }
}
