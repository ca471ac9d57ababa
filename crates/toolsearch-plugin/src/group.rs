//! The process group of a command: whatever the command starts belongs to it and ends with it.

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};

/// Kills the whole group when dropped.
#[derive(Debug)]
pub(crate) struct Group {
    #[cfg(unix)]
    leader: Option<Pid>,
}

impl Group {
    /// The group that the process `leader` was started in as its first member.
    #[cfg(unix)]
    pub(crate) fn of(leader: Option<u32>) -> Self {
        let leader = leader
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw);
        Self { leader }
    }

    /// Groups exist on Unix only; elsewhere the process itself is killed by its handle.
    #[cfg(not(unix))]
    pub(crate) const fn of(_leader: Option<u32>) -> Self {
        Self {}
    }

    /// Ends every member, once.
    pub(crate) fn kill(&mut self) {
        #[cfg(unix)]
        if let Some(leader) = self.leader.take() {
            // Fails only when nobody is left, which is what is wanted.
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
