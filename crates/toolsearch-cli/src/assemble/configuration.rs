//! The configuration file and the command line together.

use std::path::{Path, PathBuf};

use toolsearch_config::{
    Effective, Loaded, Located, LocatedBy, Overrides, SearchMode, Settings, load, load_text, locate,
};

use crate::cli::{Common, ModeArg};
use crate::fault::Fault;
use crate::output::Output;

/// What holds for this command.
#[derive(Debug, Clone)]
pub(crate) struct Configuration {
    pub(crate) settings: Settings,
    pub(crate) effective: Effective,
    pub(crate) located: Located,
    folder: PathBuf,
}

impl Configuration {
    /// Finds and reads the file; prints its warnings.
    pub(crate) fn read(common: &Common, output: &Output) -> Result<Self, Fault> {
        let located = locate_file(common)?;
        let loaded = match &located.path {
            Some(path) => {
                load(path, &variable).map_err(|error| unreadable(error, path, located.by))?
            }
            None => Loaded::defaults(),
        };
        for problem in &loaded.warnings {
            output.warning(&problem.to_string());
        }
        let effective = loaded
            .settings
            .effective(common.agent.as_deref(), &overrides(common.mode))
            .map_err(|error| Fault::usage(error.to_string()))?;
        let folder = loaded.folder().map(Path::to_owned).unwrap_or_default();
        Ok(Self {
            settings: loaded.settings,
            effective,
            located,
            folder,
        })
    }

    /// What holds without a file, or with this text as one.
    pub(crate) fn of_text(common: &Common, text: &str) -> Result<Self, Fault> {
        let located = locate_file(common)?;
        let path = Path::new("built-in");
        let loaded = load_text(text, path, &variable)
            .map_err(|error| unreadable(error, path, LocatedBy::Nothing))?;
        let effective = loaded
            .settings
            .effective(None, &Overrides::default())
            .map_err(|error| Fault::usage(error.to_string()))?;
        Ok(Self {
            settings: loaded.settings,
            effective,
            located,
            folder: PathBuf::new(),
        })
    }

    /// The same for another agent and mode.
    pub(crate) fn seen_by(
        &self,
        agent: Option<&str>,
        mode: Option<ModeArg>,
    ) -> Result<Self, Fault> {
        let effective = self.settings.effective(agent, &overrides(mode));
        let mut seen = self.clone();
        seen.effective = effective.map_err(|error| Fault::usage(error.to_string()))?;
        Ok(seen)
    }

    /// A path of the file: `~` is the user's folder, a relative one starts at the file's folder.
    pub(crate) fn path(&self, written: &str) -> PathBuf {
        match (written.strip_prefix("~/"), std::env::home_dir()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.folder.join(written),
        }
    }
}

fn overrides(mode: Option<ModeArg>) -> Overrides {
    let mut overrides = Overrides::default();
    match mode {
        Some(ModeArg::Direct) => overrides.enabled = Some(false),
        Some(ModeArg::Code) => overrides.mode = Some(SearchMode::Code),
        Some(ModeArg::Tools) => overrides.mode = Some(SearchMode::Tools),
        Some(ModeArg::Directory) => overrides.mode = Some(SearchMode::Directory),
        None => {}
    }
    overrides
}

/// Where the file is, or would be written.
pub(crate) fn locate_file(common: &Common) -> Result<Located, Fault> {
    let cwd = std::env::current_dir()
        .map_err(|error| Fault::failed(format!("cannot tell the working folder: {error}")))?;
    let home = std::env::home_dir();
    Ok(locate(
        common.config.as_deref(),
        &variable,
        &cwd,
        home.as_deref(),
    ))
}

/// A variable of the environment, if it is set and text.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn unreadable(error: toolsearch_config::ConfigError, path: &Path, by: LocatedBy) -> Fault {
    let mut message = error.to_string();
    if let Some(source) = std::error::Error::source(&error) {
        message = format!("{message}: {source}");
    }
    let fault = Fault::configuration(message);
    match by {
        _ if !error.problems().is_empty() => {
            fault.next("put this right; `toolsearch config validate` checks the file again")
        }
        LocatedBy::CommandLine if !path.exists() => {
            fault.next("name another file with --config, or leave it out")
        }
        LocatedBy::Environment if !path.exists() => {
            fault.next("set or unset the variable TOOLSEARCH_CONFIG")
        }
        _ => fault,
    }
}
