//! The process group of a server: what a launcher such as `npx` starts ends with it.

use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// How often it is looked whether a group is empty.
#[cfg(unix)]
const POLL: Duration = Duration::from_millis(20);

/// Kills what is left of the group when dropped.
#[derive(Debug)]
pub(super) struct Group {
    #[cfg(unix)]
    leader: Option<Pid>,
}

impl Group {
    /// The group that the process `leader` was started in as its first member.
    #[cfg(unix)]
    pub(super) fn of(leader: Option<u32>) -> Self {
        let leader = leader
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw);
        Self { leader }
    }

    /// Groups exist on Unix only; elsewhere the process itself is killed by its handle.
    #[cfg(not(unix))]
    pub(super) fn of(_leader: Option<u32>) -> Self {
        Self {}
    }

    /// Asks every member to end.
    pub(super) fn terminate(&self) {
        #[cfg(unix)]
        self.signal(Signal::TERM);
    }

    /// Ends every member.
    pub(super) fn kill(&self) {
        #[cfg(unix)]
        self.signal(Signal::KILL);
    }

    /// Ends what the dead leader left behind: asks, waits at most `grace`, kills.
    #[cfg_attr(
        not(unix),
        expect(clippy::unused_async, reason = "there is no group to wait for")
    )]
    pub(super) async fn finish(mut self, grace: Duration) {
        #[cfg(unix)]
        {
            self.terminate();
            let rounds = grace.as_millis() / POLL.as_millis();
            for _ in 0..rounds {
                if self.is_empty() {
                    break;
                }
                tokio::time::sleep(POLL).await;
            }
            if !self.is_empty() {
                self.kill();
            }
            self.leader = None;
        }
        #[cfg(not(unix))]
        let _ = (&mut self, grace);
    }

    #[cfg(unix)]
    fn is_empty(&self) -> bool {
        self.leader
            .is_none_or(|leader| test_kill_process_group(leader).is_err())
    }

    #[cfg(unix)]
    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // Fails only when nobody is left, which is what is wanted.
            let _ = kill_process_group(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
