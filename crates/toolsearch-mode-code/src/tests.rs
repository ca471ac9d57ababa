//! Tests of the code surface.

use std::sync::Arc;

use serde_json::json;
use toolsearch_catalog::{Catalog, Source, ToolDescriptor};
use toolsearch_mode::{Control, ControlNames, Mode, OwnerNote, SearchLimits, View};

use crate::{CodeMode, EXAMPLE};

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
    toolsearch_testing::mode::conforms(|| Arc::new(CodeMode));
}

#[test]
fn one_control_in_under_300_tokens_whatever_the_catalog() {
    let (names, limits, catalog) = (
        ControlNames::default(),
        SearchLimits::default(),
        catalog(2_800),
    );
    let owners = OwnerNote::of(&catalog);
    let mut view = View::new(&catalog, &names, &limits);
    view.owners = &owners;
    let surface = CodeMode.surface(&view);
    assert_eq!(surface.tools.len(), 1);
    assert_eq!(CodeMode.controls(), [Control::Code]);
    let text = format!("{}{}", surface.to_json(), surface.prompt);
    let tokens = tiktoken_rs::o200k_base_singleton()
        .encode_ordinary(&text)
        .len();
    assert!(tokens <= 300, "{tokens} tokens: {text}");
    assert!(surface.tools[0].description.contains(EXAMPLE));
}
