//! The user's folders of this program, as the XDG Base Directory Specification places them. Not here:
//! the folders that a configuration names.

use std::path::PathBuf;

use super::configuration::variable;

/// What is kept from one run to the next: logs, records, lists, tokens.
pub(crate) fn state() -> Option<PathBuf> {
    folder("XDG_STATE_HOME", ".local/state")
}

/// What was got once, such as models.
pub(crate) fn data() -> Option<PathBuf> {
    folder("XDG_DATA_HOME", ".local/share")
}

/// What can be made again.
pub(crate) fn cache() -> Option<PathBuf> {
    folder("XDG_CACHE_HOME", ".cache")
}

/// The specification says to ignore a relative folder in these variables.
fn folder(set_by: &str, below_home: &str) -> Option<PathBuf> {
    let set = variable(set_by).map(PathBuf::from);
    let folder = set.filter(|folder| folder.is_absolute());
    let folder = folder.or_else(|| Some(std::env::home_dir()?.join(below_home)))?;
    Some(folder.join("toolsearch"))
}
