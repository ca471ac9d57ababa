//! Command hooks of the configuration and of plugins, and their order.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolsearch::invoke::Hook;
use toolsearch::policy::{Glob, expand_globs, with_built_in_groups};
use toolsearch_config::OnFailure;
use toolsearch_plugin::{CommandHook, HookMoment};

use crate::fault::Fault;

use super::configuration::Configuration;
use super::plugins;
use super::policy::faulty;

/// The hooks in the order in which they are run: before a call those of the configuration, then those of
/// plugins in the order of the configuration; after it first those of plugins, so that the configuration
/// has the last word. Starts nothing.
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
    let own = |(one, moment)| Ok(Arc::new(hook(configuration, one, moment)?) as Arc<dyn Hook>);
    let mut all: Vec<Arc<dyn Hook>> = before.map(own).collect::<Result<_, Fault>>()?;
    // A plugin that cannot be read is told where its tools are missing.
    for plugin in plugins::load(configuration).into_iter().flatten() {
        let manifest = plugin.manifest();
        for one in &manifest.hooks {
            let hook = CommandHook::of_plugin(one, &manifest.folder);
            all.push(Arc::new(matching(
                configuration,
                &one.name,
                &one.matcher,
                hook,
            )?));
        }
    }
    for hook in after.map(own) {
        all.push(hook?);
    }
    Ok(all)
}

/// The hook for the tools that its globs cover; for all where there are none.
fn matching(
    configuration: &Configuration,
    name: &str,
    matcher: &[String],
    hook: CommandHook,
) -> Result<CommandHook, Fault> {
    if matcher.is_empty() {
        return Ok(hook);
    }
    let groups = with_built_in_groups(&configuration.settings.tools.groups);
    let place = format!("hook `{name}`");
    let globs: Vec<Glob> =
        expand_globs(&place, matcher, &groups).map_err(|fault| faulty(&fault))?;
    Ok(hook.matching(move |tool| globs.iter().any(|glob| glob.covers(tool))))
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
    let hook = CommandHook::new(
        &name,
        moment,
        program,
        written.args.clone(),
        folder(configuration)?,
        Duration::from_millis(written.timeout_ms),
    );
    let hook = matching(configuration, &name, &written.matcher, hook)?;
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
