//! Command hooks of the configuration.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolsearch::invoke::Hook;
use toolsearch::policy::{Glob, expand_globs, with_built_in_groups};
use toolsearch_config::OnFailure;
use toolsearch_plugin::{CommandHook, HookMoment};

use crate::fault::Fault;

use super::configuration::Configuration;
use super::policy::faulty;

/// The hooks in the order in which they are run. Starts nothing.
pub(crate) fn hooks(configuration: &Configuration) -> Result<Vec<Arc<dyn Hook>>, Fault> {
    let written = &configuration.settings.hooks;
    let before = written
        .before_tool_call
        .iter()
        .map(|one| (one, HookMoment::Before));
    let after = written
        .after_tool_call
        .iter()
        .map(|one| (one, HookMoment::After));
    let hook = |(one, moment)| Ok(Arc::new(hook(configuration, one, moment)?) as Arc<dyn Hook>);
    before.chain(after).map(hook).collect()
}

fn hook(
    configuration: &Configuration,
    written: &toolsearch_config::Hook,
    moment: HookMoment,
) -> Result<CommandHook, Fault> {
    let name = written.name.clone().unwrap_or_else(|| {
        let file = Path::new(&written.command).file_name();
        file.map_or_else(
            || written.command.clone(),
            |file| file.to_string_lossy().into_owned(),
        )
    });
    let program = match written.command.starts_with("~/") {
        true => configuration.path(&written.command).display().to_string(),
        false => written.command.clone(),
    };
    let mut hook = CommandHook::new(
        &name,
        moment,
        program,
        written.args.clone(),
        folder(configuration)?,
        Duration::from_millis(written.timeout_ms),
    );
    if !written.matcher.is_empty() {
        let groups = with_built_in_groups(&configuration.settings.tools.groups);
        let place = format!("hook `{name}`");
        let globs: Vec<Glob> =
            expand_globs(&place, &written.matcher, &groups).map_err(|fault| faulty(&fault))?;
        hook = hook.matching(move |tool| globs.iter().any(|glob| glob.covers(tool)));
    }
    match written.on_failure {
        OnFailure::Closed => Ok(hook),
        OnFailure::Open => Ok(hook.may_fail()),
    }
}

/// Hooks run in the folder of the file.
fn folder(configuration: &Configuration) -> Result<PathBuf, Fault> {
    let folder = configuration.path(".");
    std::path::absolute(&folder)
        .map_err(|error| Fault::failed(format!("cannot tell the working folder: {error}")))
}
