//! Client tools behind the surface: found, called, handed back under their own names.

use serde_json::{Value, json};
use toolsearch_it::model::{Asked, Said, Wire};

use super::world::{Lane, Setup, go_on, many, request, said, tool};
use crate::support::{Mode, Upstream};

/// The first hit of a search, from its result.
fn first_hit(result: &str) -> String {
    let found: Value = serde_json::from_str(result).unwrap_or_default();
    let id = found.pointer("/candidates/0/id").and_then(Value::as_str);
    id.unwrap_or("nothing was found").to_owned()
}

/// Searches, calls what it found, and says what came of it.
fn seeks(query: &str) -> impl Fn(&Asked) -> Said + Send + Sync + use<> {
    let query = query.to_owned();
    move |asked| match asked.results().as_slice() {
        [] => Said::call("tool_search", &json!({ "query": query })),
        [found] => {
            let args = json!({"id": first_hit(found), "args": {"q": "42"}});
            Said::call("tool_call", &args)
        }
        [.., last] => Said::text(format!("It says: {last}")),
    }
}

/// PXY-01: 156 tools, which no provider takes, and a call that comes back as an ordinary one.
#[test]
fn more_tools_than_a_provider_takes() {
    for wire in Wire::ALL {
        let lane = Lane::open(Mode::Tools, seeks("archive ticket"));
        let mut body = request(wire, many(wire, 156), "Archive the ticket 42");
        let answer = lane.ask(wire, &body);
        let (_, calls) = said(wire, &answer);
        let [(id, name, args)] = calls.as_slice() else {
            panic!("{wire:?}: {answer}");
        };
        assert!(name.ends_with("_archive_ticket"), "{name}");
        assert_eq!(*args, json!({"q": "42"}));
        let asked = lane.model.take();
        assert_eq!(asked.len(), 2);
        for asked in &asked {
            let controls = ["tool_search", "tool_describe", "tool_call"];
            assert_eq!(asked.declared(), controls, "{wire:?}");
        }
        assert!(asked[0].raw.len() * 10 < body.to_string().len(), "{wire:?}");
        let own = id.clone();
        go_on(wire, &mut body, &answer, &[(&own, "archived")]);
        let answer = lane.ask(wire, &body);
        assert_eq!(said(wire, &answer).0, "It says: archived", "{wire:?}");
        let last = lane.model.take().pop().unwrap();
        let past = last.body.to_string();
        assert!(!past.contains(&own), "the model sees its own ids: {past}");
        assert_eq!(last.results().len(), 2, "the search, then the call: {past}");
    }
}

/// What several turns used is added up.
#[test]
fn usage_is_the_sum_of_the_inner_turns() {
    let lane = Lane::open(Mode::Tools, seeks("archive ticket"));
    for (wire, place) in [
        (Wire::Chat, "/usage/total_tokens"),
        (Wire::Responses, "/usage/total_tokens"),
        (Wire::Messages, "/usage/input_tokens"),
    ] {
        let answer = lane.ask(wire, &request(wire, many(wire, 40), "go"));
        let expected = if wire == Wire::Messages { 20 } else { 30 };
        assert_eq!(answer.pointer(place).unwrap(), expected, "{wire:?}");
    }
}

/// PXY-02: two members of one name in two namespaces; the call comes back split as it was sent.
#[test]
fn namespaces_come_back_as_they_were_sent() {
    let script = |asked: &Asked| match asked.results().as_slice() {
        [] => Said::call(
            "tool_call",
            &json!({"id": "client:docs:search", "args": {"q": "limits"}}),
        ),
        [.., last] => Said::text(last.clone()),
    };
    let lane = Lane::open(Mode::Tools, script);
    let member = tool(Wire::Responses, "search", "Search it");
    let space = |name: &str| json!({"type": "namespace", "name": name, "description": "d", "tools": [member]});
    let tools = vec![
        tool(Wire::Responses, "exec_command", "Run a command"),
        json!({"type": "custom", "name": "apply_patch", "format": {"type": "grammar"}}),
        space("docs"),
        space("crm"),
        json!({"type": "web_search", "external_web_access": false}),
    ];
    let answer = lane.ask(Wire::Responses, &request(Wire::Responses, tools, "find"));
    let call = &answer["output"][0];
    assert_eq!(call["type"], "function_call", "{answer}");
    assert_eq!(
        (&call["name"], &call["namespace"]),
        (&json!("search"), &json!("docs"))
    );
    let asked = lane.model.take();
    let declared = asked[0].declared();
    for stays in ["apply_patch", "web_search", "tool_search"] {
        assert!(declared.iter().any(|name| name == stays), "{declared:?}");
    }
    assert!(
        !declared.iter().any(|name| name == "exec_command"),
        "{declared:?}"
    );
}

