//! What is not known here stays where it is.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::world::{any_json, function, request};
use crate::{Declaration, Dialect, Native, Stay};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Tools that are taken out and put back as their owner wrote them give the same request.
    #[test]
    fn own_declarations_give_the_request_back(unknown in any_json()) {
        for dialect in Dialect::ALL {
            let tools = vec![function(dialect, "one", &unknown), function(dialect, "two", &unknown)];
            let before = request(dialect, tools, &unknown);
            dialect.check(&before).unwrap();
            let offer = dialect.offer(&before, Native::Replaced).unwrap();
            let own = offer.tools.into_iter().map(|tool| match tool.declaration {
                Declaration::Own(entry) => entry,
                other => panic!("{other:?}"),
            });
            let mut after = before.clone();
            dialect.declare(&mut after, own.collect());
            dialect.add_prompt(&mut after, "");
            dialect.settle_history(&mut after, Native::Replaced);
            dialect.splice(&mut after, &[]);
            prop_assert_eq!(after.to_string(), before.to_string());
        }
    }

    /// Every step of a turn leaves fields that nobody knows in their places.
    #[test]
    fn unknown_fields_survive_a_turn(unknown in any_json()) {
        for dialect in Dialect::ALL {
            let mut body = request(dialect, vec![function(dialect, "one", &unknown)], &unknown);
            dialect.declare(&mut body, vec![json!({"name": "control"})]);
            dialect.add_prompt(&mut body, "prompt");
            dialect.append(&mut body, vec![json!({"role": "assistant", "content": "x"})]);
            prop_assert_eq!(&body["x_first"], &unknown);
            prop_assert_eq!(&body["x_last"], &unknown);
            let history = body[dialect.history_field()].as_array().unwrap();
            let user = history.iter().find(|entry| entry["role"] == "user").unwrap();
            prop_assert_eq!(&user["x_inside"], &unknown);
            let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
            prop_assert_eq!(&keys[..3], &["model", "x_first", "tools"][..]);
        }
    }

    /// Nothing that a client may send makes reading fail otherwise than with a refusal.
    #[test]
    fn any_body_is_read_or_refused(body in any_json(), tools in any_json(), history in any_json()) {
        for dialect in Dialect::ALL {
            let mut whole = json!({"tools": tools});
            whole[dialect.history_field()] = history.clone();
            for body in [&body, &whole] {
                let _ = dialect.check(body).map_err(|refusal| refusal.to_json(dialect));
                let _ = dialect.offer(body, Native::Replaced);
                let _ = dialect.offer(body, Native::Passed);
                let _ = dialect.past(body);
                let _ = dialect.first_user_text(body);
                let _ = dialect.has_tools(body);
                let mut body = body.clone();
                dialect.settle_history(&mut body, Native::Replaced);
                dialect.add_prompt(&mut body, "prompt");
                dialect.append(&mut body, vec![json!({})]);
                let _ = dialect.read(&mut body);
            }
        }
    }
}

#[test]
fn every_kind_of_tool_has_its_rule() {
    let body = json!({"input": "hi", "tool_choice": {"type": "function", "name": "chosen"}, "tools": [
        {"type": "function", "name": "plain"},
        {"type": "function", "name": "chosen"},
        {"type": "function", "name": "marked", "defer_loading": false},
        {"type": "function", "name": "late", "defer_loading": true},
        {"type": "custom", "name": "patch", "format": {"type": "grammar"}},
        {"type": "namespace", "name": "docs", "tools": [{"type": "function", "name": "search"}]},
        {"type": "namespace", "name": "crm", "tools": [
            {"type": "function", "name": "search", "defer_loading": true}]},
        {"type": "tool_search", "execution": "client", "description": "d"},
        {"type": "web_search"},
        {"type": "future_type", "x": 1},
    ]});
    let dialect = Dialect::OpenAiResponses;
    let stays = |native| {
        let offer = dialect.offer(&body, native).unwrap();
        let stay = |tool: &crate::Offered| (format!("{}:{}", tool.owner(), tool.name), tool.stay);
        let kept: Vec<Value> = offer
            .kept
            .iter()
            .map(|entry| entry["type"].clone())
            .collect();
        let tools: Vec<_> = offer.tools.iter().map(stay).collect();
        (tools, kept)
    };
    let (tools, kept) = stays(Native::Replaced);
    let expected = [
        ("client:plain", None),
        ("client:chosen", Some(Stay::Chosen)),
        ("client:marked", Some(Stay::Marked)),
        ("client:late", None),
        ("client:patch", Some(Stay::FreeText)),
        ("docs:search", None),
        ("crm:search", None),
        ("client:client_tool_search", Some(Stay::Deferred)),
    ];
    assert_eq!(tools, expected.map(|(name, stay)| (name.to_owned(), stay)));
    assert_eq!(kept, ["web_search", "future_type"]);
    let (tools, kept) = stays(Native::Passed);
    assert_eq!(tools[3], ("client:late".to_owned(), Some(Stay::Deferred)));
    assert_eq!(tools[6], ("crm:search".to_owned(), Some(Stay::Deferred)));
    assert_eq!(tools.len(), 7);
    let expected = [
        "function",
        "namespace",
        "tool_search",
        "web_search",
        "future_type",
    ];
    assert_eq!(kept, expected);
}

