//! Content hashes: what the model could see, in 32 hexadecimal digits. Not a secret, not a pin.

use std::fmt;

use data_encoding::HEXLOWER;
use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A hash over everything in a catalog that a model could see. Equal fingerprints mean that the
/// same snapshot and index can serve both.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; DIGITS]);

const DIGITS: usize = 32;

impl Fingerprint {
    /// The 32 lowercase hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).expect("because hexadecimal digits are ASCII")
    }

    /// Hashes parts in order; each is framed by its length, so that parts cannot run together.
    pub fn over<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Hasher::default();
        for part in parts {
            hasher.bytes(part);
        }
        hasher.finish()
    }
}

/// Hashes framed parts; text and JSON are gathered first, so that the hash sees whole blocks.
#[derive(Default)]
pub(crate) struct Hasher {
    gathered: Vec<u8>,
}

impl Hasher {
    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.gathered
            .extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        self.gathered.extend_from_slice(bytes);
    }

    /// JSON frames itself: no value is the beginning of another, and a zero byte ends it.
    pub(crate) fn json(&mut self, value: &impl Serialize) {
        // Writing to memory cannot fail, and these values have string keys.
        let _ = serde_json::to_writer(&mut self.gathered, value);
        self.gathered.push(0);
    }

    pub(crate) fn finish(self) -> Fingerprint {
        let digest = Sha256::digest(&self.gathered);
        let mut digits = [0; DIGITS];
        HEXLOWER.encode_mut(&digest[..DIGITS / 2], &mut digits);
        Fingerprint(digits)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Eight hexadecimal digits of a text's hash.
pub(crate) fn short_hash(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text.as_bytes())[..4])
}
