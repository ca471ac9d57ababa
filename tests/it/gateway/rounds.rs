//! Questions of real servers to clients whose requests stand for themselves: put into the answer, and
//! answered with the request that is made again. One server asks on its connection, as of 2025-11-25,
//! the other by its answers, as of 2026-07-28.

use serde_json::{Value, json};

use super::caller::Alone;
use crate::support::{Home, HttpGateway, Lines, eventually, file_of_package};

fn home() -> Home {
    let home = Home::new();
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let upstream = file_of_package("conformance/upstream.py");
    let settings = json!({
        "tools": { "toolSearch": false },
        "agents": { "list": [{ "id": "other" }] },
        "mcpServers": {
            "session": { "command": python, "args": [upstream] },
            "rounds": { "command": python, "args": [upstream, "2026-07-28"] },
        },
    });
    home.configure_text(&settings.to_string());
    home
}

fn gateway() -> (Home, HttpGateway) {
    let home = home();
    let gateway = HttpGateway::start(&home, &[]);
    let anybody = Alone::new(&gateway, "/mcp", json!({}));
    eventually("both servers are listed", || {
        let tools = anybody.result("tools/list", json!({}))["tools"].take();
        let tools = tools.to_string();
        (tools.contains("test_elicitation") && tools.contains("test_sampling")).then_some(())
    });
    (home, gateway)
}

fn everything() -> Value {
    json!({ "elicitation": {}, "sampling": {}, "roots": {} })
}

fn text(result: &Value) -> &str {
    assert_eq!(result["resultType"], "complete", "{result}");
    result["content"][0]["text"].as_str().unwrap()
}

/// The first question of an answer that asks, and the state that came with it.
fn asked(result: &Value) -> (String, Value, Value) {
    assert_eq!(result["resultType"], "input_required", "{result}");
    let questions = result["inputRequests"].as_object().unwrap();
    let (name, question) = questions.iter().next().unwrap();
    (
        name.clone(),
        question.clone(),
        result["requestState"].clone(),
    )
}

