//! Turns that wait for the client: programs that go on by replay, restarts, retries, streams, sessions.

use serde_json::{Value, json};
use toolsearch_it::client::streamed_text;
use toolsearch_it::model::{Asked, Said, Wire};

use super::world::{Lane, Setup, go_on, many, request, said, tool};
use crate::support::{Mode, Upstream, received};

fn counter() -> Upstream {
    let entry =
        json!({"name": "count_up", "description": "Counts", "inputSchema": {"type": "object"}});
    let one = r#"{"content":[{"type":"text","text":"1"}]}"#;
    Upstream::new("counter", vec![entry]).answers("count_up", one)
}

/// A program that uses a tool of the gateway's, then one of the client's twice.
fn program(asked: &Asked) -> Said {
    let code = "const first = await tools.callValue('mcp:counter:count_up', {});\n\
                const a = await tools.callValue('ask_user', { q: 'colour' });\n\
                const b = await tools.callValue('ask_user', { q: a });\n\
                return { first, a, b };";
    match asked.results().as_slice() {
        [] => Said::call("tool_search_code", &json!({ "code": code })),
        [.., last] => Said::text(last.clone()),
    }
}

fn ask_user(wire: Wire) -> Value {
    request(wire, vec![tool(wire, "ask_user", "Ask the user")], "go")
}

/// A program is suspended at every call of the client's tool, and what it did is not done again, with
/// a new process for each of its parts.
#[test]
fn programs_go_on_after_restarts() {
    for wire in Wire::ALL {
        let mut lane = Lane::over(Setup::new(Mode::Code), &[counter()], program);
        let mut body = ask_user(wire);
        for (question, answer_text) in [("colour", "red"), ("red", "why red?")] {
            let answer = lane.ask(wire, &body);
            let (_, calls) = said(wire, &answer);
            assert_eq!(calls.len(), 1, "{wire:?}: {answer}");
            assert_eq!(
                (calls[0].1.as_str(), &calls[0].2),
                ("ask_user", &json!({"q": question}))
            );
            go_on(wire, &mut body, &answer, &[(&calls[0].0, answer_text)]);
            lane = lane.restart();
        }
        let answer = lane.ask(wire, &body);
        let (text, calls) = said(wire, &answer);
        assert!(calls.is_empty(), "{wire:?}: {answer}");
        for part in ["red", "why red?"] {
            assert!(text.contains(part), "{wire:?}: {text}");
        }
        assert_eq!(received(&lane.home, "counter").len(), 1, "{wire:?}");
        let last = lane.model.take().pop().unwrap();
        assert_eq!(
            last.results().len(),
            1,
            "one program, one result: {}",
            last.body
        );
        // The same conversation goes on: the past is the same one.
        let field = if wire == Wire::Responses {
            "input"
        } else {
            "messages"
        };
        go_on(wire, &mut body, &answer, &[]);
        let history = body[field].as_array_mut().unwrap();
        history.retain(|entry| entry["content"] != json!([]));
        history.push(json!({"role": "user", "content": "and now?"}));
        lane.ask(wire, &body);
        let next = lane.model.take().pop().unwrap();
        let (before, after) = (&last.body[field], &next.body[field]);
        let before = before.as_array().unwrap();
        assert_eq!(
            &after.as_array().unwrap()[..before.len()],
            &before[..],
            "{wire:?}"
        );
        assert_eq!(last.body["tools"], next.body["tools"]);
    }
}

/// A request that is sent again runs nothing again.
#[test]
fn a_request_that_is_repeated_runs_nothing_twice() {
    let lane = Lane::over(Setup::new(Mode::Code), &[counter()], program);
    let mut body = ask_user(Wire::Chat);
    let answer = lane.ask(Wire::Chat, &body);
    let id = said(Wire::Chat, &answer).1[0].0.clone();
    go_on(Wire::Chat, &mut body, &answer, &[(&id, "red")]);
    let first = lane.ask(Wire::Chat, &body);
    let second = lane.ask(Wire::Chat, &body);
    let calls = |answer: &Value| said(Wire::Chat, answer).1;
    assert_eq!(calls(&first), calls(&second), "the same question again");
    assert_eq!(received(&lane.home, "counter").len(), 1);
}

