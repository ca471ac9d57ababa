//! Command plugins of the configuration: finding their folders and reading their manifests.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolsearch::invoke::{Outage, OutageKind};
use toolsearch_config::{Document, read_file};
use toolsearch_plugin::{MANIFEST_FILE, Manifest, Plugin};

use super::configuration::Configuration;

/// Most folders that one entry may stand for.
const MAX_FOLDERS: usize = 1000;

/// Every plugin, or the trouble that it is in. A plugin that cannot be read costs only itself.
pub(crate) fn load(configuration: &Configuration) -> Vec<Result<Arc<Plugin>, Outage>> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for written in &configuration.settings.plugins {
        for folder in expand(&configuration.path(written)) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    let plugin = |folder: &PathBuf| {
        one(folder).map(Arc::new).map_err(|reason| {
            let name = folder.file_name().unwrap_or(folder.as_os_str());
            Outage::new(name.to_string_lossy(), OutageKind::Failed, reason)
        })
    };
    folders.iter().map(plugin).collect()
}

/// The folders that an entry stands for: itself, or with `*` as its last part all folders there that
/// hold a manifest, in the order of their names.
fn expand(path: &Path) -> Vec<PathBuf> {
    if path.file_name().is_none_or(|name| name != "*") {
        return vec![path.to_owned()];
    }
    let parent = path.parent().unwrap_or(Path::new("."));
    let Ok(entries) = fs::read_dir(parent) else {
        return Vec::new();
    };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| folder.join(MANIFEST_FILE).is_file())
        .take(MAX_FOLDERS)
        .collect();
    folders.sort();
    folders
}

fn one(folder: &Path) -> Result<Plugin, String> {
    let folder = folder
        .canonicalize()
        .map_err(|error| format!("cannot open {}: {error}", folder.display()))?;
    let file = folder.join(MANIFEST_FILE);
    let text = read_file(&file).map_err(|error| error.to_string())?;
    let document =
        Document::parse(&text, &file.display().to_string()).map_err(|error| error.to_string())?;
    let manifest = Manifest::from_value(document.root().to_json(), folder)
        .map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(Plugin::new(manifest))
}