fn accepted(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// The same call again, with answers.
fn again(name: &str, arguments: &Value, state: &Value, responses: Value) -> Value {
    json!({ "name": name, "arguments": arguments, "requestState": state, "inputResponses": responses })
}

#[test]
fn a_question_is_in_the_answer_however_the_server_asks_it() {
    let (_home, gateway) = gateway();
    let caller = Alone::new(&gateway, "/mcp", json!({ "elicitation": {} }));
    let arguments = json!({ "message": "Who are you?" });
    for (tool, words, said) in [
        ("test_elicitation", "session asks: Who are you?", "\"Anna\""),
        (
            "test_input_required_result_elicitation",
            "rounds asks: What is your name?",
            "Hello, Anna!",
        ),
    ] {
        let call = json!({ "name": tool, "arguments": arguments });
        let (name, question, state) = asked(&caller.result("tools/call", call));
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(question["params"]["message"], words);
        assert!(question["params"]["requestedSchema"]["properties"].is_object());
        let answers = json!({ name: accepted(json!({ "username": "Anna", "name": "Anna" })) });
        let done = caller.result("tools/call", again(tool, &arguments, &state, answers));
        assert!(text(&done).contains(said), "{done}");
    }
    // What a person declines, the server hears.
    let call = json!({ "name": "test_elicitation", "arguments": arguments });
    let (name, _, state) = asked(&caller.result("tools/call", call));
    let no = json!({ name: { "action": "decline" } });
    let done = caller.result(
        "tools/call",
        again("test_elicitation", &arguments, &state, no),
    );
    assert!(text(&done).contains("decline"), "{done}");
}

#[test]
fn what_is_asked_at_once_is_answered_at_once_and_round_by_round() {
    let (_home, gateway) = gateway();
    let caller = Alone::new(&gateway, "/mcp", everything());
    let tool = "test_input_required_result_multiple_inputs";
    let none = json!({});
    let first = caller.result("tools/call", json!({ "name": tool }));
    let methods: Vec<&str> = ["client_roots", "greeting", "user_name"]
        .iter()
        .map(|name| first["inputRequests"][name]["method"].as_str().unwrap())
        .collect();
    assert_eq!(
        methods,
        ["roots/list", "sampling/createMessage", "elicitation/create"]
    );
    let message =
        json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Hi" } });
    let some = json!({ "greeting": message, "client_roots": { "roots": [] } });
    let (name, _, state) = asked(&caller.result(
        "tools/call",
        again(tool, &none, &first["requestState"], some),
    ));
    assert_eq!(name, "user_name", "only what is open is asked for again");
    let rest = json!({ "user_name": accepted(json!({ "name": "Anna" })) });
    let done = caller.result("tools/call", again(tool, &none, &state, rest));
    assert_eq!(text(&done), "Hi Anna");

    let tool = "test_input_required_result_multi_round";
    let (one, _, state) = asked(&caller.result("tools/call", json!({ "name": tool })));
    let answers = json!({ one: accepted(json!({ "name": "Anna" })) });
    let (two, _, next) = asked(&caller.result("tools/call", again(tool, &none, &state, answers)));
    assert_eq!(two, "step2");
    assert_ne!(state, next);
    let answers = json!({ two: accepted(json!({ "color": "blue" })) });
    let done = caller.result("tools/call", again(tool, &none, &next, answers));
    assert_eq!(text(&done), "Anna: blue");

    let prompt = json!({ "name": "test_input_required_result_prompt" });
    let (name, _, state) = asked(&caller.result("prompts/get", prompt.clone()));
    let mut more = prompt;
    more["requestState"] = state;
    more["inputResponses"] = json!({ name: accepted(json!({ "context": "a test" })) });
    let got = caller.result("prompts/get", more);
    assert_eq!(got["messages"][0]["content"]["text"], "Context: a test");
}

#[test]
fn a_state_is_for_one_caller_one_request_and_one_time() {
    let (_home, gateway) = gateway();
    let caller = Alone::new(&gateway, "/mcp", everything());
    let other = Alone::new(&gateway, "/mcp/other", everything());
    let (tool, none) = ("test_input_required_result_request_state", json!({}));
    let (name, _, state) = asked(&caller.result("tools/call", json!({ "name": tool })));
    let yes = || json!({ name.clone(): accepted(json!({ "ok": true })) });
    let tampered = json!(format!("{}-TAMPERED", state.as_str().unwrap()));
    for (whose, params) in [
        (&other, again(tool, &none, &state, yes())),
        (&caller, again(tool, &none, &tampered, yes())),
        (&caller, again(tool, &json!({ "a": 1 }), &state, yes())),
        (
            &caller,
            again(
                "test_input_required_result_elicitation",
                &none,
                &state,
                yes(),
            ),
        ),
    ] {
        let (_, refused) = whose.ask("tools/call", params);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    let done = caller.result("tools/call", again(tool, &none, &state, yes()));
    assert!(text(&done).starts_with("state-ok"), "{done}");
    let (_, twice) = caller.ask("tools/call", again(tool, &none, &state, yes()));
    assert_eq!(twice["error"]["code"], -32602, "{twice}");
}

#[test]
fn a_client_hears_what_it_would_have_to_declare() {
    let (_home, gateway) = gateway();
    let bare = Alone::new(&gateway, "/mcp", json!({ "roots": {} }));
    let arguments = json!({ "message": "?", "prompt": "?" });
    for (tool, capability) in [
        ("test_elicitation", "elicitation"),
        ("test_missing_capability", "sampling"),
    ] {
        let (status, refused) = bare.ask(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        );
        assert_eq!(
            (status, &refused["error"]["code"]),
            (400, &json!(-32021)),
            "{refused}"
        );
        let required = &refused["error"]["data"]["requiredCapabilities"];
        assert!(required[capability].is_object(), "{refused}");
    }
    // Only what was declared is asked for.
    let tool = "test_input_required_result_capabilities";
    let (name, question, _) = asked(&bare.result("tools/call", json!({ "name": tool })));
    assert_eq!(
        (name.as_str(), &question["method"]),
        ("roots", &json!("roots/list"))
    );
}

/// A client of 2025-11-25 in front of a server of 2026-07-28.
#[test]
fn a_client_of_a_session_is_asked_by_a_request() {
    let home = home();
    let mut lines = Lines::start(home.command(&["serve"]));
    let mut ask = |message: Value, ends: &str| {
        lines.send(&message.to_string());
        loop {
            let line: Value = serde_json::from_str(&lines.next()).unwrap();
            if line["id"] == ends || line["method"] == ends {
                return line;
            }
        }
    };
    let client = json!({ "protocolVersion": "2025-11-25", "capabilities": { "sampling": {} },
        "clientInfo": { "name": "bare", "version": "1" } });
    let hello =
        json!({ "jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": client });
    ask(hello, "hello");
    let list = json!({ "jsonrpc": "2.0", "id": "list", "method": "tools/list" });
    eventually("the server is listed", || {
        let listed = ask(list.clone(), "list").to_string();
        listed.contains("test_sampling").then_some(())
    });
    let call = json!({ "name": "test_sampling", "arguments": { "prompt": "Say hi" } });
    let call = json!({ "jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": call });
    let asked = ask(call, "sampling/createMessage");
    let prompt = &asked["params"]["messages"][0]["content"]["text"];
    assert_eq!(prompt, "Say hi");
    let said =
        json!({ "role": "assistant", "model": "m", "content": { "type": "text", "text": "Hi" } });
    let said = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": said });
    let done = ask(said, "call");
    assert_eq!(
        done["result"]["content"][0]["text"], "LLM response: Hi",
        "{done}"
    );
}

#[test]
fn headers_that_repeat_arguments_are_checked() {
    let (_home, gateway) = gateway();
    let caller = Alone::new(&gateway, "/mcp", json!({}));
    let call = |headers: &[(&str, &str)]| {
        let params = json!({ "name": "test_header_parameter", "arguments": { "region": "Köln" } });
        let (status, mut answer) = caller.ask_with("tools/call", params, headers);
        (status, answer["error"]["code"].take())
    };
    assert_eq!(
        call(&[("Mcp-Param-Region", "=?base64?S8O2bG4=?=")]),
        (200, Value::Null)
    );
    let mismatch = (400, json!(-32020));
    assert_eq!(call(&[]), mismatch);
    assert_eq!(call(&[("Mcp-Param-Region", "Bonn")]), mismatch);
    assert_eq!(
        call(&[("Mcp-Param-Region", "=?base64?S8O2bG4?=")]),
        mismatch
    );
    let twice = ("Mcp-Param-Region", "=?base64?S8O2bG4=?=");
    assert_eq!(call(&[twice, twice]), mismatch);
}

#[test]
fn words_of_the_handshake_are_unknown_where_there_is_none() {
    let (_home, gateway) = gateway();
    let caller = Alone::new(&gateway, "/mcp", json!({}));
    for method in ["initialize", "ping"] {
        let (status, refused) = caller.ask(method, json!({ "protocolVersion": "2026-07-28" }));
        assert_eq!(
            (status, &refused["error"]["code"]),
            (404, &json!(-32601)),
            "{refused}"
        );
    }
}
