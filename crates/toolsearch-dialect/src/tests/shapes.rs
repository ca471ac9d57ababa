//! Calls, results, usage and ids in each wire form.

use serde_json::{Value, json};
use toolsearch_mode::Rendered;

use super::world::answer;
use crate::{
    Arguments, Call, CallForm, Dialect, End, add_usage, client_call_id, is_client_call_id,
};

#[test]
fn empty_null_and_broken_arguments_are_told_apart() {
    let object = |value: Value| Arguments::read(Some(&value));
    for empty in [
        json!(""),
        json!(null),
        json!(" null "),
        json!({}),
        json!("{}"),
    ] {
        assert_eq!(object(empty), Arguments::Object(Default::default()));
    }
    for broken in [json!("{\"a\":"), json!("[1]"), json!(7)] {
        assert!(matches!(object(broken), Arguments::Unreadable { .. }));
    }
}

#[test]
fn ids_are_filled_in_and_broken_arguments_emptied_in_the_answer() {
    for dialect in Dialect::ALL {
        let calls = [("", "a", "{}"), ("same", "b", "{}"), ("same", "c", "{}")];
        let calls = calls.map(|(id, name, args)| (id.to_owned(), name.to_owned(), args.to_owned()));
        let mut given = answer(dialect, "hm", &calls);
        let turn = dialect.read(&mut given).unwrap();
        let ids: Vec<&str> = turn.calls.iter().map(|call| call.id.as_str()).collect();
        assert!(ids.iter().all(|id| !id.is_empty()), "{dialect}: {ids:?}");
        assert_eq!(
            ids.iter().collect::<std::collections::BTreeSet<_>>().len(),
            3
        );
        let again = dialect.read(&mut given).unwrap();
        assert_eq!(again, turn, "{dialect}");
    }
    let mut given = json!({"choices": [{"finish_reason": "length", "message": {"tool_calls": [
        {"id": "x", "function": {"name": "f", "arguments": "{\"q\": "}}]}}]});
    let turn = Dialect::OpenAiChat.read(&mut given).unwrap();
    assert_eq!(turn.end, End::Cut);
    assert!(matches!(
        turn.calls[0].arguments,
        Arguments::Unreadable { .. }
    ));
    assert_eq!(
        given
            .pointer("/choices/0/message/tool_calls/0/function/arguments")
            .unwrap(),
        "{}"
    );
}

#[test]
fn answers_that_are_none_are_told() {
    for dialect in Dialect::ALL {
        for broken in [
            json!({}),
            json!([]),
            json!("x"),
            json!({"choices": [{}], "content": 1}),
        ] {
            assert!(
                dialect.read(&mut broken.clone()).is_err(),
                "{dialect}: {broken}"
            );
        }
    }
}

#[test]
fn one_answer_has_the_words_of_all_turns_and_the_sum_of_their_usage() {
    let control = ("c1".to_owned(), "tool_search".to_owned(), "{}".to_owned());
    for dialect in Dialect::ALL {
        let turns = [
            answer(dialect, "Looking. ", std::slice::from_ref(&control)),
            answer(dialect, "Done.", &[]),
        ];
        let mut composed = dialect.compose(&turns, &[]).unwrap();
        let turn = dialect.read(&mut composed).unwrap();
        assert_eq!(turn.text, "Looking. Done.", "{dialect}");
        assert!(turn.calls.is_empty());
        let usage = dialect.usage(&composed);
        let total = |name: &str| usage.get(name).and_then(Value::as_u64);
        assert_eq!(
            total("total_tokens").or_else(|| total("output_tokens").map(|o| o + 6)),
            Some(14)
        );
        let own = Call::new("own_1", "pick", Arguments::read(Some(&json!({"q": "1"}))));
        let mut composed = dialect
            .compose(&turns[..1], std::slice::from_ref(&own))
            .unwrap();
        assert_eq!(dialect.read(&mut composed).unwrap().calls, [own]);
    }
}

#[test]
fn results_keep_pictures_where_the_wire_can_carry_them() {
    let mut rendered = Rendered::text("see");
    rendered
        .content
        .push(json!({"type": "image", "data": "QUJD", "mimeType": "image/png"}));
    let result = |dialect: Dialect| {
        let call = Call::new("c", "f", Arguments::Object(Default::default()));
        dialect.results(&[(call, rendered.clone())]).remove(0)
    };
    let text = result(Dialect::OpenAiChat)["content"].clone();
    assert_eq!(text, "see\n[image image/png, 3 bytes]");
    let parts = result(Dialect::OpenAiResponses)["output"].clone();
    assert_eq!(parts[1]["image_url"], "data:image/png;base64,QUJD");
    let block = result(Dialect::AnthropicMessages)["content"][0].clone();
    assert_eq!(block["content"][1]["source"]["data"], "QUJD");
    let body = json!({"messages": [{"role": "user", "content": [block]}]});
    let past = Dialect::AnthropicMessages.past(&body);
    assert_eq!(past.results[0].outcome.content, rendered.content);
}

#[test]
fn free_text_stays_free_text() {
    let mut given = json!({"output": [
        {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"}]});
    let turn = Dialect::OpenAiResponses.read(&mut given).unwrap();
    assert_eq!(turn.calls[0].form, CallForm::Custom);
    assert_eq!(turn.calls[0].arguments_text(), "*** Begin");
    let composed = Dialect::OpenAiResponses
        .compose(&[given.clone()], &turn.calls)
        .unwrap();
    assert_eq!(composed["output"][0]["input"], "*** Begin");
}

#[test]
fn usage_is_added_at_every_depth() {
    let mut total = Value::Null;
    for _ in 0..2 {
        add_usage(
            &mut total,
            &json!({"a": 2, "in": {"b": 3, "c": null}, "tier": "x", "f": 0.5}),
        );
    }
    assert_eq!(
        total,
        json!({"a": 4, "in": {"b": 6, "c": null}, "tier": "x", "f": 1.0})
    );
}

#[test]
fn ids_for_clients_are_told_from_others() {
    for own in [
        "c1",
        "",
        "call_abcdefghijklmnopqrstuvwxyz0123456789",
        "tool:1/ü",
    ] {
        let id = client_call_id(own, 7);
        assert!(is_client_call_id(&id) && id.len() <= 39, "{id}");
        assert!(
            id.bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
        );
        assert_eq!(client_call_id(&id, 7), id);
    }
    for other in [
        "c1",
        "call_abc",
        "_ts0000000000000007",
        "x_ts00000000000000G7",
    ] {
        assert!(!is_client_call_id(other), "{other}");
    }
}
