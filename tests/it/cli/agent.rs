//! `toolsearch agent`: choosing a provider and a model, what is sent, and how trouble is told.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::{Ran, World};

/// Answers one request with a status and a body; gives the payload that came.
fn answering(status: &'static str, body: &Value) -> (u16, JoinHandle<Value>) {
    let (port, served) = answering_all(status, vec![body.to_string()]);
    let one = std::thread::spawn(move || served.join().expect("it served").remove(0));
    (port, one)
}

/// Answers as many requests as there are bodies; gives the payloads that came.
fn answering_all(status: &'static str, bodies: Vec<String>) -> (u16, JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let served = std::thread::spawn(move || {
        let answer = |body: &String| answer(&listener, status, body);
        bodies.iter().map(answer).collect()
    });
    (port, served)
}

fn answer(listener: &TcpListener, status: &str, body: &str) -> Value {
    let (mut stream, _) = listener.accept().expect("a client");
    let mut reader = BufReader::new(stream.try_clone().expect("a second handle"));
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a head");
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut payload = vec![0; length];
    reader.read_exact(&mut payload).expect("a body");
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\n");
    let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    stream.write_all(answer.as_bytes()).expect("it reads");
    serde_json::from_slice(&payload).expect("JSON")
}

/// Every line of the output is an event.
fn events(ran: &Ran) -> Vec<Value> {
    assert_eq!(ran.code, 0, "{ran:?}");
    let lines = ran.out.lines();
    lines
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect()
}

/// A world whose provider `mock` stands at a port, with more keys of the file.
fn world(port: u16, more: Value) -> World {
    let mut config = json!({"providers": {"mock": {
        "dialects": ["openai-chat"],
        "baseUrl": format!("http://127.0.0.1:{port}/v1"),
        "apiKey": "sk-secret-4711",
    }}});
    for (key, value) in more.as_object().expect("an object") {
        config[key] = value.clone();
    }
    World::with_config(&config.to_string())
}

fn completion() -> Value {
    json!({"choices": [{"message": {"content": "Nothing to do."}, "finish_reason": "stop"}]})
}

fn declared(payload: &Value) -> Vec<&str> {
    let tools = payload["tools"].as_array().expect("tools");
    tools
        .iter()
        .map(|tool| tool["function"]["name"].as_str().expect("a name"))
        .collect()
}

#[test]
fn an_answer_is_printed_and_the_run_is_reported() {
    let (port, served) = answering("200 OK", &completion());
    let world = world(port, json!({}));
    let ran = world.run(&[
        "--json",
        "agent",
        "-m",
        "hello",
        "--model",
        "mock/m-1",
        "--system",
        "Be brief.",
    ]);
    let events = events(&ran);
    assert_eq!(events[0], json!({ "event": "asked", "turn": 1 }));
    let report = events.last().expect("an end");
    assert_eq!(report["event"], "done");
    let payload = served.join().expect("one request");
    assert_eq!(payload["model"], "m-1");
    assert_eq!(payload["messages"][0]["content"], "Be brief.");
    assert_eq!(payload["messages"][1]["content"], "hello");
    assert_eq!(declared(&payload), ["tool_search_code"]);
    assert_eq!(report["answer"], "Nothing to do.");
    assert_eq!(report["end"], "answered");
    assert_eq!(report["model"], "mock/m-1");
    assert_eq!(report["mode"], "code");
    assert_eq!(
        report["requests"][0]["payloadBytes"],
        payload.to_string().len()
    );
    let session = report["session"].as_str().expect("a session");
    let shown = world.json(&["sessions", "show", session], 0);
    assert_eq!(shown["schemasSeenAtFirst"], 1);
}

#[test]
fn a_message_may_come_on_standard_input() {
    let (port, served) = answering("200 OK", &completion());
    let ran = world(port, json!({})).feed(&["agent", "-m", "-", "--model", "m"], "from a pipe");
    assert_eq!((ran.code, ran.out.as_str()), (0, "Nothing to do.\n"));
    let payload = served.join().expect("one request");
    assert_eq!(payload["messages"][0]["content"], "from a pipe");
}

