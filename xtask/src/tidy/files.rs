//! Rules about source files: a module doc first, a line budget, and the one call site of
//! `Invoker::invoke`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::source::{product_code, product_lines};
use super::workspace::{Member, Workspace};
use super::{Report, Rule};

const WARN_LINES: usize = 500;
const MAX_LINES: usize = 800;

/// Folders with Rust source.
const HOMES: [&str; 5] = ["crates", "tests", "xtask", "fuzz", "bench-search"];
/// Folders whose content is data or somebody else's.
const NOT_OURS: [&str; 5] = ["fixtures", "data", "target", "node_modules", "corpus"];
/// Folders whose files are compiled for tests and measurements only.
const TEST_FOLDERS: [&str; 3] = ["tests", "benches", "examples"];

/// The crate with the dispatch path.
const DISPATCH: &str = "toolsearch-runtime";
/// The contract itself may call through its own blanket implementations.
const CONTRACT: &str = "toolsearch-invoke";
const CALLS: [&str; 3] = [".invoke(", "Invoker::invoke", "Invoker>::invoke"];

pub(super) fn check(workspace: &Workspace, report: &mut Report) -> Result<()> {
    let mut calls = Vec::new();
    for path in rust_files(&workspace.root)? {
        let source = fs::read_to_string(workspace.root.join(&path))
            .with_context(|| format!("could not read {}", path.display()))?;
        check_doc(&path, &source, report);
        if is_test_file(&path) {
            continue;
        }
        check_budget(&path, &source, report);
        if may_call(workspace, &path) {
            calls.extend(
                call_lines(&source)
                    .into_iter()
                    .map(|line| (path.clone(), line)),
            );
        }
    }
    check_calls(workspace, &calls, report);
    Ok(())
}

fn check_doc(path: &Path, source: &str, report: &mut Report) {
    if !source.starts_with("//!") {
        let message = "the file must start with `//!`: say what lives here and what does not";
        report.fail(Rule::ModuleDocs, path, 1, message.to_owned());
    }
}

fn check_budget(path: &Path, source: &str, report: &mut Report) {
    let lines = product_lines(source);
    if lines <= WARN_LINES {
        return;
    }
    let message = format!(
        "{lines} lines without tests, warned at {WARN_LINES} and failed at {MAX_LINES}: split the file by concept"
    );
    if lines > MAX_LINES {
        report.fail(Rule::FileBudget, path, MAX_LINES + 1, message);
    } else {
        report.warn(Rule::FileBudget, path, WARN_LINES + 1, message);
    }
}

/// Whether calls in this file are product calls.
fn may_call(workspace: &Workspace, path: &Path) -> bool {
    let owner = |member: &&Member| path.starts_with(&member.folder);
    let Some(member) = workspace.members.iter().find(owner) else {
        return false;
    };
    member.is_product_folder() && member.name != CONTRACT && !workspace.is_dev(&member.name)
}

fn call_lines(source: &str) -> Vec<usize> {
    let code = product_code(source);
    let count = |line: &str| {
        CALLS
            .iter()
            .map(|call| line.matches(call).count())
            .sum::<usize>()
    };
    code.lines()
        .enumerate()
        .flat_map(|(index, line)| std::iter::repeat_n(index + 1, count(line)))
        .collect()
}

fn check_calls(workspace: &Workspace, calls: &[(PathBuf, usize)], report: &mut Report) {
    let Some(dispatch) = workspace.member(DISPATCH) else {
        return;
    };
    let (inside, outside): (Vec<_>, Vec<_>) = calls
        .iter()
        .partition(|(path, _)| path.starts_with(&dispatch.folder));
    for (path, line) in outside {
        let message = format!(
            "a tool is run past the dispatch path: only `{DISPATCH}` calls `invoke`; ask it, or \
             name the method differently if it runs no tool"
        );
        report.fail(Rule::OneCallSite, path, *line, message);
    }
    for (path, line) in inside.iter().skip(1) {
        let message = "a second call of `invoke`: every door goes through the one dispatch path";
        report.fail(Rule::OneCallSite, path, *line, message.to_owned());
    }
    if inside.is_empty() {
        let message = format!("`{DISPATCH}` holds no call of `invoke`: nothing can run a tool");
        report.fail(Rule::OneCallSite, dispatch.manifest_path(), 1, message);
    }
}

/// `tests.rs`, and everything in a folder that only tests and measurements use.
fn is_test_file(path: &Path) -> bool {
    let named = |name: &OsStr| TEST_FOLDERS.iter().any(|folder| name == *folder);
    path.file_name() == Some(OsStr::new("tests.rs")) || path.iter().any(named)
}

/// All Rust files, sorted, relative to the root.
fn rust_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> = HOMES
        .iter()
        .map(PathBuf::from)
        .filter(|home| root.join(home).is_dir())
        .collect();
    while let Some(folder) = folders.pop() {
        let listing = fs::read_dir(root.join(&folder))
            .with_context(|| format!("could not list {}", folder.display()))?;
        for entry in listing {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let kind = entry.file_type()?;
            if kind.is_dir() && !is_foreign(&entry.file_name()) {
                folders.push(path);
            } else if kind.is_file() && path.extension() == Some(OsStr::new("rs")) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn is_foreign(name: &OsStr) -> bool {
    NOT_OURS.iter().any(|folder| name == *folder) || name.to_string_lossy().starts_with('.')
}
