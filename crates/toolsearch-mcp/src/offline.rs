//! Tools that were listed earlier and written down: the same reading as of a live list, without a
//! server.

use serde_json::{Value, json};
use toolsearch_catalog::{Rejected, RejectedReason, Source};
use toolsearch_invoke::Listing;

use crate::listing::{Collector, is_for_apps_only};
use crate::spec::ServerSpec;
use crate::text::Redactor;

/// The tools of `owner` from the entries of a `tools/list` result. Each is read by itself: one that
/// cannot be read, or is not meant for models, stands in [`Listing::rejected`]; the others are there.
/// The tools are untrusted.
#[must_use]
pub fn read_tools(owner: &str, tools: Vec<Value>) -> Listing {
    let spec = ServerSpec::stdio(owner, "", [""; 0]);
    let redactor = Redactor::new(std::iter::empty());
    let apps_only = tools.iter().filter(|tool| is_for_apps_only(tool));
    let apart: Vec<Rejected> = apps_only
        .map(|tool| {
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let reason = "it is for the user interface of an app only, not for models";
            let reason = RejectedReason::Unreadable(reason.to_owned());
            Rejected::new(owner, &redactor.line(name, 120), reason)
        })
        .collect();
    let mut collector = Collector::new(&spec, &redactor);
    collector.page(json!({ "tools": tools }));
    let list = collector.finish();
    let mut listing = Listing::new(Source::Mcp, owner, list.tools);
    listing.rejected = list.rejected;
    listing.rejected.extend(apart);
    listing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bad_tool_loses_only_itself() {
        let tools = vec![
            json!({ "name": "a", "inputSchema": { "type": "object" } }),
            json!({ "name": "b", "inputSchema": 7 }),
            json!("c"),
            json!({ "name": "d" }),
            json!({ "name": "e", "_meta": { "ui": { "visibility": ["app"] } } }),
        ];
        let listing = read_tools("files", tools);
        let ids: Vec<&str> = listing.tools.iter().map(|tool| tool.id.as_str()).collect();
        assert_eq!(ids, ["mcp:files:a", "mcp:files:d"]);
        assert_eq!(listing.rejected.len(), 3);
    }
}
