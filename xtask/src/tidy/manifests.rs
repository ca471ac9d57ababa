//! Manifests inherit: versions, features and lints stand once, in the root `Cargo.toml`.

use toml::Value;

use super::workspace::{Member, Workspace};
use super::{Report, Rule};

/// The one crate that may state its own lints.
const OWN_LINTS: &str = "toolsearch-sandbox-process";

pub(super) fn check(workspace: &Workspace, report: &mut Report) {
    for member in &workspace.members {
        for dependency in member
            .dependencies()
            .iter()
            .filter(|found| !found.inherited)
        {
            let message = format!(
                "`{key}` must be inherited: put version and features into [workspace.dependencies] \
                 and write `{key}.workspace = true` here",
                key = dependency.key
            );
            let line = member.line_of(dependency.key);
            report.fail(
                Rule::WorkspaceDependencies,
                member.manifest_path(),
                line,
                message,
            );
        }
        if !has_lints(member) {
            let message = format!(
                "`{}` does not take part in the lints: add `[lints]` with `workspace = true`",
                member.name
            );
            report.fail(Rule::WorkspaceLints, member.manifest_path(), 1, message);
        }
    }
}

fn has_lints(member: &Member) -> bool {
    let Some(lints) = member.manifest.get("lints") else {
        return false;
    };
    member.name == OWN_LINTS || lints.get("workspace").and_then(Value::as_bool) == Some(true)
}
