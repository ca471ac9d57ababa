//! Hashes that consent is bound to.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// SHA-256 over parts, each framed by its length so that parts cannot run together; a single part is
/// hashed as it stands. 64 hexadecimal digits.
pub(crate) fn sha256<const N: usize>(parts: [&[u8]; N]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        if N > 1 {
            hasher.update((part.len() as u64).to_le_bytes());
        }
        hasher.update(part);
    }
    HEXLOWER.encode(&hasher.finalize())
}
