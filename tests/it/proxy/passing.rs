//! What is not searched passes as it is: bodies, headers, keys, refusals.

use serde_json::{Value, json};
use toolsearch_it::model::{Asked, Said, Wire};

use super::world::{Lane, many, post, request};
use crate::support::Mode;

const ODD: &str = r#" { "model":"scripted", "x_big":123456789012345678901234567890, "x_float":1.0,
 "x_list":[null,true,{"é":"\u00e9"}], "messages":[{"role":"user","content":"hi","x":1e400}],
 "input":[{"role":"user","content":"hi","x":1e400}] }"#;

/// Requests without tools, and all with tool search off: the provider receives the very bytes.
#[test]
fn requests_pass_value_for_value() {
    let off = Lane::open(Mode::Direct, |_: &Asked| Said::text("hi"));
    let on = Lane::open(Mode::Tools, |_: &Asked| Said::text("hi"));
    for wire in Wire::ALL {
        let with_tools = request(wire, many(wire, 50), "go").to_string();
        for (lane, body) in [(&on, ODD), (&off, ODD), (&off, with_tools.as_str())] {
            let back = lane.post_raw(wire, &[], body.as_bytes());
            assert_eq!(back.status, 200, "{}", back.body);
            let asked = lane.model.take().pop().unwrap();
            assert_eq!(String::from_utf8(asked.raw).unwrap(), body, "{wire:?}");
        }
        // For one request it is the same with a header.
        let body = with_tools.as_bytes();
        let back = on.post_raw(wire, &[("X-Toolsearch-Mode", "direct")], body);
        assert_eq!(back.status, 200, "{}", back.body);
        assert_eq!(on.model.take().pop().unwrap().raw, body);
    }
}

/// Everything that the client said beside its tools reaches the provider as it was said.
#[test]
fn what_is_not_known_stays() {
    let lane = Lane::open(Mode::Tools, |_: &Asked| Said::text("hi"));
    for wire in Wire::ALL {
        let mut body = request(wire, many(wire, 50), "go");
        let odd: Value = serde_json::from_str(ODD).unwrap();
        for name in ["x_big", "x_float", "x_list"] {
            body[name] = odd[name].clone();
        }
        body["metadata"] = json!({"user": "7"});
        lane.ask(wire, &body);
        let asked = lane.model.take().pop().unwrap();
        for (name, value) in body.as_object().unwrap() {
            if !["tools", "instructions", "messages"].contains(&name.as_str()) {
                assert_eq!(
                    asked.body[name].to_string(),
                    value.to_string(),
                    "{wire:?} {name}"
                );
            }
        }
    }
}

/// The client's key goes on where the provider has none of its own; the gateway's headers do not.
#[test]
fn keys_and_headers_pass() {
    let lane = Lane::open(Mode::Tools, |_: &Asked| Said::text("hi"));
    let headers = [
        ("Authorization", "Bearer sk-own"),
        ("x-api-key", "own"),
        ("anthropic-beta", "b-1"),
        ("X-Toolsearch-Session", "s"),
    ];
    for tools in [0, 40] {
        let body = request(Wire::Messages, many(Wire::Messages, tools), "go");
        let back = lane.post_with(Wire::Messages, &headers, &body);
        assert_eq!(back.status, 200, "{}", back.body);
        assert_eq!(back.header("x-request-id"), Some("scripted"));
        let asked = lane.model.take().pop().unwrap();
        assert_eq!(asked.header("authorization"), Some("Bearer sk-own"));
        assert_eq!(asked.header("x-api-key"), Some("own"));
        assert_eq!(asked.header("anthropic-beta"), Some("b-1"));
        assert!(asked.header("anthropic-version").is_some());
        assert_eq!(asked.header("x-toolsearch-session"), None);
    }
}

/// A provider's refusal reaches the client with its status and in its own words.
#[test]
fn refusals_of_the_provider_pass() {
    let said = json!({"error": {"message": "slow down", "type": "rate_limit_error", "x": 1.0}});
    let refused = said.clone();
    let lane = Lane::open(Mode::Tools, move |_: &Asked| {
        Said::refusal(429, refused.clone())
    });
    for wire in Wire::ALL {
        for stream in [false, true] {
            let mut body = request(wire, many(wire, 40), "go");
            body["stream"] = json!(stream);
            let back = lane.post(wire, &body);
            assert_eq!(
                (back.status, back.json()),
                (429, said.clone()),
                "{wire:?} {stream}"
            );
        }
    }
}

/// A model's name may name its provider, and the list of models passes.
#[test]
fn providers_are_named_before_the_model() {
    let lane = Lane::open(Mode::Tools, |_: &Asked| Said::text("hi"));
    for tools in [0, 40] {
        let mut body = request(Wire::Chat, many(Wire::Chat, tools), "go");
        body["model"] = json!("scripted/some-model");
        lane.ask(Wire::Chat, &body);
        assert_eq!(lane.model.take().pop().unwrap().body["model"], "some-model");
    }
    let listed = post(lane.gateway.address(), "/v1/models", &[], b"");
    assert_eq!(listed.status, 405, "only asked with GET");
}
