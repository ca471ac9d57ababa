//! Content hashes: what the model could see, in 32 hexadecimal digits. Not a secret, not a pin.

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

/// A hash over everything in a catalog that a model could see. Equal fingerprints mean that the
/// same snapshot and index can serve both.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The 32 lowercase hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Hashes parts in order; each is framed by its length, so that parts cannot run together.
    pub fn over<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for part in parts {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        Self(hex(&hasher.finalize()[..16]))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({})", self.0)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Eight hexadecimal digits of a text's hash.
pub(crate) fn short_hash(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes())[..4])
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
