//! Standard input without a buffer, so that it can be asked whether more is there.

#[cfg(not(unix))]
use std::io;

/// Reads what is there, or waits for it.
pub(crate) struct Stdin;

#[cfg(unix)]
mod on_unix {
    use std::io;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    impl io::Read for super::Stdin {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            loop {
                match rustix::io::read(io::stdin(), &mut *buffer) {
                    Err(rustix::io::Errno::INTR) => {}
                    result => return Ok(result?),
                }
            }
        }
    }

    fn events(flags: PollFlags, wait: Option<&Timespec>) -> io::Result<PollFlags> {
        let stdin = io::stdin();
        let mut fds = [PollFd::new(&stdin, flags)];
        match poll(&mut fds, wait)? {
            0 => Ok(PollFlags::empty()),
            _ => Ok(fds[0].revents()),
        }
    }

    /// Whether something can be read, the end included.
    pub(crate) fn is_ready() -> bool {
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        events(PollFlags::IN, Some(&now)).is_ok_and(|events| !events.is_empty())
    }

    /// Waits for the first byte, but not for ever.
    pub(crate) fn await_first(seconds: i64) -> io::Result<()> {
        let wait = Timespec {
            tv_sec: seconds,
            tv_nsec: 0,
        };
        if events(PollFlags::IN, Some(&wait))?.is_empty() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }

    /// Waits until nobody can write any more.
    pub(crate) fn await_end() {
        loop {
            match events(PollFlags::empty(), None) {
                Ok(events) if events.is_empty() => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    }
}

#[cfg(unix)]
pub(crate) use on_unix::{await_end, await_first, is_ready};

#[cfg(not(unix))]
impl io::Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        io::Read::read(&mut io::stdin().lock(), buffer)
    }
}

/// Nobody can tell here: a program that is busy learns of its end by being ended.
#[cfg(not(unix))]
pub(crate) fn is_ready() -> bool {
    false
}

#[cfg(not(unix))]
pub(crate) fn await_first(_: i64) -> io::Result<()> {
    Ok(())
}