/// PXY-03: what the provider runs goes to it untouched, and so does what nobody knows.
#[test]
fn built_in_and_unknown_tools_pass_untouched() {
    let lane = Lane::open(Mode::Tools, |_: &Asked| Said::text("hi"));
    let kept = [
        json!({"type": "web_search", "search_content_types": ["text", "image"]}),
        json!({"type": "file_search", "vector_store_ids": ["vs"]}),
        json!({"type": "code_interpreter", "container": {"type": "auto"}}),
        json!({"type": "mcp", "server_label": "d", "server_url": "http://127.0.0.1:9/mcp"}),
        json!({"type": "image_generation"}),
        json!({"type": "future_type", "x": 1.0}),
    ];
    let mut tools = many(Wire::Responses, 2);
    tools.extend(kept.clone());
    lane.ask(Wire::Responses, &request(Wire::Responses, tools, "hi"));
    let asked = lane.model.take();
    let sent = asked[0].body["tools"].as_array().unwrap();
    for entry in &kept {
        assert!(sent.contains(entry), "{entry}");
    }
}

/// PXY-05: a client's own search in the history. A provider that does not know such items reads a call
/// and its result, in their places, and the tools that were found can be called.
#[test]
fn searches_of_the_client_stay_in_the_history() {
    let script = |asked: &Asked| match asked.results().len() {
        2 => Said::call("client:memory:create_entities", &json!({"entities": []})),
        _ => Said::text("done"),
    };
    let lane = Lane::open(Mode::Tools, script);
    let wire = Wire::Responses;
    let found = json!({"type": "function", "name": "create_entities", "defer_loading": true,
        "parameters": {"type": "object"}});
    let mut tools = many(wire, 20);
    tools.push(
        json!({"type": "tool_search", "execution": "client", "description": "d",
        "parameters": {"type": "object"}}),
    );
    let mut body = request(wire, tools, "Create an entity");
    body["input"].as_array_mut().unwrap().extend([
        json!({"type": "tool_search_call", "call_id": "ts1", "execution": "client",
            "status": "completed", "arguments": {"query": "create", "limit": 3}}),
        json!({"type": "tool_search_output", "call_id": "ts1", "execution": "client",
            "status": "completed",
            "tools": [{"type": "namespace", "name": "memory", "tools": [found]}]}),
        json!({"role": "developer", "content": "Added: memory"}),
        json!({"type": "function_call", "call_id": "fc1", "name": "create_entities",
            "namespace": "memory", "arguments": "{}"}),
        json!({"type": "function_call_output", "call_id": "fc1", "output": "made"}),
    ]);
    let answer = lane.ask(wire, &body);
    let call = &answer["output"][0];
    assert_eq!(
        (&call["name"], &call["namespace"]),
        (&json!("create_entities"), &json!("memory"))
    );
    let asked = lane.model.take().remove(0);
    let items = asked.body["input"].as_array().unwrap();
    let kind = |item: &Value| item["type"].as_str().unwrap_or("message").to_owned();
    let expected = [
        "message",
        "function_call",
        "function_call_output",
        "message",
        "function_call",
        "function_call_output",
    ];
    assert_eq!(items.iter().map(kind).collect::<Vec<_>>(), expected);
    assert_eq!(items[1]["arguments"], r#"{"query":"create","limit":3}"#);
    assert!(
        asked.declares("client_tool_search"),
        "{:?}",
        asked.declared()
    );
}

/// PXY-09: one batch with a tool of the gateway's and one of the client's.
#[test]
fn each_call_runs_where_its_tool_is() {
    let script = |asked: &Asked| match asked.results().len() {
        0 => Said::call(
            "tool_call",
            &json!({"id": "search_mail", "args": {"query": "x"}}),
        )
        .and(
            "tool_call",
            &json!({"id": "local_open_tab", "args": {"q": "y"}}),
        ),
        _ => Said::text(asked.results().join(" | ")),
    };
    for wire in Wire::ALL {
        let entry = json!({"name": "search_mail", "description": "Search mail",
            "inputSchema": {"type": "object", "properties": {"query": {"type": "string"}}}});
        let found = r#"{"content":[{"type":"text","text":"3 mails"}]}"#;
        let mail = Upstream::new("mail", vec![entry]).answers("search_mail", found);
        let lane = Lane::over(Setup::new(Mode::Tools), &[mail], script);
        let tools = vec![
            tool(wire, "local_open_tab", "Open a tab"),
            tool(wire, "local_read_clipboard", "Read the clipboard"),
        ];
        let mut body = request(wire, tools, "x");
        let answer = lane.ask(wire, &body);
        let (_, calls) = said(wire, &answer);
        assert_eq!(calls.len(), 1, "{wire:?}: {answer}");
        assert_eq!(
            (calls[0].1.as_str(), &calls[0].2),
            ("local_open_tab", &json!({"q": "y"}))
        );
        assert_eq!(crate::support::received(&lane.home, "mail").len(), 1);
        go_on(wire, &mut body, &answer, &[(&calls[0].0, "opened")]);
        let answer = lane.ask(wire, &body);
        let text = said(wire, &answer).0;
        assert!(
            text.contains("3 mails") && text.ends_with(" | opened"),
            "{wire:?}: {text}"
        );
        assert_eq!(
            crate::support::received(&lane.home, "mail").len(),
            1,
            "never twice"
        );
    }
}

/// PXY-11: found in one turn, called by its own name in the next, in every mode.
#[test]
fn what_was_found_can_be_called_by_its_name() {
    let script = |asked: &Asked| match asked.results().len() {
        0 if asked.declares("tool_search") => {
            Said::call("tool_search", &json!({"query": "archive ticket"}))
        }
        0 => Said::call("tool_search_code", &json!({"code": "return 1"})),
        1 => Said::call("svc00_archive_ticket", &json!({"q": "42"})),
        _ => Said::text("done"),
    };
    for mode in [Mode::Tools, Mode::Directory, Mode::Code] {
        let lane = Lane::open(mode, script);
        let body = request(Wire::Chat, many(Wire::Chat, 60), "go");
        let answer = lane.ask(Wire::Chat, &body);
        let (_, calls) = said(Wire::Chat, &answer);
        assert_eq!(calls.len(), 1, "{mode:?}: {answer}");
        assert_eq!(calls[0].1, "svc00_archive_ticket", "{mode:?}");
    }
}

/// PXY-12: what the operator or the request pins stays declared, every field of it.
#[test]
fn pinned_tools_stay_declared() {
    let mut setup = Setup::new(Mode::Tools);
    setup.tool_search["alwaysVisible"] = json!(["client:*:read", "client:*:exec"]);
    let look_alike = json!({"name": "read", "inputSchema": {"type": "object"}});
    let other = Upstream::new("other", vec![look_alike]);
    let lane = Lane::over(setup, &[other], |_: &Asked| Said::text("hi"));
    let mut tools = vec![
        tool(Wire::Chat, "read", "Read a file"),
        tool(Wire::Chat, "exec", "Run a command"),
        tool(Wire::Chat, "chosen", "Chosen"),
        tool(Wire::Chat, "marked", "Marked"),
    ];
    tools[0]["function"]["strict"] = json!(true);
    tools[3]["defer_loading"] = json!(false);
    let read = tools[0].clone();
    tools.extend(many(Wire::Chat, 50));
    let mut body = request(Wire::Chat, tools, "x");
    body["tool_choice"] = json!({"type": "function", "function": {"name": "chosen"}});
    lane.ask(Wire::Chat, &body);
    let asked = lane.model.take();
    let mut declared = asked[0].declared();
    declared.sort();
    let expected = [
        "chosen",
        "exec",
        "marked",
        "read",
        "tool_call",
        "tool_describe",
        "tool_search",
    ];
    assert_eq!(declared, expected);
    let sent = asked[0].body["tools"].as_array().unwrap();
    assert!(sent.contains(&read), "{sent:?}");
}

/// PXY-14: no words after a search are an answer all the same; searching without end is an error.
#[test]
fn every_request_ends_with_an_answer_or_an_error() {
    let search = || Said::call("tool_search", &json!({"query": "archive"}));
    let lane = Lane::open(Mode::Tools, move |asked: &Asked| {
        match asked.results().len() {
            0 => search(),
            _ => Said::text(""),
        }
    });
    let answer = lane.ask(Wire::Chat, &request(Wire::Chat, many(Wire::Chat, 20), "go"));
    let choice = &answer["choices"][0];
    assert_eq!(
        (&choice["finish_reason"], &choice["message"]["content"]),
        (&json!("stop"), &json!(""))
    );
    let lane = Lane::open(Mode::Tools, move |_: &Asked| search());
    for wire in Wire::ALL {
        let back = lane.post(wire, &request(wire, many(wire, 20), "go"));
        assert_eq!(back.status, 502, "{}", back.body);
        assert!(
            back.json()["error"]["message"]
                .as_str()
                .unwrap()
                .contains("turns")
        );
    }
    assert!(lane.model.asked().len() <= 3 * 32);
}
