//! The vectors that are known: shared by all indexes of a ranker, and kept in one file a space.
//!
//! The file is written whole and put in place of the older one, so that a reader sees one or the other. What
//! does not add up is as good as no file. Processes that write at the same time lose each other's latest
//! vectors and nothing else.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use toolsearch_search::MAX_DIMENSIONS;

use crate::row::Row;

/// How the file begins; another layout gets another number.
const MAGIC: &[u8; 8] = b"tsvec\x00\x00\x01";
const SUM_BYTES: usize = 32;
/// Magic, dimensions, count.
const HEAD_BYTES: usize = 8 + 4 + 4;
/// Bytes of vectors that are kept, in memory beyond those in use and in the file.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// A hash of a text.
pub(crate) type Key = [u8; 16];

pub(crate) fn key(text: &str) -> Key {
    let mut key = [0; 16];
    key.copy_from_slice(&Sha256::digest(text)[..16]);
    key
}

/// The vectors of one space.
#[derive(Debug)]
pub(crate) struct Store {
    file: Option<PathBuf>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    rows: BTreeMap<Key, Arc<Row>>,
    /// Set by the first row.
    dimensions: Option<usize>,
    is_read: bool,
    unsaved: usize,
}

/// Rows of one space have equal dimensions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OtherDimensions {
    pub(crate) expected: usize,
    pub(crate) found: usize,
}

impl Store {
    /// The file's name tells the space; nothing is read yet.
    pub(crate) fn new(folder: Option<&Path>, space: &str) -> Self {
        let name = HEXLOWER.encode(&key(space));
        Self {
            file: folder.map(|folder| folder.join(format!("vectors-{name}.bin"))),
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the file, once. Blocks.
    pub(crate) fn read(&self) {
        if self.known().is_read {
            return;
        }
        let found = self.file.as_deref().and_then(read);
        let mut known = self.known();
        if !known.is_read {
            known.is_read = true;
            let (dimensions, rows) = found.unwrap_or_default();
            if !rows.is_empty() && known.rows.is_empty() {
                known.dimensions = Some(dimensions);
                known.rows = rows;
            }
        }
    }

    pub(crate) fn find(&self, key: &Key) -> Option<Arc<Row>> {
        self.known().rows.get(key).cloned()
    }

    /// Whether a vector can be compared with the others.
    pub(crate) fn fits(&self, row: &Row) -> Result<(), OtherDimensions> {
        match self.known().dimensions {
            Some(expected) if expected != row.dimensions() => Err(OtherDimensions {
                expected,
                found: row.dimensions(),
            }),
            _ => Ok(()),
        }
    }

    /// Keeps a vector.
    pub(crate) fn keep(&self, key: Key, row: Row) -> Result<Arc<Row>, OtherDimensions> {
        self.fits(&row)?;
        let mut known = self.known();
        known.dimensions.get_or_insert(row.dimensions());
        let most = MAX_BYTES / row.dimensions();
        if known.rows.len() >= most {
            // What no index uses any more.
            known.rows.retain(|_, row| Arc::strong_count(row) > 1);
        }
        let row = Arc::new(row);
        known.rows.insert(key, Arc::clone(&row));
        known.unsaved += 1;
        Ok(row)
    }

    /// How many vectors came since the last save.
    pub(crate) fn unsaved(&self) -> usize {
        self.known().unsaved
    }

    /// Writes the file. Blocks. Nothing new: nothing is written.
    pub(crate) fn save(&self) -> io::Result<()> {
        let Some(file) = &self.file else {
            self.known().unsaved = 0;
            return Ok(());
        };
        let (rows, dimensions) = {
            let mut known = self.known();
            if known.unsaved == 0 {
                return Ok(());
            }
            known.unsaved = 0;
            (known.rows.clone(), known.dimensions.unwrap_or(1))
        };
        // Those in use come first where not all may be kept.
        let most = MAX_BYTES / dimensions;
        let mut order: Vec<(&Key, &Arc<Row>)> = rows.iter().collect();
        if order.len() > most {
            order.sort_by_key(|(key, row)| (Arc::strong_count(row) <= 2, **key));
            order.truncate(most);
        }
        write(file, dimensions, &order)
    }
}

fn write(path: &Path, dimensions: usize, rows: &[(&Key, &Arc<Row>)]) -> io::Result<()> {
    let too_many = |_| io::Error::other("too many vectors");
    let mut bytes = Vec::with_capacity(HEAD_BYTES + rows.len() * (16 + dimensions) + SUM_BYTES);
    bytes.extend_from_slice(MAGIC);
    bytes.extend(u32::try_from(dimensions).map_err(too_many)?.to_le_bytes());
    bytes.extend(u32::try_from(rows.len()).map_err(too_many)?.to_le_bytes());
    for (key, row) in rows {
        bytes.extend_from_slice(*key);
        bytes.extend(row.numbers().iter().map(|number| number.cast_unsigned()));
    }
    let sum = Sha256::digest(&bytes);
    bytes.extend_from_slice(&sum);
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(&bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// What a file holds; `None` for whatever is not whole.
fn read(path: &Path) -> Option<(usize, BTreeMap<Key, Arc<Row>>)> {
    let most = HEAD_BYTES + SUM_BYTES + MAX_BYTES + 16 * MAX_BYTES;
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    if file.metadata().ok()?.len() > most as u64 {
        return None;
    }
    file.take(most as u64).read_to_end(&mut bytes).ok()?;
    let (rest, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM_BYTES)?)?;
    if Sha256::digest(rest)[..] != *sum {
        return None;
    }
    let (head, rows) = rest.split_at_checked(HEAD_BYTES)?;
    let number = |at: usize| {
        let four = head.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_le_bytes(four) as usize)
    };
    let (dimensions, count) = (number(8)?, number(12)?);
    let fits = (1..=MAX_DIMENSIONS).contains(&dimensions)
        && count.checked_mul(16 + dimensions) == Some(rows.len());
    if !head.starts_with(MAGIC) || !fits {
        return None;
    }
    let row = |bytes: &[u8]| {
        let (key, numbers) = bytes.split_at_checked(16)?;
        let numbers = numbers.iter().map(|byte| byte.cast_signed()).collect();
        Some((key.try_into().ok()?, Arc::new(Row::from_numbers(numbers)?)))
    };
    let rows: Option<BTreeMap<Key, Arc<Row>>> =
        rows.chunks_exact(16 + dimensions).map(row).collect();
    Some((dimensions, rows?))
}
