//! Where approvals and remembered definitions are kept.

use std::path::PathBuf;
use std::sync::Arc;

use toolsearch_store::{FileStore, MemoryStore, Store};

use super::configuration::Configuration;
use super::folders;

/// The store of the configuration: a folder that all processes of a user share. Without a folder to
/// keep it in, what is kept ends with the process.
pub(crate) fn store(configuration: &Configuration) -> Arc<dyn Store> {
    match folder(configuration) {
        Some(folder) => Arc::new(FileStore::new(folder)),
        None => Arc::new(MemoryStore::default()),
    }
}

/// `store.dir`, else a folder in the user's state folder.
fn folder(configuration: &Configuration) -> Option<PathBuf> {
    if let Some(written) = &configuration.settings.store.dir {
        return Some(configuration.path(written));
    }
    Some(folders::state()?.join("store"))
}
