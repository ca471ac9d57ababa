//! The rules that every provider and every invoker keep.

use std::sync::Arc;

use serde_json::json;
use toolsearch_invoke::Invoker;
use toolsearch_testing::invoker::{self, Probe};
use toolsearch_testing::{block_on, provider};

use super::Desk;

#[test]
fn keeps_the_rules_of_providers() {
    let desk = Desk::new();
    block_on(async {
        let mut listings = Vec::new();
        for provider in desk.sample.providers() {
            listings.push(provider::conforms(provider).await);
        }
        assert_eq!(listings, desk.listings);
    });
}

#[test]
fn keeps_the_rules_of_invokers() {
    let desk = Desk::new();
    let sample = Arc::clone(&desk.sample) as Arc<dyn Invoker>;
    let list = desk.tool("github", "list_issues");
    block_on(invoker::conforms(Probe::new(sample, list, &json!({}))));
}
