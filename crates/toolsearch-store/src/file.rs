//! Records in a folder: one folder a namespace, one file a record.
//!
//! Readers take no lock: a file is written beside and renamed, so they see the old record or the new
//! one. Writers of a namespace take the lock of its folder, whichever process they are in. Blocking
//! work happens on threads for it, never on those of the runtime.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;

use crate::clock::{Clock, next_version};
use crate::contract::{
    Entry, Expected, Listing, NewRecord, Record, Store, StoreLimits, Version, check_expected,
    check_names, check_namespace, check_size, expired,
};
use crate::error::StoreError;
use crate::format::{self, MAX_HEAD_BYTES};

const LOCK: &str = ".lock";
const WRITTEN: &str = ".new";
/// How long a writer waits for other processes.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
/// How often it looks.
const LOCK_PAUSE: Duration = Duration::from_millis(3);

/// Keeps records in a folder that several processes may use at once. The folder is made when the
/// first record is written; it and all files are readable for their user alone.
#[derive(Debug, Clone)]
pub struct FileStore {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    limits: StoreLimits,
    clock: Clock,
}

impl FileStore {
    /// A store in a folder, with the usual limits and the machine's clock. Touches nothing yet.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self::with(folder, StoreLimits::default(), Clock::system())
    }

    /// A store with limits and a clock of its own. All processes that share a folder should have the
    /// same limits.
    #[must_use]
    pub fn with(folder: impl Into<PathBuf>, limits: StoreLimits, clock: Clock) -> Self {
        let folder = folder.into();
        let shared = Shared {
            folder,
            limits,
            clock,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shared) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.shared);
        match tokio::task::spawn_blocking(move || work(&shared)).await {
            Ok(done) => done,
            Err(_) => Err(StoreError::Unavailable(
                "the work on the store did not end".to_owned(),
            )),
        }
    }
}

#[async_trait]
impl Store for FileStore {
    async fn get(&self, namespace: &str, key: &str) -> Result<Option<Record>, StoreError> {
        check_names(namespace, key)?;
        let (namespace, key) = (namespace.to_owned(), key.to_owned());
        self.blocking(move |shared| shared.get(&namespace, &key))
            .await
    }

    async fn put(
        &self,
        namespace: &str,
        key: &str,
        record: NewRecord,
        expected: Expected,
    ) -> Result<Version, StoreError> {
        check_names(namespace, key)?;
        check_size(&record, &self.shared.limits)?;
        let (namespace, key) = (namespace.to_owned(), key.to_owned());
        self.blocking(move |shared| shared.put(&namespace, &key, &record, expected))
            .await
    }

    async fn remove(
        &self,
        namespace: &str,
        key: &str,
        expected: Expected,
    ) -> Result<bool, StoreError> {
        check_names(namespace, key)?;
        let (namespace, key) = (namespace.to_owned(), key.to_owned());
        self.blocking(move |shared| shared.remove(&namespace, &key, expected))
            .await
    }

    async fn list(&self, namespace: &str) -> Result<Listing, StoreError> {
        check_namespace(namespace)?;
        let namespace = namespace.to_owned();
        self.blocking(move |shared| shared.list(&namespace)).await
    }

    async fn sweep(&self) -> Result<usize, StoreError> {
        self.blocking(Shared::sweep).await
    }
}

impl Shared {
    fn get(&self, namespace: &str, key: &str) -> Result<Option<Record>, StoreError> {
        let name = format::name(key);
        let path = self.folder.join(namespace).join(&name);
        // One byte more than may be, so that a longer file is seen as one.
        let most = MAX_HEAD_BYTES + self.limits.record_bytes + 1;
        let Some(file) = read(&path, most)? else {
            return Ok(None);
        };
        match format::record(&name, &file) {
            Ok(record) if expired(record.expires_ms, self.clock.now_ms()) => Ok(None),
            Ok(record) => Ok(Some(record)),
            Err(reason) => Err(damaged(&path, reason)),
        }
    }

    /// What is there for a writer: its version, and the current one if it has not expired.
    fn standing(
        &self,
        path: &Path,
        name: &str,
        expected: Expected,
    ) -> Result<(Version, Option<Version>), StoreError> {
        let found = read(path, MAX_HEAD_BYTES).and_then(|file| match file {
            None => Ok(None),
            Some(file) => {
                let entry = format::entry(name, &file);
                entry.map(Some).map_err(|reason| damaged(path, reason))
            }
        });
        match found {
            Ok(None) => Ok((0, None)),
            Ok(Some(entry)) => {
                let gone = expired(entry.expires_ms, self.clock.now_ms());
                Ok((entry.version, (!gone).then_some(entry.version)))
            }
            Err(StoreError::Damaged { .. }) if expected == Expected::Any => Ok((0, Some(0))),
            Err(error) => Err(error),
        }
    }

    fn put(
        &self,
        namespace: &str,
        key: &str,
        record: &NewRecord,
        expected: Expected,
    ) -> Result<Version, StoreError> {
        let folder = self.folder.join(namespace);
        create_private(&folder)?;
        let _lock = lock(&folder)?;
        let name = format::name(key);
        let path = folder.join(&name);
        let (previous, current) = self.standing(&path, &name, expected)?;
        check_expected(current, expected)?;
        if previous == 0 && current.is_none() {
            self.make_room(namespace, &folder)?;
        }
        let version = next_version(previous);
        let written = folder.join(WRITTEN);
        replace(&written, &path, &format::write(key, record, version))
            .map_err(|error| unavailable(&path, &error))?;
        Ok(version)
    }

