//! Bad input: an answer in the dialect's own shape, nothing executed, nothing lost.

use serde_json::{Value, json};
use toolsearch_it::model::{Asked, Said, Wire};

use super::world::{Back, Lane, go_on, many, request, said, tool};
use crate::support::Mode;

/// The message of a refusal, whose shape is the dialect's.
fn told(wire: Wire, back: &Back, status: u16) -> String {
    assert_eq!(back.status, status, "{wire:?}: {}", back.body);
    let body = back.json();
    let error = &body["error"];
    match wire {
        Wire::Messages => assert_eq!(body["type"], "error", "{body}"),
        _ => assert!(
            error.get("param").is_some() && error.get("code").is_some(),
            "{body}"
        ),
    }
    assert!(error["type"].is_string(), "{body}");
    error["message"].as_str().unwrap().to_owned()
}

#[test]
fn bad_requests_are_refused_before_anything_is_sent() {
    let lane = Lane::open(Mode::Tools, |_: &Asked| Said::text("hi"));
    for wire in Wire::ALL {
        let field = if wire == Wire::Responses {
            "input"
        } else {
            "messages"
        };
        let check = |body: &Value, words: &str| {
            let message = told(wire, &lane.post(wire, body), 400);
            assert!(message.contains(words), "{wire:?}: {message}");
        };
        let twice = vec![tool(wire, "same", "a"), tool(wire, "same", "b")];
        check(&request(wire, twice, "go"), "two tools");
        let odd = vec![tool(wire, "with space", "a")];
        check(&request(wire, odd, "go"), "no name for a tool");
        let mut body = request(wire, many(wire, 20), "go");
        body[field] = json!(7);
        check(&body, field);
        let mut body = request(wire, many(wire, 20), "go");
        body["tools"] = json!({"a": 1});
        check(&body, "tools");
        let mut body = request(wire, many(wire, 20), "go");
        body.as_object_mut().unwrap().remove("model");
        check(&body, "model");
        for raw in ["", "{", "[]", "\u{feff}"] {
            told(wire, &lane.post_raw(wire, &[], raw.as_bytes()), 400);
        }
        let mode = [("X-Toolsearch-Mode", "sideways")];
        told(
            wire,
            &lane.post_with(wire, &mode, &request(wire, many(wire, 20), "go")),
            400,
        );
        let mut body = request(wire, many(wire, 20), "go");
        let entry = match wire {
            Wire::Chat => json!({"role": "tool", "tool_call_id": "nowhere", "content": "x"}),
            Wire::Responses => {
                json!({"type": "function_call_output", "call_id": "nowhere", "output": "x"})
            }
            Wire::Messages => json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "nowhere", "content": "x"}]}),
        };
        body[field].as_array_mut().unwrap().push(entry);
        check(&body, "nowhere");
    }
    assert!(lane.model.asked().is_empty(), "nothing was sent");
}

#[test]
fn bodies_that_are_too_large_are_refused() {
    let lane = Lane::open(Mode::Tools, |_: &Asked| Said::text("hi"));
    let body = vec![b' '; 17 * 1024 * 1024];
    told(Wire::Chat, &lane.post_raw(Wire::Chat, &[], &body), 413);
}

/// Results of a turn that is not kept here are told to be just that.
#[test]
fn unknown_continuations_are_told() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Said::call(
            "tool_call",
            &json!({"id": "svc00_get_ticket", "args": {"q": "1"}}),
        ),
        _ => Said::text("done"),
    };
    for wire in Wire::ALL {
        let lane = Lane::open(Mode::Tools, script);
        let mut body = request(wire, many(wire, 40), "go");
        let answer = lane.ask(wire, &body);
        let id = said(wire, &answer).1[0].0.clone();
        go_on(wire, &mut body, &answer, &[(&id, "open")]);
        let elsewhere = Lane::open(Mode::Tools, script);
        let message = told(wire, &elsewhere.post(wire, &body), 400);
        assert!(message.contains("not kept here"), "{message}");
        assert!(elsewhere.model.asked().is_empty());
        // Where it is kept, nothing was lost by asking elsewhere.
        let answer = lane.ask(wire, &body);
        assert_eq!(said(wire, &answer).0, "done", "{wire:?}");
    }
    let lane = Lane::open(Mode::Tools, script);
    let mut body = request(Wire::Responses, many(Wire::Responses, 40), "go");
    body["previous_response_id"] = json!("resp_ts0123456789abcdef");
    let back = lane.post(Wire::Responses, &body);
    told(Wire::Responses, &back, 400);
    assert_eq!(back.json()["error"]["code"], "previous_response_not_found");
}

/// A model that writes no JSON is told so and tries again; nothing runs meanwhile.
#[test]
fn broken_arguments_go_back_to_the_model() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => {
            let mut said = Said::default();
            let broken = "{\"id\": \"svc00_get_ticket\", ".to_owned();
            said.calls
                .push(("c1".to_owned(), "tool_call".to_owned(), broken));
            said
        }
        1 => Said::text(asked.results().remove(0)),
        _ => Said::text("lost"),
    };
    let lane = Lane::open(Mode::Tools, script);
    for wire in [Wire::Chat, Wire::Responses] {
        for stream in [false, true] {
            let mut body = request(wire, many(wire, 40), "go");
            body["stream"] = json!(stream);
            let back = lane.post(wire, &body);
            assert_eq!(back.status, 200, "{}", back.body);
            let asked = lane.model.take();
            assert_eq!(asked.len(), 2, "{wire:?}");
            assert!(asked[1].results()[0].contains("must be one JSON object"));
        }
    }
}

/// Empty and null arguments are no arguments.
#[test]
fn empty_arguments_are_an_empty_object() {
    for text in ["", "null", "{}"] {
        let lane = Lane::open(Mode::Tools, move |asked: &Asked| {
            match asked.results().len() {
                0 => {
                    let mut said = Said::default();
                    said.calls.push((
                        "c1".to_owned(),
                        "svc00_get_ticket".to_owned(),
                        text.to_owned(),
                    ));
                    said
                }
                _ => Said::text("done"),
            }
        });
        let answer = lane.ask(Wire::Chat, &request(Wire::Chat, many(Wire::Chat, 40), "go"));
        assert_eq!(said(Wire::Chat, &answer).1[0].2, json!({}), "{text:?}");
    }
}
