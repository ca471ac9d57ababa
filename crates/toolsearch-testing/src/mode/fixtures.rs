//! What modes are fed with: control calls as models send them, and answers of every kind.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolsearch_catalog::{Catalog, Outcome, ToolId};
use toolsearch_mode::{
    CallNote, CallReply, CallRequest, Card, Failure, FailureCode, FoundTool, Group, OutageNote,
    Query, Request, Response, RunError, RunReply, SearchReply,
};

/// Every kind of failure.
pub const FAILURES: [FailureCode; 16] = [
    FailureCode::InvalidInput,
    FailureCode::NotFound,
    FailureCode::Ambiguous,
    FailureCode::InvalidArguments,
    FailureCode::PolicyDenied,
    FailureCode::ApprovalDenied,
    FailureCode::ApprovalRequired,
    FailureCode::DirectOnly,
    FailureCode::HiddenTool,
    FailureCode::Unavailable,
    FailureCode::Refused,
    FailureCode::Timeout,
    FailureCode::OutputMismatch,
    FailureCode::Loop,
    FailureCode::Cancelled,
    FailureCode::Internal,
];

/// One request of every kind.
#[must_use]
pub fn requests() -> Vec<Request> {
    let queries = vec![Query::new("create issue", 8), Query::new("", 1)];
    vec![
        Request::Search {
            queries: queries[..1].to_vec(),
            batch: false,
            explain: false,
        },
        Request::Search {
            queries,
            batch: true,
            explain: true,
        },
        Request::Describe(vec!["create_issue".to_owned()]),
        Request::Call(CallRequest::new("create_issue", Map::new())),
        Request::Run {
            code: "return 1".to_owned(),
        },
    ]
}

/// Answers of every kind about the tools of a catalog: many hits and none, descriptions, results,
/// programs, and every failure with and without its parts.
#[must_use]
pub fn responses(catalog: &Catalog) -> Vec<Response> {
    let mut responses = searches(catalog);
    let describe = |count: usize| {
        let tools = catalog.entries().iter().take(count);
        Response::Describe(
            tools
                .map(|tool| (Arc::clone(tool), Arc::new(Card::of(tool))))
                .collect(),
        )
    };
    responses.extend([0, 1, 5].map(describe));
    responses.extend(calls(catalog));
    responses.extend(runs(catalog));
    responses.extend(failures(catalog));
    responses
}

fn searches(catalog: &Catalog) -> Vec<Response> {
    let hits = |count: usize| -> Vec<FoundTool> {
        let tools = catalog.entries().iter().take(count);
        tools
            .map(|tool| {
                let mut found = FoundTool::new(Arc::new(Card::of(tool)));
                found.explain = Some(json!({"score": 1.5, "evidence": []}));
                found
            })
            .collect()
    };
    let reply = |groups: Vec<Group>| {
        let mut reply = SearchReply::default();
        reply.groups = groups;
        reply
    };
    let mut replies = vec![
        reply(Vec::new()),
        reply(vec![Group::new("one", hits(50))]),
        reply(vec![Group::new("x".repeat(20_000), hits(3))]),
        reply(
            (0..16)
                .map(|at| Group::new(format!("query {at}"), hits(3)))
                .collect(),
        ),
        reply(vec![
            Group::new("\u{0}\u{202e}\n", Vec::new()),
            Group::new("b", hits(2)),
        ]),
    ];
    replies.push(long_and_empty(catalog));
    for reason in [
        "no_terms",
        "no_match",
        "server_unavailable",
        "still_connecting",
    ] {
        let mut group = Group::new("nothing", Vec::new());
        group.reason = Some(reason);
        group.nearest = ids(catalog, 3);
        let mut empty = reply(vec![group]);
        empty
            .outages
            .push(OutageNote::new("git", "failed", "exited (3)"));
        empty.stop = (reason == "no_match").then(|| "Stop searching.".to_owned());
        replies.push(empty);
    }
    replies.into_iter().map(Response::Search).collect()
}

/// As many and as long queries as are taken, no hits, and every server in trouble.
fn long_and_empty(catalog: &Catalog) -> SearchReply {
    let mut reply = SearchReply::default();
    for at in 0..16 {
        let mut group = Group::new(format!("{at} {}", "ğ".repeat(250)), Vec::new());
        group.reason = Some("server_unavailable");
        group.nearest = ids(catalog, 3);
        reply.groups.push(group);
    }
    for at in 0..60 {
        let note = OutageNote::new(format!("server-{at}"), "failed", "r".repeat(200));
        reply.outages.push(note);
    }
    reply
}

