//! Agents with their own rules, tokens that are bound to them, and where the gateway may listen.

use serde_json::{Value, json};

use super::caller::{Caller, request};
use crate::support::{Home, HttpGateway, Upstream, json_text, names};

fn tool(name: &str) -> Value {
    json!({ "name": name, "description": format!("Will {name}."), "inputSchema": { "type": "object" } })
}

/// Tickets for the agent of the support, everything for everybody else.
fn home(gateway: &Value) -> Home {
    let home = Home::new();
    let tickets = Upstream::new("tickets", vec![tool("close_ticket")]).install(&home);
    let billing = Upstream::new("billing", vec![tool("refund_invoice")]).install(&home);
    let settings = json!({
        "tools": { "toolSearch": { "mode": "tools" } },
        "agents": { "list": [{ "id": "support", "tools": { "allow": ["mcp:tickets:*"] } }] },
        "mcpServers": { tickets.0: tickets.1, billing.0: billing.1 },
        "gateway": gateway,
    });
    home.configure_text(&settings.to_string());
    home
}

fn finds(caller: &Caller, query: &str) -> Vec<String> {
    let found = json_text(&caller.call("tool_search", &json!({ "query": query })));
    let hits = found["candidates"].as_array().unwrap();
    hits.iter()
        .map(|hit| hit["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn every_agent_has_its_own_endpoint_and_rules() {
    let home = home(&json!({}));
    let gateway = HttpGateway::start(&home, &[]);
    let anyone = Caller::open(&gateway, "/mcp", None);
    assert_eq!(
        finds(&anyone, "refund invoice"),
        ["mcp:billing:refund_invoice"]
    );
    let support = Caller::open(&gateway, "/mcp/support", None);
    assert!(finds(&support, "refund invoice").is_empty());
    assert_eq!(
        finds(&support, "close ticket"),
        ["mcp:tickets:close_ticket"]
    );
    let denied = support.call("tool_call", &json!({ "id": "mcp:billing:refund_invoice" }));
    assert_eq!(denied["isError"], true, "{denied}");
    let direct = Caller::open(&gateway, "/mcp/support?mode=direct", None);
    assert_eq!(names(&direct.list()), ["close_ticket"]);
    for (path, status) in [("/mcp/nobody", 404), ("/mcp?mode=dance", 400)] {
        let refused = Caller::try_open(&gateway, path, None).err().expect(path);
        assert_eq!(refused.status, status, "{}", refused.body);
    }
}

#[test]
fn a_token_is_made_shown_once_and_opens_its_agent() {
    let bare = home(&json!({}));
    let made = bare.document(&["serve", "token", "desk", "--agent", "support", "--json"]);
    let token = made["token"].as_str().unwrap();
    assert!(
        made["entry"]["sha256"].as_str().unwrap().len() == 64,
        "{made}"
    );
    let home = home(&json!({ "auth": { "tokens": [made["entry"]] } }));
    let gateway = HttpGateway::start(&home, &[]);
    let refused = Caller::try_open(&gateway, "/mcp", None)
        .err()
        .expect("refused");
    assert_eq!(refused.status, 401);
    let wrong = Caller::try_open(&gateway, "/mcp/support", Some("wrong"))
        .err()
        .expect("refused");
    assert_eq!((wrong.status, &wrong.body), (401, &refused.body));
    let support = Caller::open(&gateway, "/mcp", Some(token));
    assert!(finds(&support, "refund invoice").is_empty());
    assert_eq!(
        finds(&support, "close ticket"),
        ["mcp:tickets:close_ticket"]
    );
    let foreign = Caller::try_open(&gateway, "/mcp/other", Some(token))
        .err()
        .expect("refused");
    assert_eq!(foreign.status, 403);
    let healthy = request(gateway.address(), "GET", "/healthz", &[], "");
    assert_eq!((healthy.status, healthy.body.as_str()), (200, "ok\n"));
}

#[test]
fn an_open_address_without_tokens_is_refused_with_the_way_out() {
    let home = home(&json!({ "listen": "0.0.0.0:7399" }));
    let output = home.run(&["serve", "--http"]);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("toolsearch serve token"), "{complaint}");
    let output = home.run(&["serve", "--http", "somewhere"]);
    assert_eq!(output.status.code(), Some(2));
}
