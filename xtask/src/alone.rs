//! `cargo xtask check-alone`: a crate that builds only because another one turned on a feature of
//! a shared dependency is broken for everyone who takes it by itself.

use anyhow::{Result, bail};

use crate::args::Args;
use crate::context::Context;
use crate::shell;
use crate::tidy::workspace::Workspace;

/// Checks every crate under `crates/` (or the named ones) without the rest of the workspace.
pub(crate) fn run(context: &Context, args: &[String]) -> Result<()> {
    let wanted = Args::new("check-alone", args).positional()?;
    let workspace = Workspace::read(&context.root)?;
    if let Some(unknown) = wanted.iter().find(|name| workspace.member(name).is_none()) {
        bail!("no workspace member is called `{unknown}`: see the table in the root Cargo.toml");
    }
    let mut failed = Vec::new();
    for member in workspace
        .members
        .iter()
        .filter(|member| member.is_product_folder())
    {
        if !wanted.is_empty() && !wanted.contains(&member.name) {
            continue;
        }
        for features in feature_sets(&member.features()) {
            let mut command = context.cargo();
            command
                .args(["check", "--package", &member.name])
                .args(context.locked());
            if shell::run(command.args(&features)).is_err() {
                failed.push(format!("{} {}", member.name, features.join(" ")));
            }
        }
    }
    if failed.is_empty() {
        return Ok(());
    }
    bail!(
        "these do not build by themselves:\n  {}",
        failed.join("\n  ")
    )
}

/// The default set, and where a crate has features: none, each alone, and all together.
fn feature_sets(features: &[String]) -> Vec<Vec<String>> {
    let mut sets = vec![Vec::new()];
    let own: Vec<&String> = features.iter().filter(|name| *name != "default").collect();
    if own.is_empty() {
        return sets;
    }
    let none = "--no-default-features".to_owned();
    sets.push(vec![none.clone()]);
    sets.extend(
        own.iter()
            .map(|name| vec![none.clone(), "--features".to_owned(), (*name).clone()]),
    );
    sets.push(vec!["--all-features".to_owned()]);
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_tried_alone() {
        assert_eq!(feature_sets(&[]), [Vec::<String>::new()]);
        let sets = feature_sets(&["default".to_owned(), "http".to_owned()]);
        let lines: Vec<String> = sets.iter().map(|set| set.join(" ")).collect();
        assert_eq!(
            lines,
            [
                "",
                "--no-default-features",
                "--no-default-features --features http",
                "--all-features"
            ]
        );
    }
}
