//! The process group of a server: what a launcher such as `npx` starts ends with it.

use std::time::Duration;

#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// How often it is looked whether a group is empty.
const POLL: Duration = Duration::from_millis(20);
/// How long killed processes may take to be gone.
const KILLED: Duration = Duration::from_millis(500);

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
    pub(super) async fn finish(mut self, grace: Duration) {
        self.terminate();
        if !self.empties(grace).await {
            self.kill();
            // A killed process is gone a moment later. One that nobody collects stays a member; it
            // does nothing any more.
            self.empties(KILLED).await;
        }
        self.disarm();
    }

    /// Whether no member is left within this time.
    async fn empties(&self, patience: Duration) -> bool {
        let emptied = async {
            while !self.is_empty() {
                tokio::time::sleep(POLL).await;
            }
        };
        tokio::time::timeout(patience, emptied).await.is_ok()
    }

    #[cfg(unix)]
    fn disarm(&mut self) {
        self.leader = None;
    }

    #[cfg(not(unix))]
    fn disarm(&mut self) {}

    #[cfg(not(unix))]
    fn is_empty(&self) -> bool {
        true
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
