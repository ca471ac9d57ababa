//! Crate lists that stay true: the root README and ARCHITECTURE.md name every crate, and every
//! crate introduces itself in its own README.

use std::fs;

use super::workspace::Workspace;
use super::{Report, Rule};

const LISTS: [&str; 2] = ["README.md", "ARCHITECTURE.md"];

pub(super) fn check(workspace: &Workspace, report: &mut Report) {
    let crates = || {
        workspace
            .members
            .iter()
            .filter(|member| member.is_product_folder())
    };
    for list in LISTS {
        let Ok(text) = fs::read_to_string(workspace.root.join(list)) else {
            let message = "the file is missing: write it, with a list of all crates".to_owned();
            report.fail(Rule::CrateList, list, 1, message);
            continue;
        };
        for member in crates().filter(|member| !names(&text, &member.name)) {
            let message = format!("`{}` is not named: add it to the crate list", member.name);
            report.fail(Rule::CrateList, list, 1, message);
        }
    }
    for member in crates() {
        let path = member.folder.join("README.md");
        let text = fs::read_to_string(workspace.root.join(&path)).unwrap_or_default();
        let heading = text.lines().position(|line| line.starts_with('#'));
        let wanted = format!("# {}", member.name);
        if heading.and_then(|index| text.lines().nth(index)) != Some(wanted.as_str()) {
            let message = format!(
                "the first heading must be `{wanted}`: folder, package and title are one name"
            );
            report.fail(
                Rule::CrateReadme,
                path,
                heading.map_or(1, |index| index + 1),
                message,
            );
        }
    }
}

/// Whether a text names a crate as a whole word (`toolsearch` does not stand in `toolsearch-cli`).
fn names(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + name.len()..].starts_with(part))
}
