//! The rules that every provider and every invoker keep, on real commands.

use std::fs;
use std::sync::Arc;

use serde_json::json;
use toolsearch_invoke::Invoker;
use toolsearch_plugin::{Manifest, Plugin};
use toolsearch_testing::invoker::{self, Probe};
use toolsearch_testing::{block_on, provider};

#[test]
fn keeps_the_rules_of_providers_and_invokers() {
    let folder = tempfile::tempdir().expect("a folder");
    let tool = |name: &str, script: &str| {
        let command = json!(["sh", "-c", script]);
        json!({"name": name, "inputSchema": {"type": "object"}, "command": command})
    };
    let process = folder.path().join("process");
    let hang = format!("echo $$ > '{}'; exec sleep 1000", process.display());
    let tools = [tool("echo", "cat"), tool("hang", &hang)];
    let manifest = json!({"name": "shop", "tools": tools});
    let manifest = Manifest::from_value(manifest, folder.path()).expect("a manifest");
    let plugin = Arc::new(Plugin::new(manifest));
    let running = move || {
        let id = fs::read_to_string(&process).unwrap_or_default();
        let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
        stat.contains("(sleep)") && !stat.contains("(sleep) Z")
    };
    block_on(async {
        let listing = provider::conforms(Arc::clone(&plugin) as _).await;
        let [echo, hang] = &listing.tools[..] else {
            panic!("two tools are listed: {listing:?}")
        };
        let invoker = Arc::clone(&plugin) as Arc<dyn Invoker>;
        let mut probe = Probe::new(invoker, Arc::clone(echo), &json!({"n": 1}))
            .echoing(Arc::clone(echo), |outcome| {
                outcome.value().get("args").cloned()
            });
        if cfg!(target_os = "linux") {
            probe = probe.endless(Arc::clone(hang), &json!({}), running);
        }
        invoker::conforms(probe).await;
    });
}
