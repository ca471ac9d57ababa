//! Starting and ending worker processes.
//!
//! Plain `std` processes, so that an idle worker belongs to no runtime, and so that ending one is
//! certain: killed and reaped before the handle is gone. Nothing runs between fork and exec; the child
//! locks itself down.

use std::{
    ffi::OsString,
    io,
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    time::Instant,
};

use toolsearch_sandbox::Launch;

use crate::worker::{EXEC_ARG, WORKER_ARG};

/// Which binary is the worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Worker {
    program: PathBuf,
    arguments: Vec<OsString>,
}

impl Worker {
    /// This very binary, whose `main` asks [`is_worker`](crate::is_worker) first.
    ///
    /// # Errors
    /// When the path of the binary is unknown.
    pub fn current_exe() -> io::Result<Self> {
        // The running file itself, also after an update has put another in its place.
        let itself = PathBuf::from("/proc/self/exe");
        if cfg!(target_os = "linux") && itself.exists() {
            return Ok(Self::path(itself));
        }
        std::env::current_exe().map(Self::path)
    }

    /// Another binary that calls [`worker_main`](crate::worker_main).
    #[must_use]
    pub fn path(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
        }
    }

    /// With one more argument, after the one that makes it a worker.
    #[must_use]
    pub fn arg(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// The worker that becomes an interpreter.
    pub(crate) fn becoming(&self, launch: &Launch) -> io::Result<Self> {
        let launch = serde_json::to_string(launch)?;
        Ok(Self {
            program: self.program.clone(),
            arguments: vec![EXEC_ARG.into(), launch.into()],
        })
    }

    /// Starts one: empty environment, the root as its folder, three pipes.
    pub(crate) fn spawn(&self) -> io::Result<Spawned> {
        let mut command = Command::new(&self.program);
        command
            .arg(WORKER_ARG)
            .args(&self.arguments)
            .env_clear()
            // No zone file has to be read for it.
            .env("TZ", "UTC0")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        #[cfg(unix)]
        command.current_dir("/");
        Ok(Spawned {
            child: command.spawn()?,
            born: Instant::now(),
        })
    }
}

/// A worker process. Dropping it kills and reaps it.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) child: Child,
    born: Instant,
}

impl Spawned {
    /// How the process ended, if it has.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    pub(crate) fn age(&self) -> std::time::Duration {
        self.born.elapsed()
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        // A killed process without files to write ends at once; waiting for it keeps the process table
        // clean without a thread or a runtime.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
