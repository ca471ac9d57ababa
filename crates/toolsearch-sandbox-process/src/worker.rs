//! The child side: the process that holds a guest.

use std::process::exit;

use toolsearch_sandbox::{Guest, GuestProgram, Limits, StopFlag};

use crate::{
    bridge::{self, Pipe},
    stdin, walls,
    wire::{self, FromWorker},
};

/// The first argument of a process that is to be a worker.
pub const WORKER_ARG: &str = "--toolsearch-sandbox-worker";

/// The second argument of a worker that becomes an interpreter.
pub(crate) const EXEC_ARG: &str = "--exec";

/// How long a worker waits for its program before it goes by itself.
const IDLE_SECONDS: i64 = 600;

/// Stack of the thread that watches the host.
#[cfg(unix)]
const WATCHER_STACK: usize = 64 << 10;

/// Whether this process was started to be a worker. To be asked before anything else in `main`: no
/// logging, no threads, no configuration before it.
#[must_use]
pub fn is_worker() -> bool {
    std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == WORKER_ARG)
}

/// Is a worker until the run is over; never returns.
///
/// Locks this process down for good. `guest` runs on the calling thread, which must be the main thread,
/// for the size of its stack. A worker that was asked to become an
/// [`External`](toolsearch_sandbox::External) guest does that and leaves `guest` alone.
pub fn worker_main(mut guest: impl Guest) -> ! {
    if std::env::args_os()
        .nth(2)
        .is_some_and(|word| word == EXEC_ARG)
    {
        launcher_main();
    }
    let stop = StopFlag::new();
    match serve(&mut guest, &stop) {
        Ok(()) => exit(0),
        Err(reason) => refuse(reason),
    }
}

/// Is a worker that becomes an [`External`](toolsearch_sandbox::External) guest; never returns. For a
/// binary without a guest of its own.
pub fn launcher_main() -> ! {
    let launch = std::env::args().nth(3).unwrap_or_default();
    let became = serde_json::from_str(&launch)
        .map_err(|error| format!("it does not say what to become: {error}"))
        .and_then(|launch| walls::become_interpreter(&launch));
    match became {
        Ok(never) => match never {},
        Err(reason) => refuse(reason),
    }
}

fn refuse(reason: String) -> ! {
    let _ = bridge::write_all(FromWorker::Refused { reason }.to_line().as_bytes());
    exit(1)
}

fn serve(guest: &mut dyn Guest, stop: &StopFlag) -> Result<(), String> {
    let mut layers = walls::before_engine();
    guest.prepare()?;
    #[cfg(unix)]
    watch_host()?;
    walls::after_engine(&mut layers);
    let ready = FromWorker::Ready {
        version: wire::VERSION,
        engine: guest.name().to_owned(),
        layers,
    };
    bridge::write_all(ready.to_line().as_bytes()).map_err(|error| error.to_string())?;
    stdin::await_first(IDLE_SECONDS).map_err(|error| error.to_string())?;
    let (pipe, run) = Pipe::open(stop.clone())?;
    let limits: Limits = run.limits.into();
    let program = GuestProgram::new(run.source, run.seed, run.epoch_ms);
    let outcome = guest.run(&program, &limits, stop, Box::new(pipe));
    bridge::finish(outcome);
    Ok(())
}

/// Ends this process when its host is gone, also in the middle of what cannot be interrupted. Waits until
/// the thread runs: it must have made its own system calls before the last wall goes up.
#[cfg(unix)]
fn watch_host() -> Result<(), String> {
    use std::{sync::mpsc::sync_channel, thread};

    let (started, is_started) = sync_channel(1);
    thread::Builder::new()
        .stack_size(WATCHER_STACK)
        .spawn(move || {
            let _ = started.send(());
            stdin::await_end();
            exit(0)
        })
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    is_started
        .recv()
        .map_err(|_| "the watching thread ended".to_owned())
}
