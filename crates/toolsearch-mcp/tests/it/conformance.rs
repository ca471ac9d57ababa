//! The rules that every provider and every invoker keep, on a real child process.

use std::sync::Arc;

use serde_json::json;
use toolsearch_invoke::{Invoker, Provider};
use toolsearch_testing::invoker::{self, Probe};
use toolsearch_testing::{block_on, provider};

use super::{Log, server, text, tool, with_echo};

#[test]
fn keeps_the_rules_of_providers() {
    block_on(async {
        let mut odd = tool("odd");
        odd["description"] = json!(null);
        odd["inputSchema"] = json!(true);
        let mut scenario = with_echo(json!({}), &["a b", "天气", "tool_search"]);
        if let Some(tools) = scenario["tools"].as_array_mut() {
            tools.extend([odd, json!(7), json!({"name": ""}), tool("line\nbreak")]);
        }
        let listing = provider::conforms(server(&scenario)).await;
        assert!(listing.tools.len() >= 5, "{listing:?}");

        let gone = provider::conforms(server(&json!({ "die_on": "initialize" }))).await;
        assert!(gone.outage.is_some(), "{gone:?}");
    });
}

#[test]
fn keeps_the_rules_of_invokers() {
    let log = Log::new();
    let slow = json!([{ "wait": "notifications/cancelled" }, { "reply": text("too late") }]);
    let scenario = json!({ "log": log.path(), "call": { "slow": slow } });
    let scenario = with_echo(scenario, &["slow"]);
    block_on(async {
        let server = server(&scenario);
        let listing = server.list().await;
        let named = |name: &str| {
            let tool = listing.tools.iter().find(|tool| tool.name == name);
            Arc::clone(tool.unwrap())
        };
        let running = move || {
            let lines = log.lines();
            let count = |part: &str| lines.iter().filter(|line| line.contains(part)).count();
            count("\"slow\"") > count("notifications/cancelled")
        };
        let echo = named("echo");
        let invoker = Arc::clone(&server) as Arc<dyn Invoker>;
        let probe = Probe::new(invoker, Arc::clone(&echo), &json!({ "n": 1 }))
            .echoing(echo, |outcome| {
                serde_json::from_str(&outcome.joined_text()).ok()
            })
            .endless(named("slow"), &json!({}), running);
        invoker::conforms(probe).await;
    });
}
