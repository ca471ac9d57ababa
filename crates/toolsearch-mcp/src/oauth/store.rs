//! Tokens on disk: one file for each address, readable by this user only, replaced as a whole.

use std::io;
use std::path::PathBuf;

use super::Tokens;
use crate::private_file;

/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// A folder of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenStore {
    folder: PathBuf,
}

impl TokenStore {
    /// Tokens in this folder; it is made when the first are kept.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { folder }
    }

    /// The tokens for the server at this address, if there are any that can be read.
    #[must_use]
    pub fn get(&self, url: &str) -> Option<Tokens> {
        let content = private_file::read(&self.path(url), MAX_FILE_BYTES).ok()?;
        let tokens: Tokens = serde_json::from_slice(&content)
            .inspect_err(|error| tracing::warn!(%error, "stored tokens cannot be read"))
            .ok()?;
        (tokens.resource == resource(url)).then_some(tokens)
    }

    /// Forgets the tokens for this address; false when there were none.
    ///
    /// # Errors
    /// The file is there and cannot be removed.
    pub fn remove(&self, url: &str) -> io::Result<bool> {
        match std::fs::remove_file(self.path(url)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub(super) fn keep(&self, tokens: &Tokens) -> io::Result<()> {
        let content = serde_json::to_vec_pretty(tokens)?;
        private_file::write(&self.path(&tokens.resource), &content)
    }

    fn path(&self, url: &str) -> PathBuf {
        private_file::path_for(&self.folder, &resource(url))
    }

    /// Changes when the tokens for this address do.
    pub(crate) fn stamp(&self, url: &str) -> Option<std::time::SystemTime> {
        let file = std::fs::metadata(self.path(url)).ok()?;
        file.modified().ok()
    }
}

/// What tokens for an address are for: keys in its query are no part of that.
pub(super) fn resource(url: &str) -> String {
    let Ok(mut url) = reqwest::Url::parse(url.trim()) else {
        return url.to_owned();
    };
    url.set_query(None);
    url.set_fragment(None);
    let text = url.to_string();
    match url.path() {
        "/" => text.trim_end_matches('/').to_owned(),
        _ => text,
    }
}