/// Responses by `previous_response_id`: the provider has the conversation, the client sends results.
#[test]
fn chains_of_responses_go_on() {
    let script = |asked: &Asked| match asked.results().as_slice() {
        [] => Said::call(
            "tool_call",
            &json!({"id": "svc00_get_ticket", "args": {"q": "1"}}),
        ),
        [.., last] => Said::text(last.clone()),
    };
    let lane = Lane::open(Mode::Tools, script);
    let wire = Wire::Responses;
    let body = request(wire, many(wire, 40), "go");
    let answer = lane.ask(wire, &body);
    let id = said(wire, &answer).1[0].0.clone();
    let mut next = body.clone();
    next["previous_response_id"] = answer["id"].clone();
    next["input"] = json!([{"type": "function_call_output", "call_id": id, "output": "open"}]);
    let lane = lane.restart();
    let answer = lane.ask(wire, &next);
    assert_eq!(said(wire, &answer).0, "open");
    let last = lane.model.take().pop().unwrap();
    assert_eq!(last.body["previous_response_id"], "resp_0");
    assert_eq!(last.body["input"][0]["call_id"], "c1");
}

/// A stream carries the words as they come and the calls at its end.
#[test]
fn streams_are_one_answer() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => {
            let mut said = Said::call("tool_search", &json!({"query": "archive ticket"}));
            said.text = "Let me look. ".to_owned();
            said
        }
        1 => Said::call(
            "tool_call",
            &json!({"id": "svc00_archive_ticket", "args": {"q": "42"}}),
        ),
        _ => Said::text("Done and dusted."),
    };
    for wire in Wire::ALL {
        let lane = Lane::open(Mode::Tools, script);
        let mut body = request(wire, many(wire, 60), "go");
        body["stream"] = json!(true);
        let back = lane.post(wire, &body);
        assert_eq!(back.status, 200, "{}", back.body);
        assert!(back.header("x-toolsearch-session").is_some());
        let text = streamed_text(wire, &back);
        assert_eq!(text, "Let me look. ", "{wire:?}: {}", back.body);
        assert!(back.body.contains("svc00_archive_ticket"), "{}", back.body);
        for inner in ["tool_call\"", "tool_search\""] {
            let name = format!("\"name\":\"{inner}");
            assert!(!back.body.contains(&name), "{wire:?}: {}", back.body);
        }
        body["stream"] = json!(false);
        let whole = lane.ask(wire, &body);
        let (words, calls) = said(wire, &whole);
        assert_eq!(words, text);
        assert_eq!(calls[0].1, "svc00_archive_ticket");
    }
}

/// A session is found again by its header, and belongs to whoever has the name.
#[test]
fn sessions_are_found_by_their_header() {
    let lane = Lane::open(Mode::Tools, |_: &Asked| Said::text("hi"));
    let body = request(Wire::Chat, many(Wire::Chat, 40), "go");
    let first = lane.post(Wire::Chat, &body);
    let session = first.header("x-toolsearch-session").unwrap().to_owned();
    let saved: usize = first
        .header("x-toolsearch-saved-bytes")
        .unwrap()
        .parse()
        .unwrap();
    assert!(saved > 1_000, "{saved}");
    let again = lane.post_with(Wire::Chat, &[("X-Toolsearch-Session", &session)], &body);
    assert_eq!(again.header("x-toolsearch-session"), Some(session.as_str()));
    let named = lane.post_with(Wire::Chat, &[("X-Toolsearch-Session", "mine")], &body);
    assert_eq!(named.header("x-toolsearch-session"), Some("mine"));
    let shown = lane
        .home
        .document(&["sessions", "show", &session, "--json"]);
    assert_eq!(shown["schemasSeenAtFirst"], 3, "{shown}");
}
