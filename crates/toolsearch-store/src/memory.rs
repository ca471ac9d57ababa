//! Records of one process.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;

use crate::clock::{Clock, next_version};
use crate::contract::{
    Entry, Expected, Listing, NewRecord, Record, Store, StoreLimits, Version, check_expected,
    check_names, check_namespace, check_size, expired,
};
use crate::error::StoreError;

type Namespaces = BTreeMap<String, BTreeMap<String, Record>>;

/// Keeps records in memory, for as long as it lives.
#[derive(Debug, Default)]
pub struct MemoryStore {
    limits: StoreLimits,
    clock: Clock,
    namespaces: Mutex<Namespaces>,
}

impl MemoryStore {
    /// A store with limits and a clock of its own; [`MemoryStore::default`] has the usual ones.
    #[must_use]
    pub fn new(limits: StoreLimits, clock: Clock) -> Self {
        Self {
            limits,
            clock,
            namespaces: Mutex::default(),
        }
    }

    fn locked(&self) -> MutexGuard<'_, Namespaces> {
        self.namespaces
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn get(&self, namespace: &str, key: &str) -> Result<Option<Record>, StoreError> {
        check_names(namespace, key)?;
        let now = self.clock.now_ms();
        let namespaces = self.locked();
        let record = namespaces.get(namespace).and_then(|all| all.get(key));
        Ok(record
            .filter(|record| !expired(record.expires_ms, now))
            .cloned())
    }

    async fn put(
        &self,
        namespace: &str,
        key: &str,
        record: NewRecord,
        expected: Expected,
    ) -> Result<Version, StoreError> {
        check_names(namespace, key)?;
        check_size(&record, &self.limits)?;
        let now = self.clock.now_ms();
        let mut namespaces = self.locked();
        let all = namespaces.entry(namespace.to_owned()).or_default();
        let before = all.get(key);
        let previous = before.map_or(0, |record| record.version);
        let current = before.filter(|record| !expired(record.expires_ms, now));
        check_expected(current.map(|record| record.version), expected)?;
        if before.is_none() && all.len() >= self.limits.records {
            all.retain(|_, record| !expired(record.expires_ms, now));
            if all.len() >= self.limits.records {
                return Err(StoreError::Full {
                    namespace: namespace.to_owned(),
                    most: self.limits.records,
                });
            }
        }
        let version = next_version(previous);
        let NewRecord { bytes, expires_ms } = record;
        let record = Record {
            bytes,
            version,
            expires_ms,
        };
        all.insert(key.to_owned(), record);
        Ok(version)
    }

    async fn remove(
        &self,
        namespace: &str,
        key: &str,
        expected: Expected,
    ) -> Result<bool, StoreError> {
        check_names(namespace, key)?;
        let now = self.clock.now_ms();
        let mut namespaces = self.locked();
        let all = namespaces.get_mut(namespace);
        let current = all
            .as_ref()
            .and_then(|all| all.get(key))
            .filter(|record| !expired(record.expires_ms, now))
            .map(|record| record.version);
        check_expected(current, expected)?;
        if let Some(all) = all {
            all.remove(key);
            if all.is_empty() {
                namespaces.remove(namespace);
            }
        }
        Ok(current.is_some())
    }

    async fn list(&self, namespace: &str) -> Result<Listing, StoreError> {
        check_namespace(namespace)?;
        let now = self.clock.now_ms();
        let namespaces = self.locked();
        let mut listing = Listing::default();
        for (key, record) in namespaces.get(namespace).into_iter().flatten() {
            if !expired(record.expires_ms, now) {
                listing.entries.push(Entry {
                    key: key.clone(),
                    version: record.version,
                    expires_ms: record.expires_ms,
                });
            }
        }
        Ok(listing)
    }

    async fn sweep(&self) -> Result<usize, StoreError> {
        let now = self.clock.now_ms();
        let mut namespaces = self.locked();
        let mut gone = 0;
        for all in namespaces.values_mut() {
            let before = all.len();
            all.retain(|_, record| !expired(record.expires_ms, now));
            gone += before - all.len();
        }
        namespaces.retain(|_, all| !all.is_empty());
        Ok(gone)
    }
}
