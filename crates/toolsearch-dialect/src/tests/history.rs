//! A past that comes back is given the calls that the model made.

use serde_json::{Value, json};
use toolsearch_mode::Rendered;

use crate::{Arguments, Call, Dialect, Edit};

/// What the client was handed, and what it sends back with the result.
fn client_history(dialect: Dialect) -> Value {
    match dialect {
        Dialect::OpenAiChat => json!({"messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "Well.", "tool_calls": [
                {"id": "own", "type": "function", "function": {"name": "pick", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "own", "content": "red"},
            {"role": "user", "content": "and?"},
        ]}),
        Dialect::OpenAiResponses => json!({"input": [
            {"role": "user", "content": "go"},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "role": "assistant",
             "content": [{"type": "output_text", "text": "Well."}]},
            {"type": "function_call", "call_id": "own", "name": "pick", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "own", "output": "red"},
            {"role": "user", "content": "and?"},
        ]}),
        Dialect::AnthropicMessages => json!({"messages": [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Well."},
                {"type": "tool_use", "id": "own", "name": "pick", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "own", "content": "red",
                 "cache_control": {"type": "ephemeral"}},
                {"type": "text", "text": "and?"}]},
        ]}),
    }
}

fn visible(dialect: Dialect) -> Vec<Value> {
    match dialect {
        Dialect::OpenAiResponses => vec![
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "status": null}),
            json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [
                {"type": "output_text", "text": "Well.", "annotations": []}]}),
        ],
        _ => Vec::new(),
    }
}

#[test]
fn calls_and_results_are_found() {
    for dialect in Dialect::ALL {
        let past = dialect.past(&client_history(dialect));
        assert_eq!(past.calls, ["own"], "{dialect}");
        assert_eq!(past.results.len(), 1);
        assert_eq!(past.results[0].id, "own");
        assert_eq!(past.results[0].outcome.joined_text(), "red");
    }
}

#[test]
fn inner_calls_come_instead_of_the_clients_own() {
    for dialect in Dialect::ALL {
        let inner = Call::new("c1", "tool_call", Arguments::read(None));
        let mut instead = vec![json!({"role": "assistant", "content": "inner"})];
        instead.extend(dialect.results(&[(inner, Rendered::text("red"))]));
        let mut body = client_history(dialect);
        let edit = Edit::new(vec!["own".to_owned()], visible(dialect), instead);
        dialect.splice(&mut body, &[edit]);
        let text = body.to_string();
        for gone in ["own", "Well.", "rs_1"] {
            assert!(!text.contains(gone), "{dialect}: {text}");
        }
        for there in ["inner", "red", "and?", "go"] {
            assert_eq!(text.matches(there).count(), 1, "{dialect}: {text}");
        }
    }
    let dialect = Dialect::AnthropicMessages;
    let mut body = client_history(dialect);
    let call = Call::new("c1", "tool_call", Arguments::read(None));
    let instead = dialect.results(&[(call, Rendered::text("red"))]);
    dialect.splice(
        &mut body,
        &[Edit::new(vec!["own".to_owned()], Vec::new(), instead)],
    );
    let last = body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"][0]["cache_control"]["type"], "ephemeral");
    assert_eq!(last["content"][1]["text"], "and?");
}

#[test]
fn results_alone_are_replaced_where_the_provider_keeps_the_calls() {
    let dialect = Dialect::OpenAiResponses;
    let mut body = json!({"previous_response_id": "r", "input": [
        {"type": "function_call_output", "call_id": "own", "output": "red"}]});
    let call = Call::new("c1", "tool_call", Arguments::read(None));
    let instead = dialect.results(&[(call, Rendered::text("red"))]);
    dialect.splice(
        &mut body,
        &[Edit::new(vec!["own".to_owned()], Vec::new(), instead)],
    );
    assert_eq!(body["input"][0]["call_id"], "c1");
    assert_eq!(body["input"].as_array().unwrap().len(), 1);
}
