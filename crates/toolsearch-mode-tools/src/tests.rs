//! Tests of the structured surface.

use std::sync::Arc;

use serde_json::json;
use toolsearch_catalog::{Catalog, Source, ToolDescriptor};
use toolsearch_mode::{
    Control, ControlCall, ControlNames, Decoding, Mode, OwnerNote, Request, SearchLimits, View,
};

use crate::ToolsMode;

fn catalog(tools: usize) -> Catalog {
    (0..tools)
        .map(|number| {
            let owner = format!("service-number-{}", number % 90);
            ToolDescriptor::new(Source::Mcp, &owner, &format!("tool_{number}"), json!({}))
                .expect("legal")
        })
        .collect()
}

#[test]
fn keeps_the_rules_of_modes() {
    toolsearch_testing::mode::conforms(|| Arc::new(ToolsMode));
}

#[test]
fn three_controls_in_under_600_tokens_whatever_the_catalog() {
    let (names, limits, catalog) = (
        ControlNames::default(),
        SearchLimits::default(),
        catalog(2_800),
    );
    let owners = OwnerNote::of(&catalog);
    let mut view = View::new(&catalog, &names, &limits);
    view.owners = &owners;
    let surface = ToolsMode.surface(&view);
    let declared: Vec<&str> = surface
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(declared, ["tool_search", "tool_describe", "tool_call"]);
    let text = format!("{}{}", surface.to_json(), surface.prompt);
    let tokens = tiktoken_rs::o200k_base_singleton()
        .encode_ordinary(&text)
        .len();
    assert!(tokens <= 600, "{tokens} tokens: {text}");
}

#[test]
fn own_names_are_used_throughout() {
    let mut names = ControlNames::default();
    names.call = "dispatch_action".to_owned();
    let (limits, catalog) = (SearchLimits::default(), catalog(3));
    let surface = ToolsMode.surface(&View::new(&catalog, &names, &limits));
    assert_eq!(surface.tools[2].name, "dispatch_action");
}

#[test]
fn programs_are_refused_with_what_to_use_instead() {
    let (names, limits) = (ControlNames::default(), SearchLimits::default());
    let decoding = Decoding {
        names: &names,
        limits: &limits,
        is_tool: &|_| false,
    };
    let read =
        |control, arguments| ToolsMode.decode(&ControlCall::new(control, arguments), &decoding);
    assert!(matches!(
        read(Control::Search, json!({"query": "x"})),
        Ok(Request::Search { .. })
    ));
    let refused = read(Control::Code, json!({"code": "1"})).expect_err("no programs");
    assert!(refused.detail.contains("tool_search"));
}
