//! The OpenAI and Anthropic Python SDKs through the proxy, against the same scripted model as directly.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use toolsearch_it::model::{Asked, Said, ScriptedModel, Wire};

use super::client::real;
use crate::proxy::world::{Lane, Setup};
use crate::support::{Mode, Upstream, file_of_package, received};

/// The client's tool that the user means.
const TARGET: &str = "svc03_archive_ticket";

/// Two hundred tools as the SDKs are given them.
fn tools() -> Vec<Value> {
    let verbs = [
        "list", "get", "create", "update", "delete", "archive", "export", "search",
    ];
    let things = ["invoice", "ticket", "contract", "shipment", "meeting"];
    let tool = |at: usize| {
        let (verb, thing, service) = (verbs[at % 8], things[(at / 8) % 5], at / 40);
        json!({
            "name": format!("svc{service:02}_{verb}_{thing}"),
            "description": format!("{verb} {thing} records in service {service}, one or many, by the \
                text that names them; tells what became of each"),
            "schema": {"type": "object", "required": ["q"], "properties": {
                "q": {"type": "string", "description": "Which record, in the user's words"},
                "reason": {"type": "string", "description": "Why, for the log of the service"}}},
        })
    };
    (0..200).map(tool).collect()
}

/// Calls the target, and a tool of the gateway's own where it can be found; then says what came back.
fn play(asked: &Asked) -> Said {
    let args = json!({"q": "42"});
    let results = asked.results();
    if asked.declares(TARGET) {
        return match results.as_slice() {
            [] => Said::call(TARGET, &args),
            [.., last] => Said::text(format!("The tool said: {last}")),
        };
    }
    if asked.declares("tool_search_code") {
        let code = format!(
            "const hits = await tools.search('archive ticket service 3', {{ limit: 8 }});\n\
             const own = await tools.callValue('mcp:counter:count_up', {{}});\n\
             const hit = hits.find(hit => hit.name === {TARGET:?}) ?? {{ id: {TARGET:?} }};\n\
             return await tools.callValue(hit.id, {{ q: '42' }});"
        );
        return match results.as_slice() {
            [] => Said::call("tool_search_code", &json!({ "code": code })),
            [.., last] => {
                let value: Value = serde_json::from_str(last).unwrap_or_default();
                let value = value["value"].as_str().unwrap_or(last).to_owned();
                Said::text(format!("The tool said: {value}"))
            }
        };
    }
    match results.as_slice() {
        [] => Said::call("tool_search", &json!({"query": "archive ticket"})).and(
            "tool_call",
            &json!({"id": "mcp:counter:count_up", "args": {}}),
        ),
        [_, _] => Said::call("tool_call", &json!({"id": TARGET, "args": args})),
        [.., last] => Said::text(format!("The tool said: {last}")),
    }
}

/// What the SDK saw of a conversation.
fn talk(base: &str, dialect: &str, stream: bool, chain: bool) -> Value {
    let setup = json!({
        "base": base, "dialect": dialect, "model": "scripted", "stream": stream, "chain": chain,
        "tools": tools(), "message": "Archive ticket 42 in service 3.", "headers": {},
    });
    let mut child = Command::new(real("venv/bin/python"))
        .arg(file_of_package("real-servers/clients/models.py"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(setup.to_string().as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The conversation directly and through the proxy in a mode, whole, streamed and chained.
fn same_as_directly(dialect: &str, wire: Wire, mode: Mode) {
    let direct = ScriptedModel::start(play).unwrap();
    let direct_base = format!("http://{}", direct.address());
    let expected = talk(&direct_base, dialect, false, false);
    assert_eq!(
        expected["calls"],
        json!([[TARGET, {"q": "42"}]]),
        "{expected}"
    );
    let direct_bytes = direct.take()[0].raw.len();
    let chains = if wire == Wire::Responses {
        &[false, true][..]
    } else {
        &[false][..]
    };
    for chain in chains {
        for stream in [false, true] {
            let entry = json!({"name": "count_up", "inputSchema": {"type": "object"}});
            let one = r#"{"content":[{"type":"text","text":"1"}]}"#;
            let counter = Upstream::new("counter", vec![entry]).answers("count_up", one);
            let lane = Lane::over(Setup::new(mode), &[counter], play);
            let base = format!("http://{}", lane.gateway.address());
            let seen = talk(&base, dialect, stream, *chain);
            let what = format!("{dialect} {mode:?} stream {stream} chain {chain}");
            for field in ["calls", "text", "turns"] {
                assert_eq!(seen[field], expected[field], "{what} {field}: {seen}");
            }
            if mode != Mode::Directory {
                assert_eq!(received(&lane.home, "counter").len(), 1, "{what}");
                let bytes = lane.model.take()[0].raw.len();
                assert!(
                    bytes * 10 <= direct_bytes,
                    "{what}: {bytes} of {direct_bytes}"
                );
            }
        }
    }
}

#[test]
fn the_openai_sdk_over_chat_completions_in_mode_tools() {
    same_as_directly("openai-chat", Wire::Chat, Mode::Tools);
}

#[test]
fn the_openai_sdk_over_chat_completions_in_mode_code() {
    same_as_directly("openai-chat", Wire::Chat, Mode::Code);
}

#[test]
fn the_openai_sdk_over_chat_completions_in_mode_directory() {
    same_as_directly("openai-chat", Wire::Chat, Mode::Directory);
}

#[test]
fn the_openai_sdk_over_responses_in_mode_tools() {
    same_as_directly("openai-responses", Wire::Responses, Mode::Tools);
}

#[test]
fn the_openai_sdk_over_responses_in_mode_code() {
    same_as_directly("openai-responses", Wire::Responses, Mode::Code);
}

#[test]
fn the_anthropic_sdk_over_messages_in_mode_tools() {
    same_as_directly("anthropic-messages", Wire::Messages, Mode::Tools);
}

#[test]
fn the_anthropic_sdk_over_messages_in_mode_code() {
    same_as_directly("anthropic-messages", Wire::Messages, Mode::Code);
}

/// Refusals have the shape that the SDKs read.
#[test]
fn the_sdks_read_refusals() {
    let lane = Lane::open(Mode::Tools, |_: &Asked| {
        Said::refusal(
            429,
            json!({"error": {"message": "slow down", "type": "rate_limit_error"}}),
        )
    });
    let base = format!("http://{}", lane.gateway.address());
    for dialect in ["openai-chat", "openai-responses", "anthropic-messages"] {
        let seen = talk(&base, dialect, false, false);
        assert_eq!(
            (&seen["error"], &seen["status"]),
            (&json!("RateLimitError"), &json!(429)),
            "{seen}"
        );
    }
}
