//! Telemetry: events of every kind, and the rules that every recorder keeps.

use std::collections::BTreeMap;
use std::thread;

use toolsearch_telemetry::{
    Called, Described, Event, Opened, Ran, Recorder, Searched, Sizes, Stamped,
};

use crate::catalog::tool;

/// Threads that record at once.
const THREADS: u64 = 4;
/// Events of each thread.
const EVENTS: u64 = 50;

/// One event of every kind.
#[must_use]
pub fn events() -> Vec<Event> {
    let id = tool("mcp:git:log").id;
    let mut failed = Called::new("c1.1", id.clone());
    failed.ok = false;
    failed.parent = Some("c1".to_owned());
    failed.error = Some("tool_error".to_owned());
    vec![
        Event::Opened(Opened::new("code", "fingerprint", Sizes::default())),
        Event::Searched(Searched::new(2, 7)),
        Event::Described(Described::new(vec![id.clone()])),
        Event::Called(Called::new("c1", id)),
        Event::Called(failed),
        Event::Ran(Ran::new("c2", "quickjs")),
        Event::Closed,
    ]
}

/// Holds a recorder to the rules of the contract. `kept` reads back what it holds; `most` is how many
/// events it can keep: 0 for one that keeps nothing, `usize::MAX` for one without a bound.
///
/// # Panics
/// At the first broken rule.
pub fn conforms<R: Recorder>(recorder: &R, most: usize, kept: impl Fn(&R) -> Vec<Stamped>) {
    thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for event in stream(thread) {
                    recorder.record(&event);
                }
            });
        }
    });
    let all = kept(recorder);
    let sent = usize::try_from(THREADS * EVENTS).unwrap_or(usize::MAX);
    assert_eq!(
        all.len(),
        sent.min(most),
        "a recorder keeps what it has room for"
    );
    let mut by_session: BTreeMap<&str, Vec<&Stamped>> = BTreeMap::new();
    for event in &all {
        by_session.entry(&event.session).or_default().push(event);
    }
    for (session, events) in by_session {
        let thread = session.strip_prefix("thread-").and_then(|n| n.parse().ok());
        let thread = thread.unwrap_or_else(|| panic!("nobody recorded for session `{session}`"));
        let sent = stream(thread);
        let mut rest = sent.iter();
        for event in events {
            assert!(
                rest.any(|sent| sent == event),
                "events of one thread stay whole, in order and single: {event:?}"
            );
        }
    }
}

fn stream(thread: u64) -> Vec<Stamped> {
    let kinds = events();
    let kinds = kinds.iter().cycle();
    (0..EVENTS)
        .zip(kinds)
        .map(|(at, event)| Stamped::new(at, format!("thread-{thread}"), event.clone()))
        .collect()
}
