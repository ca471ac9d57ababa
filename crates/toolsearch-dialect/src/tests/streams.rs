//! A stream says what the whole answer says, in whatever pieces it comes.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{Wanted, answer, stream};
use crate::{Call, Dialect, Refusal, Relay, SseDecoder, SseEvent, StreamFault};

fn wanted() -> impl Strategy<Value = Vec<Wanted>> {
    let call = ("[a-z]{1,6}", "[a-z_]{1,8}", "[ -~é]{0,12}");
    prop::collection::vec(call, 0..4).prop_map(|calls| {
        let numbered = calls.into_iter().enumerate();
        numbered
            .map(|(at, (id, name, text))| {
                (format!("{id}_{at}"), name, json!({"q": text}).to_string())
            })
            .collect()
    })
}

fn feed(relay: &mut Relay, events: &[SseEvent]) -> Vec<SseEvent> {
    let shown = events.iter().flat_map(|event| relay.event(event).unwrap());
    shown.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Bytes cut anywhere give the same events.
    #[test]
    fn events_come_whole_out_of_any_pieces(
        texts in prop::collection::vec("[ -~é\n]{0,20}", 1..5), size in 1_usize..9,
    ) {
        let events: Vec<SseEvent> = texts
            .iter()
            .map(|text| SseEvent::named("n", text.clone()))
            .collect();
        let wire: String = events.iter().map(SseEvent::to_wire).collect();
        for wire in [wire.clone(), wire.replace('\n', "\r\n")] {
            let mut decoder = SseDecoder::default();
            let mut read = Vec::new();
            for piece in wire.as_bytes().chunks(size) {
                read.extend(decoder.push(piece).unwrap());
            }
            read.extend(decoder.finish().unwrap());
            prop_assert_eq!(&read, &events);
        }
    }

    /// The answer of a stream is the answer that would have come whole; the client's stream, read
    /// again, is the composed answer.
    #[test]
    fn streamed_is_unstreamed(
        text in "[ -~é]{1,40}", calls in wanted(), size in 1_usize..12,
    ) {
        for dialect in Dialect::ALL {
            let whole = answer(dialect, &text, &calls);
            let mut relay = Relay::new(dialect);
            let mut shown = feed(&mut relay, &stream(dialect, &whole, size));
            prop_assert!(relay.ended());
            let streamed = relay.turn().unwrap();
            prop_assert_eq!(&streamed, &whole);
            let turn = dialect.read(&mut streamed.clone()).unwrap();
            let composed = dialect.compose(std::slice::from_ref(&streamed), &turn.calls).unwrap();
            shown.extend(relay.finish(&composed, &turn.calls));
            let mut client = Relay::new(dialect);
            feed(&mut client, &shown);
            let mut seen = client.turn().unwrap();
            let seen = dialect.read(&mut seen).unwrap();
            prop_assert_eq!(seen, turn);
        }
    }

    /// Nothing that a provider may stream makes reading fail otherwise than with a fault.
    #[test]
    fn any_event_is_read_or_refused(
        values in prop::collection::vec(super::world::any_json(), 1..6),
    ) {
        for dialect in Dialect::ALL {
            let mut relay = Relay::new(dialect);
            for value in &values {
                let _ = relay.event(&SseEvent::data(value.to_string()));
                let inside = json!({
                    "type": "content_block_delta", "choices": [{"delta": value}], "delta": value,
                });
                let _ = relay.event(&SseEvent::data(inside.to_string()));
            }
            let _ = relay.turn();
        }
    }
}

/// Two turns in one stream: the client sees one message, its words from both, one call of its own.
#[test]
fn two_turns_are_one_stream() {
    for dialect in Dialect::ALL {
        let control = ("c1".to_owned(), "tool_search".to_owned(), "{}".to_owned());
        let own = (
            "c2".to_owned(),
            "pick".to_owned(),
            r#"{"q":"1"}"#.to_owned(),
        );
        let turns = [
            answer(dialect, "Looking. ", &[control]),
            answer(dialect, "Found.", &[own]),
        ];
        let mut relay = Relay::new(dialect);
        let mut shown = Vec::new();
        let mut answers = Vec::new();
        for turn in &turns {
            shown.extend(feed(&mut relay, &stream(dialect, turn, 3)));
            answers.push(relay.turn().unwrap());
        }
        let calls: Vec<Call> = dialect.read(&mut answers[1].clone()).unwrap().calls;
        let mut composed = dialect.compose(&answers, &calls).unwrap();
        shown.extend(relay.finish(&composed, &calls));
        let all: String = shown.iter().map(SseEvent::to_wire).collect();
        assert!(!all.contains("tool_search"), "{dialect}: {all}");
        let mut client = Relay::new(dialect);
        feed(&mut client, &shown);
        let mut seen = client.turn().unwrap();
        let seen = dialect.read(&mut seen).unwrap();
        assert_eq!(seen, dialect.read(&mut composed).unwrap(), "{dialect}");
        assert_eq!(seen.text, "Looking. Found.");
        for once in [
            "message_start\"",
            "response.created\"",
            "response.in_progress\"",
        ] {
            assert!(all.matches(once).count() <= 1, "{dialect}: {all}");
        }
    }
}

