//! The child side: the process that holds a guest.

use std::{
    convert::Infallible,
    io,
    process::exit,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
};

use toolsearch_sandbox::{Guest, GuestProgram, Limits, StopFlag};

use crate::{
    bridge::{self, Incoming, Pipe},
    lines::Lines,
    walls,
    wire::{self, FromWorker, ToWorker},
};

/// The first argument of a process that is to be a worker.
pub const WORKER_ARG: &str = "--toolsearch-sandbox-worker";

/// The second argument of a worker that becomes an interpreter.
pub(crate) const EXEC_ARG: &str = "--exec";

/// How long a worker waits for its program before it goes by itself.
#[cfg(unix)]
const IDLE_SECONDS: i64 = 600;

/// Answers that may wait in the worker; more are left in the pipe.
const QUEUE: usize = 64;

/// Stack of the thread that reads the pipe.
const READER_STACK: usize = 256 << 10;

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
    let incoming = start_reader(stop.clone())?;
    walls::after_engine(&mut layers);
    let ready = FromWorker::Ready {
        version: wire::VERSION,
        engine: guest.name().to_owned(),
        layers,
    };
    bridge::write_all(ready.to_line().as_bytes()).map_err(|error| error.to_string())?;

    let Ok(Incoming::Run(run)) = incoming.recv() else {
        return Err("the first frame must be a program".to_owned());
    };
    let limits: Limits = run.limits.into();
    let program = GuestProgram::new(run.source, run.seed, run.epoch_ms);
    let pipe = Pipe::new(incoming, limits.output_bytes);
    let outcome = guest.run(&program, &limits, stop, Box::new(pipe));
    bridge::finish(outcome);
    Ok(())
}

/// Starts the thread that reads the pipe, and waits until it runs: it must have made its own system
/// calls before the last wall goes up.
fn start_reader(stop: StopFlag) -> Result<Receiver<Incoming>, String> {
    let (sender, receiver) = sync_channel(QUEUE);
    let (started, is_started) = sync_channel(1);
    thread::Builder::new()
        .stack_size(READER_STACK)
        .spawn(move || {
            let _ = started.send(());
            match read(&sender, &stop) {
                Ok(never) => match never {},
                // The host is gone, or says what no host says: so is the worker, busy or not.
                Err(_) => exit(0),
            }
        })
        .map_err(|error| format!("cannot start a thread: {error}"))?;
    is_started
        .recv()
        .map_err(|_| "the reading thread ended".to_owned())?;
    Ok(receiver)
}

fn read(sender: &SyncSender<Incoming>, stop: &StopFlag) -> io::Result<Infallible> {
    await_program()?;
    let mut stdin = io::stdin().lock();
    // The host is trusted, and the address space is limited.
    let mut lines = Lines::new(usize::MAX);
    loop {
        if lines.fill(&mut stdin)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        while let Some(line) = lines.next().map_err(io::Error::other)? {
            let incoming = match serde_json::from_slice(line)? {
                ToWorker::Run(run) => Incoming::Run(Box::new(run)),
                ToWorker::Answer(frame) => {
                    let answer = bridge::answer_of(&frame);
                    Incoming::Answer(answer.ok_or(io::ErrorKind::InvalidData)?)
                }
                ToWorker::Stop => {
                    stop.raise();
                    Incoming::Stop
                }
            };
            // After its run the guest takes nothing more; then only the end of the pipe matters.
            let _ = sender.send(incoming);
        }
    }
}

/// Waits for the first byte, but not for ever.
#[cfg(unix)]
fn await_program() -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let stdin = io::stdin();
    let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
    let idle = Timespec {
        tv_sec: IDLE_SECONDS,
        tv_nsec: 0,
    };
    match poll(&mut fds, Some(&idle))? {
        0 => Err(io::ErrorKind::TimedOut.into()),
        _ => Ok(()),
    }
}

#[cfg(not(unix))]
fn await_program() -> io::Result<()> {
    Ok(())
}
