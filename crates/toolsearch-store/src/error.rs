//! What a store cannot do, by what its caller can.

use crate::contract::{MAX_KEY_BYTES, MAX_NAMESPACE_BYTES, Version};

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Somebody else was first. Read again and decide anew.
    #[error("the record is not the one that was expected; read it again")]
    Conflict {
        /// The current version, if there is a record.
        current: Option<Version>,
    },
    /// The namespace or the key can name nothing.
    #[error(
        "a namespace is 1 to {MAX_NAMESPACE_BYTES} of a-z 0-9 -, a key 1 to {MAX_KEY_BYTES} bytes; \
         got `{0}`"
    )]
    Name(String),
    /// The record is larger than a record may be.
    #[error("the record has {bytes} bytes; {most} are the most")]
    TooLarge {
        /// Its bytes.
        bytes: usize,
        /// The limit.
        most: usize,
    },
    /// The namespace holds as many records as it may, none of them expired.
    #[error("`{namespace}` holds {most} records, which is the most; remove some")]
    Full {
        /// The namespace.
        namespace: String,
        /// The limit.
        most: usize,
    },
    /// What is kept cannot be read. Writing or removing with [`Expected::Any`](crate::Expected::Any)
    /// gets rid of it.
    #[error("{name} cannot be read: {reason}")]
    Damaged {
        /// Where it is kept.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process kept the store to itself for too long. Trying again may help.
    #[error("another process is using {0}")]
    Busy(String),
    /// The place of the records cannot be used.
    #[error("{0}")]
    Unavailable(String),
}
