//! Reading a bounded file and writing one whole or not at all.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use crate::error::ConfigError;
use crate::json5::MAX_FILE_BYTES;

/// Reads a text file of at most [`MAX_FILE_BYTES`].
///
/// # Errors
/// [`ConfigError::File`] when it cannot be read or is not UTF-8, [`ConfigError::TooLarge`].
pub fn read(path: &Path) -> Result<String, ConfigError> {
    let fault = |source| ConfigError::File {
        action: "read",
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let limit = MAX_FILE_BYTES as u64 + 1;
    File::open(path)
        .and_then(|file| file.take(limit).read_to_end(&mut bytes))
        .map_err(fault)?;
    if bytes.len() > MAX_FILE_BYTES {
        let file = path.display().to_string();
        return Err(ConfigError::TooLarge {
            file,
            limit: MAX_FILE_BYTES,
        });
    }
    String::from_utf8(bytes).map_err(|error| {
        fault(io::Error::new(
            io::ErrorKind::InvalidData,
            error.utf8_error(),
        ))
    })
}

/// Writes a file through a temporary neighbour and a rename, so that a reader sees the old text
/// or the new one. An existing file keeps its permissions and stays behind its symbolic link; a
/// new one is for the user alone, since it may hold secrets. Missing folders are made.
///
/// # Errors
/// [`ConfigError::File`]; the old text is then untouched.
pub fn write_atomic(path: &Path, text: &str) -> Result<(), ConfigError> {
    replace(path, text).map_err(|source| ConfigError::File {
        action: "write",
        path: path.to_owned(),
        source,
    })
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder)?;
    let mut draft = tempfile::Builder::new()
        .prefix(".toolsearch-")
        .tempfile_in(folder)?;
    draft.write_all(text.as_bytes())?;
    if let Ok(metadata) = fs::metadata(&target) {
        draft.as_file().set_permissions(metadata.permissions())?;
    }
    draft.as_file().sync_all()?;
    draft.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_and_its_folders_are_made() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a/b/toolsearch.json5");
        write_atomic(&path, "{}").expect("write");
        assert_eq!(read(&path).expect("read"), "{}");
        let left: Vec<_> = fs::read_dir(path.parent().expect("parent"))
            .expect("list")
            .collect();
        assert_eq!(left.len(), 1, "no draft is left behind");
    }

    #[cfg(unix)]
    #[test]
    fn mode_and_link_are_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().expect("a folder");
        let real = folder.path().join("real.json5");
        let link = folder.path().join("link.json5");
        fs::write(&real, "old").expect("write");
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("mode");
        symlink(&real, &link).expect("link");
        write_atomic(&link, "new").expect("write");
        assert_eq!(fs::read_to_string(&real).expect("read"), "new");
        assert!(fs::symlink_metadata(&link).expect("link").is_symlink());
        assert_eq!(
            fs::metadata(&real).expect("real").permissions().mode() & 0o777,
            0o640
        );
    }

    #[test]
    fn what_cannot_be_read_says_which_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let missing = folder.path().join("none.json5");
        let error = read(&missing).expect_err("missing");
        assert!(error.to_string().contains("none.json5"), "{error}");
        let binary = folder.path().join("binary.json5");
        fs::write(&binary, [0xff, 0xfe]).expect("write");
        assert!(matches!(read(&binary), Err(ConfigError::File { .. })));
        let large = folder.path().join("large.json5");
        fs::write(&large, " ".repeat(MAX_FILE_BYTES + 1)).expect("write");
        assert!(matches!(read(&large), Err(ConfigError::TooLarge { .. })));
    }
}
