//! Programs, run by a small scripted engine that speaks the engine contract: what it asks of the
//! host goes through the same dispatch. Real JavaScript is tested where the engine is linked.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolsearch_mode_code::CodeMode;
use toolsearch_sandbox::{
    Engine, Host, HostReply, Issue, Layers, Ledger, Limits, Program, RunError, RunReport,
    RunStatus, RunValue, Unsupported,
};
use toolsearch_telemetry::Event;

use super::fixtures::{Office, call, office, rules};
use crate::{ModelCall, Reply};

/// Runs a "program" that is a JSON list of `[method, args]`, one after the other, and returns what
/// the last one gave. Keeps a journal, so that it can wait and go on.
#[derive(Debug)]
pub(super) struct Script;

#[async_trait]
impl Engine for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn check(&self) -> Result<Layers, Unsupported> {
        Ok(Layers::default())
    }

    async fn run(&self, program: Program, host: Arc<dyn Host>, limits: &Limits) -> RunReport {
        let steps: Vec<(String, Value)> = serde_json::from_str(&program.source).expect("a script");
        let mut books = Ledger::new(program.journal, limits).expect("a journal of this script");
        let mut last = Value::Null;
        for (number, (method, args)) in (0_u32..).zip(steps) {
            let issue = books.issue(number, &method, args.clone());
            if issue.expect("the same script") == Issue::Ask {
                match host.call(&method, args).await {
                    HostReply::Value(value) => books.answer(number, 0, Ok(value)),
                    HostReply::Error(error) => books.answer(number, 0, Err(error)),
                    HostReply::Suspend { handle } => books.suspend(number, handle),
                    _ => panic!("the host says what no script understands"),
                }
            }
            let Some(entry) = books.next_answer() else {
                let journal = books.into_journal();
                return RunReport::new("script", RunStatus::Suspended { journal });
            };
            match Result::from(entry.answer) {
                Ok(value) => last = value,
                Err(error) => {
                    return RunReport::failed("script", RunError::new(error.code, error.message));
                }
            }
        }
        RunReport::new("script", RunStatus::Completed(RunValue::Json(last)))
    }
}

fn scripted() -> Office {
    office(|parts, _| {
        parts.mode = Arc::new(CodeMode);
        parts.engine = Arc::new(Script);
        parts.policy = rules(None, &["delete_*"], &[]);
    })
}

async fn run(office: &Office, script: Value) -> Value {
    let session = office.open().await;
    assert_eq!(session.mode().name(), "code");
    let answer = call(
        &session,
        "tool_search_code",
        json!({"code": script.to_string()}),
    )
    .await;
    serde_json::from_str(&answer.joined_text()).expect("a JSON answer")
}

#[tokio::test]
async fn a_program_searches_describes_and_calls() {
    let office = scripted();
    let value = run(
        &office,
        json!([
            ["search", {"query": "create an issue", "limit": 3}],
            ["describe", {"id": "create_issue"}],
            ["call", {"id": "create_issue", "args": {"title": "t"}}],
        ]),
    )
    .await;
    assert_eq!(value["ok"], true);
    assert_eq!(value["value"]["tool"]["id"], "mcp:github:create_issue");
    assert_eq!(
        value["value"]["result"]["structuredContent"]["args"],
        json!({"title": "t"})
    );
    assert_eq!(
        value["calls"],
        json!([{"id": "mcp:github:create_issue", "source": "mcp", "ok": true}])
    );
    assert_eq!(value["telemetry"]["engine"], "script");

    let events: Vec<Event> = office
        .recorder
        .events()
        .into_iter()
        .map(|event| event.event)
        .collect();
    let parents = events.iter().filter_map(|event| match event {
        Event::Called(called) => called.parent.clone(),
        _ => None,
    });
    assert_eq!(
        parents.collect::<Vec<_>>(),
        ["c1"],
        "nested calls name their parent"
    );
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::Ran(ran) if ran.ok && ran.calls == 1))
    );
}

#[tokio::test]
async fn a_large_value_is_whole_inside_a_program() {
    let office = scripted();
    let value = run(&office, json!([["call", {"id": "large", "args": {}}]])).await;
    let text = value["value"]["result"]["content"][0]["text"]
        .as_str()
        .map(str::len);
    assert_eq!(text, Some(300_000));
}

#[tokio::test]
async fn failures_are_thrown_with_a_code_and_recorded() {
    for (step, code, part) in [
        (
            json!(["call", {"id": "fail", "args": {}}]),
            "tool_error",
            "E42",
        ),
        (
            json!(["call", {"id": "nope", "args": {}}]),
            "not_found",
            "tools.search(query)",
        ),
        (
            json!(["call", {"id": "delete_issue", "args": {}}]),
            "not_found",
            "No tool",
        ),
        (
            json!(["call", {"id": "create_issue", "args": {}}]),
            "invalid_arguments",
            "title",
        ),
        (json!(["find", {}]), "invalid_input", "tools.search(query)"),
        (json!(["search", {"query": 3}]), "invalid_input", "`query`"),
    ] {
        let office = scripted();
        let value = run(&office, json!([step.clone()])).await;
        assert_eq!(value["ok"], false, "{step}");
        assert_eq!(value["error"]["code"], code, "{step}: {value}");
        let message = value["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(part), "{message}");
    }
}

#[tokio::test]
async fn an_empty_search_leaves_advice_beside_the_value() {
    let value = run(&scripted(), json!([["search", {"query": "zzz qqq"}]])).await;
    assert_eq!(value["value"], json!([]));
    let note = value["notes"][0].as_str().unwrap_or_default();
    assert!(
        note.contains("zzz qqq") && note.contains("no such tool"),
        "{note}"
    );
}

#[tokio::test]
async fn programs_are_read_from_what_models_send() {
    let office = scripted();
    let session = office.open().await;
    let empty = session
        .handle(ModelCall::new("tool_search_code", json!({"code": " "})))
        .await;
    let Reply::Done(rendered) = empty else {
        panic!("nothing waits")
    };
    assert!(rendered.is_error && rendered.joined_text().contains("`code` is missing"));
}

#[tokio::test]
async fn a_program_says_whose_text_nobody_vouches_for() {
    let office = scripted();
    let untrusted = json!([
        ["call", {"id": "native:core:search", "args": {}}],
        ["call", {"id": "mcp:github:search", "args": {}}],
        ["call", {"id": "mcp:github:search", "args": {}}],
    ]);
    let report = run(&office, untrusted).await;
    assert_eq!(
        report["untrusted"],
        json!(["mcp:github:search"]),
        "{report}"
    );
    let trusted = json!([["call", {"id": "native:core:search", "args": {}}]]);
    assert_eq!(run(&office, trusted).await.get("untrusted"), None);
}