fn calls(catalog: &Catalog) -> Vec<Response> {
    let image = json!({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}, {"type": "new"}]});
    let outcomes = [
        Outcome::default(),
        Outcome::text("done\u{0}\u{202e}"),
        Outcome::error("E42"),
        Outcome::structured(json!({"n": [1, {"": null}]})),
        Outcome::from_result_json(image),
        Outcome::from_result_json(json!(["odd"])),
        Outcome::from_result_json(
            json!({"content": [3, null], "structuredContent": 7, "isError": true, "_meta": {"a": 1}}),
        ),
    ];
    let tools = catalog.entries().iter().cycle();
    outcomes
        .into_iter()
        .zip(tools)
        .map(|(outcome, tool)| Response::Call(Box::new(CallReply::new(Arc::clone(tool), outcome))))
        .collect()
}

fn runs(catalog: &Catalog) -> Vec<Response> {
    let mut done = RunReply::default();
    done.value = json!({"n": 1});
    done.logs = vec!["line\u{1b}[31m".to_owned(), String::new()];
    done.calls = ids(catalog, 4)
        .into_iter()
        .map(|id| CallNote::new(id, true))
        .collect();
    done.truncated = true;
    done.notes = vec!["An empty list means that nothing fits.".to_owned()];
    done.telemetry = json!({"searches": 1});
    done.blocks = vec![json!({"type": "image", "data": "", "mimeType": "image/png"})];
    let mut failed = RunReply::default();
    let mut error = RunError::new("guest_error", "TypeError", "x is not a function\n\u{202e}");
    error.line = Some(3);
    error.column = Some(14);
    error.hint = Some("Await it.".to_owned());
    failed.error = Some(error);
    [RunReply::default(), done, failed]
        .map(|reply| Response::Run(Box::new(reply)))
        .into()
}

fn failures(catalog: &Catalog) -> Vec<Response> {
    let mut failures = Vec::new();
    for code in FAILURES {
        failures.push(Failure::new(code, format!("It failed: {code}.")));
        let mut full = Failure::new(code, "\u{0}It failed.\u{202e}\n");
        full.suggestions = ids(catalog, 8);
        full.handle = Some("h1".to_owned());
        let about = catalog.entries().first();
        failures.push(match about {
            Some(tool) => full.about(&tool.id),
            None => full,
        });
    }
    failures
        .into_iter()
        .map(|failure| Response::Failed(Box::new(failure)))
        .collect()
}

fn ids(catalog: &Catalog, count: usize) -> Vec<ToolId> {
    let tools = catalog.entries().iter().take(count);
    tools.map(|tool| tool.id.clone()).collect()
}

/// Arguments of controls: well written, as models write them, and broken in many ways.
#[must_use]
pub fn arguments() -> Vec<Value> {
    let deep = (0..100).fold(json!("x"), |inner, _| json!({ "args": inner }));
    vec![
        json!({}),
        json!(null),
        json!(true),
        json!(7),
        json!([]),
        json!(""),
        json!("not json"),
        json!("{\"query\": \"create issue\"}"),
        json!("[1]"),
        json!({"query": "create issue"}),
        json!({"query": "create issue", "limit": 3, "explain": true}),
        json!({"query": "x", "limit": 1_000_000}),
        json!({"query": "x", "limit": -1}),
        json!({"query": "x", "limit": 1.5}),
        json!({"query": "x", "limit": "3"}),
        json!({"query": "x", "limit": {}}),
        json!({"query": ""}),
        json!({"query": "\u{0}\u{202e}🚀"}),
        json!({"query": "x".repeat(20_000)}),
        json!({"query": 7}),
        json!({"queries": ["a", {"query": "b", "limit": 2}]}),
        json!({"query": "", "queries": [{"query": "b"}]}),
        json!({"queries": [null, [], {"limit": 1}]}),
        json!({"queries": "a"}),
        json!({"queries": vec!["a"; 17]}),
        json!({"queries": vec![json!({"query": "a", "limit": 1}); 16]}),
        json!({"id": "create_issue"}),
        json!({"id": ""}),
        json!({"id": 5}),
        json!({"ids": ["a", "b"]}),
        json!({"ids": ["a", "b", "c", "d", "e", "f"]}),
        json!({"ids": [null]}),
        json!({"id": "create_issue", "args": {"title": "t"}}),
        json!({"id": "create_issue", "args": "{\"title\": \"t\"}"}),
        json!({"id": "create_issue", "title": "t", "body": "b"}),
        json!({"id": "create_issue", "args": {}, "title": "t"}),
        json!({"id": "create_issue", "args.title": "t"}),
        json!({"id": "create_issue", "name": "delete_event", "args": {}}),
        json!({"name": "create_issue", "arguments": {"id": "own"}}),
        json!({"id": "create_issue", "args": [1]}),
        json!({"args": {"id": "create_issue"}}),
        json!({"id": "create_issue", "args": deep}),
        json!({"code": "return 1"}),
        json!({"code": ""}),
        json!({"code": 5}),
        json!({"code": "x".repeat(100_000)}),
        json!("return await tools.search('x')"),
        json!({"": "", "\u{0}": "\u{0}", "__proto__": {}}),
    ]
}
