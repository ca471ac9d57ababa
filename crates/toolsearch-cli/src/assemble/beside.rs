//! Work that takes long, beside what the runtime does.

use std::future::Future;

use tokio::runtime::Handle;
use tokio::task::{JoinHandle, spawn_blocking};

/// Does work on a thread of its own, so that whoever is served meanwhile does not wait for it. It is done
/// to its end even when nobody waits any more. How much is done at once is the caller's to limit: each
/// thread keeps memory of its own.
pub(super) fn beside<F>(work: impl FnOnce() -> F + Send + 'static) -> JoinHandle<F::Output>
where
    F: Future,
    F::Output: Send + 'static,
{
    let runtime = Handle::current();
    spawn_blocking(move || runtime.block_on(work()))
}
