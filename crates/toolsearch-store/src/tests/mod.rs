//! Tests of both stores: the shared suite, and what only files can get wrong.

mod conformance;
mod files;

use std::sync::Arc;

use crate::{Clock, FileStore, MemoryStore, Store, StoreLimits};

fn limits() -> StoreLimits {
    StoreLimits {
        record_bytes: 4096,
        records: 16,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_keeps_the_rules_of_stores() {
    conformance::conforms(|clock: Clock| -> Arc<dyn Store> {
        Arc::new(MemoryStore::new(limits(), clock))
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_keep_the_rules_of_stores() {
    let root = tempfile::tempdir().expect("a folder");
    let number = std::cell::Cell::new(0);
    conformance::conforms(|clock: Clock| -> Arc<dyn Store> {
        number.set(number.get() + 1);
        let folder = root.path().join(number.get().to_string());
        Arc::new(FileStore::with(folder, limits(), clock))
    })
    .await;
}
