//! Tests of events, recorders and summaries.

use std::sync::Arc;

use toolsearch_catalog::{Source, ToolId};

use crate::{
    Called, Described, Event, JsonlRecorder, MemoryRecorder, NoRecorder, Opened, Recorder,
    Searched, Sizes, Stamped, Summary,
};

fn call(id: &str, parent: Option<&str>, ok: bool) -> Event {
    let mut called = Called::new("c1.1", ToolId::parse(id).expect("a valid id"));
    called.parent = parent.map(str::to_owned);
    called.ok = ok;
    Event::Called(called)
}

fn session() -> Vec<Stamped> {
    let mut opened = Opened::new("code", "ab", Sizes::new(1, 900, 100, 420, 400_000));
    opened.catalog.insert(Source::Mcp, 420);
    [
        Event::Opened(opened),
        Event::Searched(Searched::new(1, 8)),
        Event::Described(Described::new(vec![
            ToolId::parse("mcp:git:log").expect("valid"),
        ])),
        call("mcp:git:log", Some("c1"), true),
        call("native:core:read", None, false),
        Event::Closed,
    ]
    .into_iter()
    .zip(1..)
    .map(|(event, at)| Stamped::new(at, "s1", event))
    .collect()
}

#[test]
fn a_summary_answers_the_four_questions() {
    let mut events = session();
    events.push(Stamped::new(
        9,
        "other",
        Event::Searched(Searched::new(1, 0)),
    ));
    let summary = Summary::of("s1", &events).expect("the session is there");
    assert_eq!(summary.schemas_seen_at_first, 1);
    assert_eq!((summary.searches, summary.describes), (1, 1));
    assert_eq!(
        summary.last_call.as_ref().map(ToolId::as_str),
        Some("native:core:read")
    );
    let sources: Vec<Source> = summary.calls.iter().map(|call| call.source).collect();
    assert_eq!(sources, [Source::Mcp, Source::Native]);
    assert_eq!(summary.bytes.sent(), 1000);
    assert_eq!(Summary::of("nobody", &events), None);
}

#[test]
fn lines_read_back_as_the_same_events() {
    let mut log = Vec::new();
    {
        let recorder = JsonlRecorder::new(&mut log, 1 << 20);
        session().iter().for_each(|event| recorder.record(event));
        assert_eq!(recorder.dropped(), 0);
    }
    let text = String::from_utf8(log).expect("json is utf-8");
    let read: Vec<Stamped> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is an event"))
        .collect();
    assert_eq!(read, session());
}

#[test]
fn a_full_log_drops_whole_lines_and_counts_them() {
    let mut log = Vec::new();
    {
        let recorder = JsonlRecorder::new(&mut log, 100);
        session().iter().for_each(|event| recorder.record(event));
        assert!(recorder.dropped() > 0);
    }
    assert!(log.len() <= 100);
    assert!(log.is_empty() || log.ends_with(b"\n"));
}

#[test]
fn memory_keeps_the_latest() {
    let recorder = MemoryRecorder::new(2);
    session().iter().for_each(|event| recorder.record(event));
    let kept = recorder.events();
    assert_eq!(kept.len(), 2);
    assert_eq!(kept[1].event, Event::Closed);
}

#[test]
fn recorders_are_usable_as_objects() {
    let all: Vec<Arc<dyn Recorder>> = vec![
        Arc::new(NoRecorder),
        Arc::new(MemoryRecorder::default()),
        Arc::new(Box::new(NoRecorder)),
    ];
    for recorder in all {
        recorder.record(&Stamped::new(0, "s", Event::Closed));
    }
}