#[test]
fn doubled_and_illegal_names_are_refused_in_the_dialects_shape() {
    for dialect in Dialect::ALL {
        let refused = |names: &[&str]| {
            let tools = names.iter().map(|name| function(dialect, name, &json!(1)));
            let body = request(dialect, tools.collect(), &json!(1));
            dialect.offer(&body, Native::Replaced).unwrap_err()
        };
        assert_eq!(refused(&["same", "same"]).code, Some("duplicate_tool"));
        for name in ["", "with space", "dots.are.not", &"x".repeat(129)] {
            let refusal = refused(&[name]);
            assert_eq!(refusal.code, Some("invalid_tool_name"), "{name}");
            let shape = refusal.to_json(dialect);
            assert!(shape["error"]["message"].is_string(), "{shape}");
            assert_eq!(shape["error"]["type"], "invalid_request_error");
        }
    }
    let long = "x".repeat(100);
    let dialect = Dialect::AnthropicMessages;
    let body = request(
        dialect,
        vec![function(dialect, &long, &json!(1))],
        &json!(1),
    );
    assert!(dialect.offer(&body, Native::Replaced).is_ok());
}

#[test]
fn prompts_go_behind_what_is_there() {
    let chat = Dialect::OpenAiChat;
    let mut body = json!({"messages": [{"role": "developer", "content": "be brief"}]});
    chat.add_prompt(&mut body, "tools");
    assert_eq!(body["messages"][0]["content"], "be brief\n\ntools");
    let mut body = json!({"messages": [{"role": "user", "content": "hi"}]});
    chat.add_prompt(&mut body, "tools");
    assert_eq!(
        body["messages"][0],
        json!({"role": "system", "content": "tools"})
    );
    let mut body = json!({"system": [{"type": "text", "text": "a"}], "messages": []});
    Dialect::AnthropicMessages.add_prompt(&mut body, "tools");
    assert_eq!(body["system"][1]["text"], "tools");
    let mut body = json!({"input": "hi"});
    Dialect::OpenAiResponses.add_prompt(&mut body, "tools");
    assert_eq!(body["instructions"], "tools");
}

#[test]
fn a_provider_without_deferred_loading_reads_words_instead() {
    let mut body = json!({"messages": [
        {"role": "assistant", "content": [{"type": "tool_search_tool_result", "content": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t",
            "content": [{"type": "tool_reference", "tool_name": "get_weather"}]}]},
    ]});
    Dialect::AnthropicMessages.settle_history(&mut body, Native::Replaced);
    let text = body.to_string();
    assert!(
        !text.contains("tool_reference") && text.contains("get_weather"),
        "{text}"
    );
    let mut body = json!({"input": [
        {"type": "tool_search_call", "call_id": "c", "arguments": {"query": "x"}},
        {"type": "tool_search_output", "call_id": "c", "tools": [{"type": "namespace",
            "name": "memory", "tools": [{"type": "function", "name": "create"}]}]},
    ]});
    let dialect = Dialect::OpenAiResponses;
    let offer = dialect.offer(&body, Native::Replaced).unwrap();
    assert_eq!(offer.tools[0].owner(), "memory");
    dialect.settle_history(&mut body, Native::Replaced);
    assert_eq!(body["input"][0]["arguments"], r#"{"query":"x"}"#);
    assert!(
        body["input"][1]["output"]
            .as_str()
            .unwrap()
            .contains("client:memory:create")
    );
}

#[test]
fn a_demand_for_a_call_ends_with_the_call() {
    let relaxed = |dialect: Dialect, choice: Value| {
        let mut body = json!({ "tool_choice": choice });
        dialect.relax_choice(&mut body);
        body["tool_choice"].clone()
    };
    let (chat, messages) = (Dialect::OpenAiChat, Dialect::AnthropicMessages);
    assert_eq!(relaxed(chat, json!("required")), "auto");
    let any = json!({"type": "any", "disable_parallel_tool_use": true});
    let auto = json!({"type": "auto", "disable_parallel_tool_use": true});
    assert_eq!(relaxed(messages, any), auto);
    for choice in [
        json!("none"),
        json!({"type": "function", "function": {"name": "f"}}),
    ] {
        assert_eq!(relaxed(chat, choice.clone()), choice);
    }
}
