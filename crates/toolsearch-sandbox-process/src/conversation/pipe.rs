//! The three pipes of a worker, from the host's side.

use std::future::pending;

use tokio::{
    io::AsyncReadExt,
    process::{ChildStderr, ChildStdin, ChildStdout},
};

use crate::{lines::Lines, spawn::Spawned, wire::FromWorker};

/// The three pipes of a worker.
pub(super) struct Pipe {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: Option<ChildStderr>,
    pub(super) lines: Lines,
    /// The end of what the worker wrote to its error output. For logs, never for a model.
    pub(super) complaint: Vec<u8>,
}

/// Most of a complaint that is kept.
const COMPLAINT: usize = 4 << 10;

impl Pipe {
    pub(super) fn open(worker: &mut Spawned, max: usize) -> std::io::Result<Self> {
        let child = &mut worker.child;
        let gone = || std::io::Error::other("it is closed");
        Ok(Self {
            stdin: ChildStdin::from_std(child.stdin.take().ok_or_else(gone)?)?,
            stdout: ChildStdout::from_std(child.stdout.take().ok_or_else(gone)?)?,
            stderr: child.stderr.take().map(ChildStderr::from_std).transpose()?,
            lines: Lines::new(max),
            complaint: Vec::new(),
        })
    }

    /// The first frame, if one comes that can be read.
    pub(super) async fn first(&mut self) -> Option<FromWorker> {
        loop {
            if let Some(line) = self.lines.next().ok()? {
                return serde_json::from_slice(line).ok();
            }
            if self.stdout.read_buf(self.lines.room()).await.ok()? == 0 {
                return None;
            }
        }
    }

    pub(super) fn complain(&mut self, text: &[u8]) {
        self.complaint.extend_from_slice(text);
        let surplus = self.complaint.len().saturating_sub(COMPLAINT);
        self.complaint.drain(..surplus);
    }
}

/// What is there to be read; 0 at the end.
pub(super) async fn read_some(stderr: &mut Option<ChildStderr>, into: &mut [u8; 512]) -> usize {
    match stderr {
        Some(stderr) => stderr.read(into).await.unwrap_or(0),
        None => pending().await,
    }
}
