//! Which crate may build on which: the layer table, development crates, owners of heavy
//! dependencies, and the rule that a mode or an engine cannot run a tool.
//!
//! Development dependencies are free: they never reach a user of the crate.

use super::workspace::{Dependency, Kind, Layer, Member, Workspace, line_of};
use super::{Report, Rule};

/// External crates that only these members may depend on directly.
const OWNERS: [(&str, &[&str]); 5] = [
    ("axum", &["toolsearch-gateway"]),
    ("clap", &["toolsearch-cli", "toolsearch-eval"]),
    ("rmcp", &["toolsearch-gateway", "toolsearch-mcp"]),
    ("rquickjs", &["toolsearch-sandbox-quickjs"]),
    ("sqlx", &["toolsearch-store"]),
];

/// Crates that bring a runtime, and with it a clock and I/O.
pub(super) const RUNTIMES: [&str; 4] = ["async-std", "mio", "smol", "tokio"];

/// Contracts whose parts must not be able to run a tool.
const CALL_FREE: [&str; 2] = ["toolsearch-mode", "toolsearch-sandbox"];
const INVOKE: &str = "toolsearch-invoke";

/// A contract that knows nothing of tools, so that it can be used without the rest.
const ISOLATED: &str = "toolsearch-sandbox";

const TABLE: &str = "Cargo.toml";

pub(super) fn check(workspace: &Workspace, report: &mut Report) {
    check_table(workspace, report);
    for member in &workspace.members {
        let Some(layer) = workspace.layer(&member.name) else {
            continue;
        };
        for dependency in member.dependencies() {
            if dependency.kind != Kind::Dev {
                check_edge(workspace, member, layer, &dependency, report);
            }
        }
    }
}

fn check_table(workspace: &Workspace, report: &mut Report) {
    for member in &workspace.members {
        if workspace.layer(&member.name).is_none() {
            let message = format!(
                "`{}` has no layer: add it to [workspace.metadata.layers] in the root Cargo.toml",
                member.name
            );
            report.fail(
                Rule::LayerTable,
                member.manifest_path(),
                member.line_of("name"),
                message,
            );
        }
    }
    for (name, layer) in &workspace.layers {
        let problem = if workspace.member(name).is_none() {
            "is no member of the workspace: remove the line or add the crate"
        } else if layer.shared && (layer.layer != 2 || layer.contract.is_some()) {
            "is `shared`, which only a part (layer 2) without a contract can be"
        } else if layer.layer == 2 && !layer.shared && !names_contract(workspace, layer) {
            "is a part (layer 2) and needs `contract = \"…\"` with the name of a layer 1 crate, or \
             `shared = true`"
        } else {
            continue;
        };
        let message = format!("`{name}` {problem}");
        report.fail(
            Rule::LayerTable,
            TABLE,
            line_in_table(workspace, name),
            message,
        );
    }
}

/// The name also stands in `[workspace.dependencies]`; the line in the layer table is meant.
fn line_in_table(workspace: &Workspace, name: &str) -> usize {
    let Some((before, table)) = workspace.text.split_once("[workspace.metadata.layers]") else {
        return 1;
    };
    before.lines().count() + line_of(table, name)
}

fn names_contract(workspace: &Workspace, layer: &Layer) -> bool {
    let contract = layer
        .contract
        .as_deref()
        .and_then(|name| workspace.layer(name));
    contract.is_some_and(|contract| contract.layer == 1)
}

fn check_edge(
    workspace: &Workspace,
    member: &Member,
    layer: &Layer,
    dependency: &Dependency<'_>,
    report: &mut Report,
) {
    let target = dependency.package;
    let verdict = match workspace.layer(target) {
        Some(floor) => internal_edge(workspace, member, layer, target, floor),
        None => external_edge(workspace, member, layer, target),
    };
    if let Some((rule, message)) = verdict {
        report.fail(
            rule,
            member.manifest_path(),
            member.line_of(dependency.key),
            message,
        );
    }
}

type Verdict = Option<(Rule, String)>;

fn internal_edge(
    workspace: &Workspace,
    member: &Member,
    layer: &Layer,
    target: &str,
    floor: &Layer,
) -> Verdict {
    let name = &member.name;
    if floor.layer >= 5 && layer.layer < 5 {
        let message = format!(
            "`{name}` ships and must not depend on the development crate `{target}`: move the line \
             to [dev-dependencies]"
        );
        return Some((Rule::DevCrates, message));
    }
    if target == INVOKE && is_call_free(name, layer) {
        let message = format!(
            "`{name}` could run a tool past the dispatch path: a mode or an engine asks for a call \
             through its own contract and never depends on `{INVOKE}`"
        );
        return Some((Rule::ModesCannotCall, message));
    }
    let (allowed, rule) = match layer.layer {
        0 => (
            layer.contract.as_deref() == Some(target),
            "a word crate knows no other crate but the one that its `contract` names",
        ),
        1 if name == ISOLATED => (
            false,
            "this contract knows no other crate of this workspace",
        ),
        1 => (floor.layer == 0, "a contract builds on layer 0 only"),
        2 if layer.shared => (
            false,
            "a shared part knows no other crate of this workspace",
        ),
        2 => (
            floor.layer == 0 || floor.shared || layer.contract.as_deref() == Some(target),
            "a part builds on layer 0, its own contract and shared parts only",
        ),
        3 => (
            floor.layer <= 1,
            "the composer builds on layers 0 and 1 only",
        ),
        _ => (true, ""),
    };
    if allowed || workspace.member(target).is_none() {
        return None;
    }
    let message = format!(
        "`{name}` (layer {}) must not depend on `{target}` (layer {}): {rule}; pass a value, or \
         move the shared words down",
        layer.layer, floor.layer
    );
    Some((Rule::Layers, message))
}

fn is_call_free(name: &str, layer: &Layer) -> bool {
    let contract = layer.contract.as_deref();
    CALL_FREE
        .iter()
        .any(|free| name == *free || contract == Some(*free))
}

fn external_edge(workspace: &Workspace, member: &Member, layer: &Layer, target: &str) -> Verdict {
    let name = &member.name;
    if layer.layer <= 1 && RUNTIMES.contains(&target) {
        let message = format!(
            "`{name}` (layer {}) must not link `{target}`: words and contracts do no I/O and hold \
             no clock; move the waiting into a part",
            layer.layer
        );
        return Some((Rule::NoRuntime, message));
    }
    let (_, owners) = OWNERS.iter().find(|(owned, _)| *owned == target)?;
    if owners.contains(&name.as_str()) || workspace.is_dev(name) {
        return None;
    }
    let message = format!(
        "`{name}` must not depend on `{target}`, which belongs to {}: use that crate's interface",
        owners.join(" and ")
    );
    Some((Rule::Owners, message))
}
