//! A record as a file: one line of JSON that says what follows, then the bytes.
//!
//! The line names the key, because the file's own name is only its hash, and carries the hash of the
//! bytes, so that a file that was cut or changed is known as damaged.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::contract::{Entry, MAX_KEY_BYTES, NewRecord, Record, Version};

/// The form that this version writes. A later one is refused, not misread.
const FORM: u32 = 1;

/// Most bytes of the first line: a key of which every byte is escaped, and the rest.
pub(crate) const MAX_HEAD_BYTES: usize = 6 * MAX_KEY_BYTES + 512;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    toolsearch: u32,
    key: String,
    version: Version,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
    length: usize,
    sha256: String,
}

/// The name of the file of a key: its hash.
pub(crate) fn name(key: &str) -> String {
    hex(key.as_bytes())
}

/// Whether a file name is one that [`name`] gives.
pub(crate) fn is_name(name: &str) -> bool {
    let digit = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    name.len() == 64 && name.bytes().all(digit)
}

fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}

/// The file of a record.
pub(crate) fn write(key: &str, record: &NewRecord, version: Version) -> Vec<u8> {
    let head = Head {
        toolsearch: FORM,
        key: key.to_owned(),
        version,
        expires: record.expires_ms,
        length: record.bytes.len(),
        sha256: hex(&record.bytes),
    };
    let mut file = serde_json::to_vec(&head).expect("because a head holds texts and numbers only");
    file.push(b'\n');
    file.extend_from_slice(&record.bytes);
    file
}

/// Reads the first line of a file with that name; `file` holds at least the line, if there is one.
pub(crate) fn entry(name: &str, file: &[u8]) -> Result<Entry, &'static str> {
    let (head, _) = head(name, file)?;
    Ok(Entry {
        key: head.key,
        version: head.version,
        expires_ms: head.expires,
    })
}

/// Reads a whole file with that name.
pub(crate) fn record(name: &str, file: &[u8]) -> Result<Record, &'static str> {
    let (head, bytes) = head(name, file)?;
    if bytes.len() != head.length {
        return Err("it is cut off");
    }
    if hex(bytes) != head.sha256 {
        return Err("its bytes are not those that were written");
    }
    Ok(Record {
        bytes: bytes.to_vec(),
        version: head.version,
        expires_ms: head.expires,
    })
}

fn head<'a>(name: &str, file: &'a [u8]) -> Result<(Head, &'a [u8]), &'static str> {
    let window = &file[..file.len().min(MAX_HEAD_BYTES)];
    let end = window.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or("it has no first line")?;
    let head: Head = serde_json::from_slice(&file[..end])
        .map_err(|_| "its first line is not that of a record")?;
    if head.toolsearch != FORM {
        return Err("it has a form that this version does not read");
    }
    if self::name(&head.key) != name {
        return Err("it lies under the name of another key");
    }
    Ok((head, &file[end + 1..]))
}
