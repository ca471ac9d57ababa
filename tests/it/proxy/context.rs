//! What a model sees stays the same where nothing changed, and follows what did.

use serde_json::{Value, json};
use toolsearch_it::model::{Asked, Said, Wire};

use super::world::{Lane, Setup, many, request, tool};
use crate::support::{Mode, Upstream, eventually};

fn server(owner: &str, tools: &[&str]) -> Upstream {
    let entry = |name: &&str| {
        json!({"name": name, "description": format!("Does {name}"),
               "inputSchema": {"type": "object", "properties": {}}})
    };
    Upstream::new(owner, tools.iter().map(entry).collect())
}

/// CTX-01: the order of servers, of their lists and of the client's tools changes no byte.
#[test]
fn order_changes_no_byte() {
    let script = |asked: &Asked| match asked.results().len() {
        0 if asked.declares("tool_search") => Said::call("tool_search", &json!({"query": "does"})),
        _ => Said::text("hi"),
    };
    for mode in [Mode::Tools, Mode::Directory, Mode::Code] {
        let mut seen: Option<(Value, Value, Vec<String>)> = None;
        for turned in [false, true] {
            let mut a = vec!["omega", "beta"];
            let mut b = vec!["zeta", "alpha", "mu"];
            let mut client = many(Wire::Messages, 40);
            if turned {
                a.reverse();
                b.reverse();
                client.reverse();
            }
            let mut servers = vec![server("b", &b), server("a", &a)];
            if turned {
                servers.reverse();
            }
            let lane = Lane::over(Setup::new(mode), &servers, script);
            let body = request(Wire::Messages, client, "go");
            lane.ask(Wire::Messages, &body);
            let last = lane.model.take().pop().unwrap();
            let now = (
                last.body["tools"].clone(),
                last.body["system"].clone(),
                last.results(),
            );
            if let Some(before) = &seen {
                assert_eq!(before.0.to_string(), now.0.to_string(), "{mode:?}");
                assert_eq!(*before, now, "{mode:?}");
            }
            seen = Some(now);
        }
    }
}

/// CTX-03: a session sees new servers and loses old ones, and the beginning of what its model is sent
/// stays the same.
#[test]
fn changes_reach_a_conversation_and_its_beginning_stays() {
    let script = |asked: &Asked| {
        let user = asked.body["messages"].as_array().unwrap();
        let user = user
            .iter()
            .rev()
            .find(|message| message["role"] == "user")
            .unwrap();
        let said = user["content"].as_str().unwrap_or_default();
        match (said, asked.results().last()) {
            (_, Some(result)) => Said::text(result.clone()),
            ("search", None) => Said::call("tool_search", &json!({"query": "add_note"})),
            (_, None) => Said::call(
                "tool_call",
                &json!({"id": "mcp:osv:get_vulnerability", "args": {}}),
            ),
        }
    };
    let both = [
        server("fetch", &["fetch_page"]),
        server("osv", &["get_vulnerability"]),
    ];
    let mut lane = Lane::over(Setup::new(Mode::Tools), &both, script);
    let session = [("X-Toolsearch-Session", "one")];
    let ask = |lane: &Lane, what: &str| {
        let body = request(Wire::Chat, many(Wire::Chat, 20), what);
        let back = lane.post_with(Wire::Chat, &session, &body);
        assert_eq!(back.status, 200, "{}", back.body);
        let first = lane.model.take().remove(0);
        let text = back.json()["choices"][0]["message"]["content"].to_string();
        (first.body["tools"].clone(), text)
    };
    let (before, found) = ask(&lane, "search");
    assert!(!found.contains("mcp:notes:add_note"), "{found}");
    let (name, entry) = server("notes", &["add_note"]).install(&lane.home);
    lane.change(|setup| {
        setup.servers[name] = entry;
        setup.servers.as_object_mut().unwrap().remove("osv");
    });
    let after = eventually("the new server's tool is found", || {
        let (after, found) = ask(&lane, "search");
        found.contains("mcp:notes:add_note").then_some(after)
    });
    assert_eq!(before.to_string(), after.to_string());
    let (_, gone) = ask(&lane, "call");
    assert!(gone.contains("get_vulnerability"), "{gone}");
}

/// CTX-04: a small catalog is sent as it is, unless somebody asked for a mode.
#[test]
fn small_catalogs_are_sent_as_they_are() {
    let tools = ["a", "b", "c"]
        .map(|name| tool(Wire::Chat, name, name))
        .to_vec();
    let body = request(Wire::Chat, tools, "go");
    let mut setup = Setup::new(Mode::Tools);
    setup.tool_search = Value::Null;
    let lane = Lane::over(setup, &[], |_: &Asked| Said::text("hi"));
    lane.ask(Wire::Chat, &body);
    assert_eq!(
        lane.model.take().pop().unwrap().raw,
        body.to_string().as_bytes()
    );
    let lane = Lane::open(Mode::Tools, |_: &Asked| Said::text("hi"));
    lane.ask(Wire::Chat, &body);
    let declared = lane.model.take().pop().unwrap().declared();
    assert_eq!(declared, ["tool_search", "tool_describe", "tool_call"]);
}

/// CTX-05: the controls say what is behind them.
#[test]
fn controls_say_what_is_behind_them() {
    let servers = [
        server("github", &["create_issue"]),
        server("datadog", &["list_monitors"]),
    ];
    let lane = Lane::over(Setup::new(Mode::Tools), &servers, |_: &Asked| {
        Said::text("hi")
    });
    lane.ask(Wire::Chat, &request(Wire::Chat, many(Wire::Chat, 20), "go"));
    let asked = lane.model.take().pop().unwrap();
    let search = asked.body["tools"][0]["function"]["description"]
        .as_str()
        .unwrap();
    assert!(
        search.contains("github") && search.contains("datadog"),
        "{search}"
    );
    assert!(search.chars().count() <= 1_500);
}
