//! Bounded records that outlive a request: the contract [`Store`], and two that keep it,
//! [`MemoryStore`] and [`FileStore`].
//!
//! A record is bytes under a namespace and a key, with a version and perhaps an expiry. Writers say
//! which version they have seen and are told when it is not the current one, so several processes can
//! share a store without overwriting each other. What the bytes mean stands elsewhere: nothing here
//! knows of tools, sessions or policies.

mod clock;
mod contract;
mod error;
mod file;
mod format;
mod memory;

pub use clock::Clock;
pub use contract::{
    Entry, Expected, Listing, MAX_KEY_BYTES, MAX_NAMESPACE_BYTES, NewRecord, Record, Store,
    StoreLimits, Version,
};
pub use error::StoreError;
pub use file::FileStore;
pub use memory::MemoryStore;

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