#[test]
fn rules_of_a_provider_hold_for_its_models() {
    let deny = json!({"tools": {"byProvider": {"mock/m-1": {"deny": ["*:invoices:*"]}}}});
    let sent = |model: &str| {
        let (port, served) = answering("200 OK", &completion());
        let world = world(port, deny.clone());
        let ran = world.run(&["agent", "-m", "hello", "--mode", "direct", "--model", model]);
        assert_eq!(ran.code, 0, "{ran:?}");
        served.join().expect("one request")
    };
    let (limited, free) = (sent("mock/m-1"), sent("mock/m-2"));
    assert!(declared(&free).contains(&"create_invoice"));
    assert!(!declared(&limited).contains(&"create_invoice"));
    assert!(declared(&limited).len() > 100, "other tools stay");
}

#[test]
fn trouble_with_a_provider_tells_who_has_to_act() {
    for (status, code, words) in [
        ("401 Unauthorized", 2, "refused the key"),
        ("404 Not Found", 1, "refused the request"),
        ("503 Service Unavailable", 4, "busy or in trouble"),
    ] {
        let (port, served) = answering(status, &json!({"error": {"message": "so it is"}}));
        let ran =
            world(port, json!({})).run(&["agent", "-m", "hello", "--model", "m", "--retries", "0"]);
        served.join().expect("one request");
        ran.fails(code, &[words, "so it is"]);
        assert!(!ran.err.contains("4711"), "{ran:?}");
    }
}

#[test]
fn what_is_missing_is_named_before_anything_is_sent() {
    let none = World::with_config("{ tools: { toolSearch: true } }");
    none.run(&["agent", "-m", "hello"])
        .fails(2, &["no model", "--model"]);
    none.run(&["agent", "-m", "hello", "--model", "m"])
        .fails(2, &["no provider", "`providers`"]);
    let world = World::with_config(
        r#"{ providers: {
            keyless: { dialects: ["openai-chat"], baseUrl: "https://example.com/v1", apiKey: "${NO_SUCH_KEY_4711}" },
        } }"#,
    );
    world
        .run(&["agent", "-m", "hello", "--model", "keyless/x"])
        .fails(4, &["`keyless`", "NO_SUCH_KEY_4711"]);
    world
        .run(&[
            "agent",
            "-m",
            "hello",
            "--model",
            "m",
            "--provider",
            "nobody",
        ])
        .fails(2, &["`nobody`"]);
}

#[test]
fn a_conversation_goes_on_line_by_line() {
    let bodies = vec![completion().to_string(), completion().to_string()];
    let (port, served) = answering_all("200 OK", bodies);
    let ran = world(port, json!({})).feed(
        &["agent", "-m", "first", "--interactive", "--model", "m"],
        "\nsecond\n",
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.out, "Nothing to do.\nNothing to do.\n");
    let payloads = served.join().expect("two requests");
    let contents = |payload: &Value| -> Vec<Value> {
        let messages = payload["messages"].as_array().expect("messages");
        messages.iter().map(|one| one["content"].clone()).collect()
    };
    assert_eq!(
        contents(&payloads[1]),
        ["first", "Nothing to do.", "second"].map(Value::from)
    );
    assert_eq!(payloads[1]["stream"], true);
}

#[test]
fn a_provider_is_spoken_to_in_its_dialect() {
    let answer = json!({
        "type": "message", "role": "assistant", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": "Nothing to do."}],
        "usage": {"input_tokens": 5, "output_tokens": 4},
    });
    let (port, served) = answering("200 OK", &answer);
    let config = json!({"providers": {"claude": {
        "dialects": ["anthropic-messages"], "baseUrl": format!("http://127.0.0.1:{port}/v1"),
    }}});
    let world = World::with_config(&config.to_string());
    let ran = world.run(&["--json", "agent", "-m", "hello", "--model", "claude/c-1"]);
    let events = events(&ran);
    let done = events.last().expect("an end");
    assert_eq!(done["answer"], "Nothing to do.");
    assert_eq!(
        done["usage"],
        json!({ "inputTokens": 5, "outputTokens": 4 })
    );
    let payload = served.join().expect("one request");
    assert_eq!(payload["tools"][0]["name"], "tool_search_code");
    assert!(payload["tools"][0]["input_schema"].is_object());
}
