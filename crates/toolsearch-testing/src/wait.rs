//! Waiting in tests: always for an event, always with an end.

use std::future::Future;
use std::time::Duration;

use tokio::time::Instant;

/// How long anything may take on a busy machine before a suite calls it broken. Nothing waits for it
/// to pass.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// How often a condition that nobody announces is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// Runs a future on a runtime of its own with two threads, time and I/O, so that a test file needs no
/// runtime itself.
///
/// # Panics
/// When the system gives no threads.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("because two threads can be started")
        .block_on(future)
}

/// The result of a future that must end.
///
/// # Panics
/// When it does not end within [`PATIENCE`]; `what` says which rule that breaks.
pub async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what}: not within {} s", PATIENCE.as_secs()),
    }
}

/// Waits until a condition holds that becomes true by itself, such as the end of a process.
///
/// # Panics
/// When it does not within [`PATIENCE`].
pub async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(
            start.elapsed() < PATIENCE,
            "{what}: not within {} s",
            PATIENCE.as_secs()
        );
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
