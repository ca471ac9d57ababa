//! Every rule through every door. What may be called, with which arguments, who is asked, what is
//! written down: a door differs in how a call is worded and in nothing else.
//!
//! A rule is one line in [`rules::RULES`], a door one line below. Tools are run by a real plugin and a
//! real MCP server, which write down what reached them.

mod door;
mod inside;
mod outside;
mod over_http;
mod programs;
mod rules;
mod scene;

use std::panic::{AssertUnwindSafe, catch_unwind};

use door::Door;
use rules::Stage;
use scene::Scene;

macro_rules! doors {
    ($($name:ident => $open:path,)*) => {
        $(#[test]
        fn $name() {
            keeps_every_rule(stringify!($name), |scene| Box::new($open(scene)));
        })*
    };
}

doors! {
    structured_control => inside::control,
    javascript_bridge => inside::bridge,
    direct_visible_tool => inside::visible,
    hydrated_hidden_name => inside::hidden,
    command_line_call => outside::call,
    command_line_run => outside::run,
    gateway_over_stdio => outside::gateway,
    gateway_over_http => over_http::gateway,
}

/// Drives all rules through one door, in one session where the door has one, and tells every rule that
/// is broken.
fn keeps_every_rule(name: &str, open: impl FnOnce(&Scene) -> Box<dyn Door>) {
    let scene = Scene::new();
    let mut stage = Stage::new(open(&scene), scene);
    let broken: Vec<&str> = rules::RULES
        .iter()
        .filter(|(_, rule)| {
            let kept = catch_unwind(AssertUnwindSafe(|| rule(&mut stage)));
            stage.settle();
            kept.is_err()
        })
        .map(|(rule, _)| *rule)
        .collect();
    assert!(broken.is_empty(), "{name} breaks: {}", broken.join(", "));
}