    /// Throws expired records away when the namespace is full; fails when it stays so.
    fn make_room(&self, namespace: &str, folder: &Path) -> Result<(), StoreError> {
        let most = self.limits.records;
        if names(folder)?.len() < most {
            return Ok(());
        }
        self.sweep_folder(folder)?;
        if names(folder)?.len() < most {
            return Ok(());
        }
        Err(StoreError::Full {
            namespace: namespace.to_owned(),
            most,
        })
    }

    fn remove(&self, namespace: &str, key: &str, expected: Expected) -> Result<bool, StoreError> {
        let folder = self.folder.join(namespace);
        if !folder.is_dir() {
            check_expected(None, expected)?;
            return Ok(false);
        }
        let _lock = lock(&folder)?;
        let name = format::name(key);
        let path = folder.join(&name);
        let (_, current) = self.standing(&path, &name, expected)?;
        check_expected(current, expected)?;
        remove(&path)?;
        Ok(current.is_some())
    }

    fn list(&self, namespace: &str) -> Result<Listing, StoreError> {
        let folder = self.folder.join(namespace);
        let now = self.clock.now_ms();
        let mut listing = Listing::default();
        for name in names(&folder)? {
            match entry(&folder, &name) {
                Ok(Some(entry)) if !expired(entry.expires_ms, now) => listing.entries.push(entry),
                // Expired, or removed since.
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "a record is left out");
                    listing
                        .damaged
                        .push(folder.join(name).display().to_string());
                }
            }
        }
        listing.entries.sort();
        Ok(listing)
    }

    fn sweep(&self) -> Result<usize, StoreError> {
        let mut gone = 0;
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(unavailable(&self.folder, &error)),
        };
        for entry in entries.flatten() {
            let namespace = entry.file_name();
            let Some(namespace) = namespace.to_str() else {
                continue;
            };
            if check_namespace(namespace).is_ok() && entry.path().is_dir() {
                let _lock = lock(&entry.path())?;
                gone += self.sweep_folder(&entry.path())?;
            }
        }
        Ok(gone)
    }

    /// Needs the lock of the folder.
    fn sweep_folder(&self, folder: &Path) -> Result<usize, StoreError> {
        let now = self.clock.now_ms();
        let mut gone = 0;
        for name in names(folder)? {
            // What is damaged stays: somebody may want to look at it.
            if let Ok(Some(entry)) = entry(folder, &name)
                && expired(entry.expires_ms, now)
            {
                remove(&folder.join(name))?;
                gone += 1;
            }
        }
        Ok(gone)
    }
}

fn entry(folder: &Path, name: &str) -> Result<Option<Entry>, StoreError> {
    let path = folder.join(name);
    match read(&path, MAX_HEAD_BYTES)? {
        None => Ok(None),
        Some(file) => match format::entry(name, &file) {
            Ok(entry) => Ok(Some(entry)),
            Err(reason) => Err(damaged(&path, reason)),
        },
    }
}

/// The names of all records, in no order.
fn names(folder: &Path) -> Result<Vec<String>, StoreError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unavailable(folder, &error)),
    };
    let name = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().into_string().ok();
    let mut names: Vec<String> = entries
        .filter_map(name)
        .filter(|name| format::is_name(name))
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// The first `most` bytes of a file. Links and folders are no records.
fn read(path: &Path, most: usize) -> Result<Option<Vec<u8>>, StoreError> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => {}
        Ok(_) => return Err(damaged(path, "it is no file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unavailable(path, &error)),
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| {
        let most = u64::try_from(most).unwrap_or(u64::MAX);
        file.take(most).read_to_end(&mut bytes)
    });
    match read {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unavailable(path, &error)),
    }
}

/// Whoever holds the lock is the only one that writes this file; what a crash left is overwritten.
fn replace(written: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    private(&mut options);
    let mut file = options.open(written)?;
    file.write_all(bytes)?;
    file.sync_data()?;
    drop(file);
    if path.is_dir() {
        fs::remove_dir(path)?;
    }
    fs::rename(written, path)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    let removed = if path.is_dir() && !path.is_symlink() {
        fs::remove_dir(path)
    } else {
        fs::remove_file(path)
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(unavailable(path, &error)),
        _ => Ok(()),
    }
}

/// The lock of a folder; dropping the file gives it back, and so does the end of the process.
fn lock(folder: &Path) -> Result<File, StoreError> {
    let path = folder.join(LOCK);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    private(&mut options);
    let file = options
        .open(&path)
        .map_err(|error| unavailable(&path, &error))?;
    let begun = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if begun.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(LOCK_PAUSE);
            }
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Busy(folder.display().to_string()));
            }
            Err(TryLockError::Error(error)) => return Err(unavailable(&path, &error)),
        }
    }
}

fn create_private(folder: &Path) -> Result<(), StoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder
        .create(folder)
        .map_err(|error| unavailable(folder, &error))
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn private(_: &mut OpenOptions) {}

fn unavailable(path: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("cannot use {}: {error}", path.display()))
}

fn damaged(path: &Path, reason: &str) -> StoreError {
    StoreError::Damaged {
        name: path.display().to_string(),
        reason: reason.to_owned(),
    }
}