/// Calls that are handed out although no model was asked.
#[test]
fn a_blank_answer_is_a_stream_too() {
    for dialect in Dialect::ALL {
        let call = Call::new(
            "own_1",
            "pick",
            crate::Arguments::read(Some(&json!({"q": "1"}))),
        );
        let blank = dialect.blank("id-1", "m", 7);
        let mut relay = Relay::new(dialect);
        let mut shown = relay.begin(&blank);
        let calls = [call];
        let composed = dialect.compose(&[blank], &calls).unwrap();
        shown.extend(relay.finish(&composed, &calls));
        let mut client = Relay::new(dialect);
        feed(&mut client, &shown);
        let seen = dialect.read(&mut client.turn().unwrap()).unwrap();
        assert_eq!(seen.calls, calls, "{dialect}");
    }
}

#[test]
fn words_pass_before_the_turn_ends() {
    for dialect in Dialect::ALL {
        let events = stream(dialect, &answer(dialect, "abc", &[]), 1);
        let mut relay = Relay::new(dialect);
        let mut passed = String::new();
        for event in &events {
            if relay.ended() || event.data.contains("finish_reason\":\"stop") {
                break;
            }
            for shown in relay.event(event).unwrap() {
                passed.push_str(&shown.data);
            }
        }
        for word in ["\"a\"", "\"b\"", "\"c\""] {
            assert!(passed.contains(word), "{dialect}: {passed}");
        }
    }
}

/// Fragments of calls as servers number them.
#[test]
fn fragments_find_their_call() {
    type Piece = (
        Option<u64>,
        Option<&'static str>,
        Option<&'static str>,
        &'static str,
    );
    let check = |pieces: &[Piece], expected: &[(&str, &str)]| {
        let mut relay = Relay::new(Dialect::OpenAiChat);
        for (index, id, name, arguments) in pieces {
            let mut piece = json!({"function": {"arguments": arguments}});
            if let Some(index) = index {
                piece["index"] = json!(index);
            }
            if let Some(id) = id {
                piece["id"] = json!(id);
            }
            if let Some(name) = name {
                piece["function"]["name"] = json!(name);
            }
            let chunk = json!({"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]});
            relay.event(&SseEvent::data(chunk.to_string())).unwrap();
        }
        relay.event(&SseEvent::data("[DONE]")).unwrap();
        let mut whole = relay.turn().unwrap();
        let turn = Dialect::OpenAiChat.read(&mut whole).unwrap();
        let read: Vec<(String, String)> = turn
            .calls
            .iter()
            .map(|call| (call.name.clone(), call.arguments_text()))
            .collect();
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(name, arguments)| ((*name).to_owned(), (*arguments).to_owned()))
            .collect();
        assert_eq!(read, expected);
    };
    let (x, y) = (r#"{"x":1}"#, r#"{"y":2}"#);
    // Two ids under one index.
    check(
        &[
            (Some(0), Some("a"), Some("f"), x),
            (Some(0), Some("b"), Some("g"), y),
        ],
        &[("f", x), ("g", y)],
    );
    // Pieces of two calls in turns.
    check(
        &[
            (Some(0), Some("a"), Some("f"), ""),
            (Some(1), Some("b"), Some("g"), ""),
            (Some(0), None, None, "{\"x\":"),
            (Some(1), None, None, "{\"y\":2"),
            (Some(0), None, None, "1}"),
            (Some(1), None, None, "}"),
        ],
        &[("f", x), ("g", y)],
    );
    // No ids at all; a name begins a call.
    check(
        &[(Some(0), None, Some("f"), x), (Some(0), None, Some("g"), y)],
        &[("f", x), ("g", y)],
    );
    // No index; the id with every piece; the name with every piece.
    check(
        &[
            (None, Some("a"), Some("f"), "{\"x\":"),
            (None, Some("a"), Some("f"), "1}"),
        ],
        &[("f", x)],
    );
    // Nothing but a name.
    check(&[(Some(0), Some("a"), Some("f"), "")], &[("f", "{}")]);
}

#[test]
fn failures_and_early_ends_are_told() {
    for dialect in Dialect::ALL {
        let mut relay = Relay::new(dialect);
        assert_eq!(relay.turn(), Err(StreamFault::Incomplete));
        let error = json!({"type": "error", "error": {"message": "overloaded"}});
        let fault = relay.event(&SseEvent::data(error.to_string())).unwrap_err();
        let StreamFault::Failed { message, .. } = fault else {
            panic!("{fault:?}");
        };
        assert_eq!(message, "overloaded");
        assert!(relay.event(&SseEvent::data("{")).is_err());
        let refused = relay.refuse(&Refusal::invalid("no"));
        let body: Value = serde_json::from_str(&refused[0].data).unwrap();
        assert!(body.to_string().contains("\"no\""));
    }
    let mut decoder = SseDecoder::default();
    let long = vec![b'x'; crate::MAX_EVENT_BYTES + 1];
    assert_eq!(decoder.push(&long), Err(StreamFault::TooLarge));
}
