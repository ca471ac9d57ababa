//! Files for the eyes of this user only, replaced as a whole or not at all.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use toolsearch_catalog::Fingerprint;

/// Longest readable part of a file name, in characters.
const MAX_STEM_CHARS: usize = 60;

static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Writes beside the old file and then takes its place, so that no reader sees half of it.
pub(crate) fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    make_folder(folder)?;
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let draft = path.with_extension(format!("{}-{number}.tmp", std::process::id()));
    // Left by a process of the same number that died while it wrote.
    let _ = fs::remove_file(&draft);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&draft).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    let replaced = written.and_then(|()| fs::rename(&draft, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&draft);
    }
    replaced
}

/// The content, if there is a file of at most `most` bytes.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = fs::File::open(path)?;
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::other("the file is too large"));
    }
    Ok(content)
}

/// A file for something with this name: readable where that can be, and never two names in one.
pub(crate) fn path_for(folder: &Path, name: &str) -> PathBuf {
    let readable = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let plain = name.chars().map(|c| if readable(c) { c } else { '_' });
    let stem: String = plain.take(MAX_STEM_CHARS).collect();
    let hash = Fingerprint::over([name.as_bytes()]);
    let hash = hash.as_str();
    let tail = &hash[..hash.len().min(12)];
    folder.join(format!("{stem}-{tail}.json"))
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
