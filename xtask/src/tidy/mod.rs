//! `cargo xtask tidy`: the rules of this workspace as a program.
//!
//! Every rule reads files only, so that each can be shown to fail on a small fixture; the one
//! exception is the walk through the resolved dependency graph in `tree`, which runs where there is
//! a `Cargo.lock`. Style that rustfmt or clippy can judge is none of its business.

mod files;
mod layers;
mod manifests;
mod papers;
mod source;
mod tree;
pub(crate) mod workspace;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::args::Args;
use crate::context::Context;
use workspace::Workspace;

/// The rules, each named as its fixture folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    LayerTable,
    Layers,
    DevCrates,
    NoRuntime,
    Owners,
    ModesCannotCall,
    OneCallSite,
    ModuleDocs,
    FileBudget,
    CrateList,
    CrateReadme,
    WorkspaceDependencies,
    WorkspaceLints,
}

impl Rule {
    /// Name in messages and of the fixture folder.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LayerTable => "layer-table",
            Self::Layers => "layers",
            Self::DevCrates => "dev-crates",
            Self::NoRuntime => "no-runtime",
            Self::Owners => "owners",
            Self::ModesCannotCall => "modes-cannot-call",
            Self::OneCallSite => "one-call-site",
            Self::ModuleDocs => "module-docs",
            Self::FileBudget => "file-budget",
            Self::CrateList => "crate-list",
            Self::CrateReadme => "crate-readme",
            Self::WorkspaceDependencies => "workspace-dependencies",
            Self::WorkspaceLints => "workspace-lints",
        }
    }
}

/// One broken rule: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    /// Path relative to the root.
    pub(crate) path: PathBuf,
    /// Line, counted from 1.
    pub(crate) line: usize,
    pub(crate) rule: Rule,
    /// What is wrong and what to do, in one sentence each.
    pub(crate) message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            line,
            rule,
            message,
        } = self;
        write!(f, "{}:{line}: [{}] {message}", path.display(), rule.name())
    }
}

/// What a check found: violations fail, warnings are only shown.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) violations: Vec<Finding>,
    pub(crate) warnings: Vec<Finding>,
}

impl Report {
    fn fail(&mut self, rule: Rule, path: impl Into<PathBuf>, line: usize, message: String) {
        self.violations.push(Finding {
            path: path.into(),
            line,
            rule,
            message,
        });
    }

    fn warn(&mut self, rule: Rule, path: impl Into<PathBuf>, line: usize, message: String) {
        self.warnings.push(Finding {
            path: path.into(),
            line,
            rule,
            message,
        });
    }
}

/// `cargo xtask tidy [--root DIR]`
pub(crate) fn run(context: &Context, args: &[String]) -> Result<()> {
    let mut args = Args::new("tidy", args);
    let root = args.values("--root")?.pop().map(PathBuf::from);
    args.finish()?;
    show(&check(root.as_deref().unwrap_or(&context.root))?)
}

/// The check of the real workspace, as a step of CI.
pub(crate) fn check_root(context: &Context) -> Result<()> {
    show(&check(&context.root)?)
}

/// Checks every rule on the workspace at `root`.
pub(crate) fn check(root: &Path) -> Result<Report> {
    let workspace = Workspace::read(root)?;
    let mut report = Report::default();
    layers::check(&workspace, &mut report);
    manifests::check(&workspace, &mut report);
    papers::check(&workspace, &mut report);
    files::check(&workspace, &mut report)?;
    tree::check(&workspace, &mut report)?;
    report.violations.sort();
    report.warnings.sort();
    Ok(report)
}

fn show(report: &Report) -> Result<()> {
    for warning in &report.warnings {
        println!("warning: {warning}");
    }
    for violation in &report.violations {
        println!("{violation}");
    }
    match report.violations.len() {
        0 => {
            println!("tidy");
            Ok(())
        }
        1 => bail!("1 rule violation"),
        count => bail!("{count} rule violations"),
    }
}
