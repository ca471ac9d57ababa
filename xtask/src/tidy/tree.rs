//! Words and contracts link no runtime, not even through somebody else's crate: each is resolved
//! by itself, with the features that it alone turns on.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::layers::RUNTIMES;
use super::workspace::Workspace;
use super::{Report, Rule};
use crate::shell;

pub(super) fn check(workspace: &Workspace, report: &mut Report) -> Result<()> {
    if !workspace.root.join("Cargo.lock").is_file() {
        return Ok(());
    }
    for member in &workspace.members {
        if workspace
            .layer(&member.name)
            .is_none_or(|layer| layer.layer > 1)
        {
            continue;
        }
        let tree = shell::output(&mut cargo_tree(&workspace.root, &member.name))?;
        if let Some(chain) = runtime_chain(&tree) {
            let message = format!(
                "a runtime is linked through {}: turn that feature off or move the code into a part",
                chain.join(" → ")
            );
            let line = chain.get(1).map_or(1, |direct| member.line_of(direct));
            report.fail(Rule::NoRuntime, member.manifest_path(), line, message);
        }
    }
    Ok(())
}

fn cargo_tree(root: &Path, package: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .current_dir(root)
        .args([
            "tree",
            "--package",
            package,
            "--edges",
            "normal",
            "--target",
            "all",
        ])
        .args(["--prefix", "depth", "--format", " {p}"]);
    command
}

/// Names from the package down to the first runtime in the output of `cargo tree`.
fn runtime_chain(tree: &str) -> Option<Vec<String>> {
    let mut chain: Vec<String> = Vec::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        let (Some(depth), Some(name)) = (words.next(), words.next()) else {
            continue;
        };
        let Ok(depth) = depth.parse::<usize>() else {
            continue;
        };
        chain.truncate(depth);
        chain.push(name.to_owned());
        // A direct dependency is already reported from the manifest.
        if depth > 1 && RUNTIMES.contains(&name) {
            return Some(chain);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_names_who_brings_the_runtime() {
        let tree = "0 words v0.1.0 (/w)\n1 serde v1.0.0\n2 serde_core v1.0.0\n1 schema v1.0.0\n\
                    2 client v1.0.0\n3 tokio v1.0.0\n4 mio v1.0.0\n";
        assert_eq!(
            runtime_chain(tree).unwrap(),
            ["words", "schema", "client", "tokio"]
        );
    }

    #[test]
    fn other_crates_are_no_runtime() {
        let tree = "0 words v0.1.0 (/w)\n1 tokio-like v1.0.0\n2 futures v0.3.0 (*)\n";
        assert_eq!(runtime_chain(tree), None);
    }
}
