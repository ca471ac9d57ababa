//! The contract of a store, and what goes in and out of one.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::error::StoreError;

/// Most bytes of a namespace.
pub const MAX_NAMESPACE_BYTES: usize = 32;
/// Most bytes of a key.
pub const MAX_KEY_BYTES: usize = 512;

/// The version of a record: given once for a key, growing with every write.
pub type Version = u64;

/// How much a store takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreLimits {
    /// Most bytes of a record.
    pub record_bytes: usize,
    /// Most records of a namespace.
    pub records: usize,
}

impl Default for StoreLimits {
    /// 8 MiB a record, 10,000 records.
    fn default() -> Self {
        Self {
            record_bytes: 8 << 20,
            records: 10_000,
        }
    }
}

/// A record to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewRecord {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// When it is gone, in milliseconds since the Unix epoch; `None`: never.
    pub expires_ms: Option<u64>,
}

impl NewRecord {
    /// A record that does not expire.
    #[must_use]
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            expires_ms: None,
        }
    }

    /// The same record, gone at that time.
    #[must_use]
    pub const fn until(mut self, expires_ms: u64) -> Self {
        self.expires_ms = Some(expires_ms);
        self
    }
}

/// A record as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Record {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// Its version.
    pub version: Version,
    /// When it is gone, in milliseconds since the Unix epoch.
    pub expires_ms: Option<u64>,
}

/// What a list tells about a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// Its version.
    pub version: Version,
    /// When it is gone, in milliseconds since the Unix epoch.
    pub expires_ms: Option<u64>,
}

/// The records of a namespace at one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listing {
    /// Those that can be read and have not expired, by key.
    pub entries: Vec<Entry>,
    /// Where something lies that is no readable record, sorted.
    pub damaged: Vec<String>,
}

/// What a writer takes for given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there is nothing else that a writer can expect"
)]
pub enum Expected {
    /// Whatever is there, damaged or not.
    Any,
    /// Nothing is there.
    Absent,
    /// The record has this version.
    Version(Version),
}

/// Keeps records. Cheap to share; every method may be called from many tasks and, where the store
/// is shared by processes, from many of those.
///
/// * A record is written whole or not at all. Dropping the future of a write leaves open which.
/// * An expired record is not there, for reading, listing and [`Expected::Absent`] alike.
/// * What is damaged is named and stands in nobody else's way.
#[async_trait]
pub trait Store: fmt::Debug + Send + Sync {
    /// The record under a key.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] when something is there that is no record, [`StoreError::Name`],
    /// [`StoreError::Unavailable`].
    async fn get(&self, namespace: &str, key: &str) -> Result<Option<Record>, StoreError>;

    /// Writes a record when what is there is what the writer expects; gives its version.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when it is not, and any other: then nothing was written.
    async fn put(
        &self,
        namespace: &str,
        key: &str,
        record: NewRecord,
        expected: Expected,
    ) -> Result<Version, StoreError>;

    /// Removes a record when it is what the caller expects; says whether there was one.
    /// [`Expected::Absent`] removes nothing.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when it is not, and any other: then nothing was removed.
    async fn remove(
        &self,
        namespace: &str,
        key: &str,
        expected: Expected,
    ) -> Result<bool, StoreError>;

    /// What a namespace holds. One that was never written to holds nothing.
    ///
    /// # Errors
    /// [`StoreError::Name`], [`StoreError::Unavailable`].
    async fn list(&self, namespace: &str) -> Result<Listing, StoreError>;

    /// Throws away what has expired, in every namespace; says how many records that were.
    ///
    /// # Errors
    /// [`StoreError::Busy`], [`StoreError::Unavailable`].
    async fn sweep(&self) -> Result<usize, StoreError>;
}

#[async_trait]
impl<T: Store + ?Sized> Store for Arc<T> {
    async fn get(&self, namespace: &str, key: &str) -> Result<Option<Record>, StoreError> {
        T::get(self, namespace, key).await
    }

    async fn put(
        &self,
        namespace: &str,
        key: &str,
        record: NewRecord,
        expected: Expected,
    ) -> Result<Version, StoreError> {
        T::put(self, namespace, key, record, expected).await
    }

    async fn remove(
        &self,
        namespace: &str,
        key: &str,
        expected: Expected,
    ) -> Result<bool, StoreError> {
        T::remove(self, namespace, key, expected).await
    }

    async fn list(&self, namespace: &str) -> Result<Listing, StoreError> {
        T::list(self, namespace).await
    }

    async fn sweep(&self) -> Result<usize, StoreError> {
        T::sweep(self).await
    }
}

/// Checks what every store checks first.
pub(crate) fn check_names(namespace: &str, key: &str) -> Result<(), StoreError> {
    check_namespace(namespace)?;
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(StoreError::Name(shown(key)));
    }
    Ok(())
}

pub(crate) fn check_namespace(namespace: &str) -> Result<(), StoreError> {
    let legal = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if (1..=MAX_NAMESPACE_BYTES).contains(&namespace.len()) && namespace.bytes().all(legal) {
        return Ok(());
    }
    Err(StoreError::Name(shown(namespace)))
}

/// A name in a message: short and printable.
fn shown(name: &str) -> String {
    name.chars().take(60).flat_map(char::escape_debug).collect()
}

pub(crate) const fn check_size(record: &NewRecord, limits: &StoreLimits) -> Result<(), StoreError> {
    if record.bytes.len() > limits.record_bytes {
        return Err(StoreError::TooLarge {
            bytes: record.bytes.len(),
            most: limits.record_bytes,
        });
    }
    Ok(())
}

/// Whether what is there is what is expected.
pub(crate) fn check_expected(
    current: Option<Version>,
    expected: Expected,
) -> Result<(), StoreError> {
    let holds = match expected {
        Expected::Any => true,
        Expected::Absent => current.is_none(),
        Expected::Version(version) => current == Some(version),
    };
    if holds {
        Ok(())
    } else {
        Err(StoreError::Conflict { current })
    }
}

/// Whether something is gone at `now`.
pub(crate) fn expired(expires_ms: Option<u64>, now: u64) -> bool {
    expires_ms.is_some_and(|expires| expires <= now)
}
