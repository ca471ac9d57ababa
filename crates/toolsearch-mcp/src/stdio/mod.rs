//! A server as a child process: one JSON message a line on its standard streams.
//!
//! The process leads a group of its own and sees the inherited environment plus what is configured.
//! What it prints besides messages is skipped and noted. When it has to end, its standard input is
//! closed first, then the group is asked, then killed, each step with a limit.

mod group;
mod lines;

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::group::Group;
use self::lines::{Line, next_line};
use crate::carrier::{Carrier, INCOMING_MESSAGES, Incoming, Life, OUTGOING_MESSAGES, Remote};
use crate::notes::Notes;
use crate::spec::StdioCommand;
use crate::trouble::Trouble;
use crate::wire;

/// Longest message in bytes.
const MAX_MESSAGE_BYTES: usize = 32 * 1024 * 1024;
/// Longest line of standard error that is read as one.
const MAX_STDERR_LINE_BYTES: usize = 8 * 1024;
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// How long a server may take to end after its input was closed.
const CLOSE_GRACE: Duration = Duration::from_millis(1500);
/// How long it, and what it started, may take to end after being asked.
const TERM_GRACE: Duration = Duration::from_millis(1500);
/// How long a killed process may take to be gone.
const KILL_GRACE: Duration = Duration::from_secs(1);
/// How long all of this can take, with room to spare.
pub(crate) const LONGEST_END: Duration = Duration::from_secs(8);
/// How long the pipes of a dead process are still read, in case a child of it holds them open.
const DRAIN_GRACE: Duration = Duration::from_millis(400);

/// Starts the process. Must be called within a tokio runtime.
pub(crate) fn start(command: &StdioCommand, notes: Arc<Notes>) -> io::Result<Carrier> {
    let mut child = spawn(command)?;
    notes.started(child.id());
    let group = Group::of(child.id());
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(io::Error::other("the standard streams are not piped"));
    };
    let (outgoing, to_write) = mpsc::channel(OUTGOING_MESSAGES);
    let (read, incoming) = mpsc::channel(INCOMING_MESSAGES);
    let (stop, stopping) = watch::channel(false);
    let (living, life) = watch::channel(Life::Running);
    let readers = Readers {
        stdout: tokio::spawn(read_messages(stdout, read, Arc::clone(&notes))),
        stderr: tokio::spawn(read_stderr(stderr, Arc::clone(&notes))),
    };
    let writer = tokio::spawn(write_messages(stdin, to_write, stopping.clone()));
    let work = Undertaker {
        child,
        group,
        readers,
        writer,
        notes: Arc::clone(&notes),
    };
    tokio::spawn(work.run(stopping, living));
    Ok(Carrier {
        outgoing,
        incoming,
        remote: Remote { notes, life, stop },
    })
}

fn spawn(spec: &StdioCommand) -> io::Result<Child> {
    let mut command = Command::new(&spec.command);
    command
        .args(&spec.args)
        .envs(spec.env.iter().map(|(name, value)| (name, value.expose())))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    if let Some(cwd) = &spec.cwd {
        command.current_dir(cwd);
    }
    command.spawn()
}

/// Owns the process and everything that reads from and writes to it, until nothing is left.
struct Undertaker {
    child: Child,
    group: Group,
    readers: Readers,
    writer: JoinHandle<()>,
    notes: Arc<Notes>,
}

struct Readers {
    stdout: JoinHandle<()>,
    stderr: JoinHandle<()>,
}

impl Undertaker {
    async fn run(mut self, mut stopping: watch::Receiver<bool>, living: watch::Sender<Life>) {
        let ended = tokio::select! {
            status = self.child.wait() => Some(status.ok()),
            () = asked_to_stop(&mut stopping) => None,
        };
        let status = match ended {
            Some(status) => status,
            None => self.end_leader().await,
        };
        self.notes.exited(status);
        self.writer.abort();
        self.readers.drain().await;
        living.send_replace(Life::Gone);
        self.group.finish(TERM_GRACE).await;
        living.send_replace(Life::Buried);
    }

    /// The writer closes standard input when it is told to stop.
    async fn end_leader(&mut self) -> Option<ExitStatus> {
        if let Ok(status) = timeout(CLOSE_GRACE, self.child.wait()).await {
            return status.ok();
        }
        self.group.terminate();
        if let Ok(status) = timeout(TERM_GRACE, self.child.wait()).await {
            return status.ok();
        }
        self.group.kill();
        // Where there are no groups, this is the kill.
        let _ = self.child.start_kill();
        timeout(KILL_GRACE, self.child.wait()).await.ok()?.ok()
    }
}

impl Readers {
    /// Lets both readers come to the end of what the dead process wrote.
    async fn drain(&mut self) {
        let both = async {
            let _ = (&mut self.stdout).await;
            let _ = (&mut self.stderr).await;
        };
        if timeout(DRAIN_GRACE, both).await.is_err() {
            self.stdout.abort();
            self.stderr.abort();
        }
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.stdout.abort();
        self.stderr.abort();
    }
}

async fn write_messages(
    mut stdin: ChildStdin,
    mut messages: mpsc::Receiver<Vec<u8>>,
    mut stopping: watch::Receiver<bool>,
) {
    let write = async {
        while let Some(mut message) = messages.recv().await {
            message.push(b'\n');
            if stdin.write_all(&message).await.is_err() || stdin.flush().await.is_err() {
                return;
            }
        }
    };
    // A server that does not read would hold a write for ever. Leaving closes its input.
    tokio::select! {
        () = write => {}
        () = asked_to_stop(&mut stopping) => {}
    }
}

/// An error while waiting means that nobody holds the connection any more.
async fn asked_to_stop(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stop| *stop).await;
}

async fn read_messages(
    stdout: impl AsyncRead + Unpin,
    messages: mpsc::Sender<Incoming>,
    notes: Arc<Notes>,
) {
    let mut stdout = BufReader::with_capacity(READ_BUFFER_BYTES, stdout);
    while let Some(line) = next_line(&mut stdout, MAX_MESSAGE_BYTES).await {
        let parsed = if line.whole {
            wire::parse(&line.bytes)
        } else {
            None
        };
        let Some(parsed) = parsed else {
            note_junk(&line, &notes);
            // Whoever waits for it is told, instead of waiting in vain.
            if let Some(id) = wire::cut_answer(&line.bytes).filter(|_| !line.whole) {
                let reason = format!("the answer is longer than {MAX_MESSAGE_BYTES} bytes");
                let trouble = Trouble::Rejected(reason);
                if messages.send(Incoming::Lost { id, trouble }).await.is_err() {
                    return;
                }
            }
            continue;
        };
        for message in parsed {
            if messages.send(message.into()).await.is_err() {
                return;
            }
        }
    }
}

fn note_junk(line: &Line, notes: &Notes) {
    let beginning = &line.bytes[..line.bytes.len().min(MAX_STDERR_LINE_BYTES)];
    let whole = line.whole && beginning.len() == line.bytes.len();
    notes.junk(&String::from_utf8_lossy(beginning), whole);
}

async fn read_stderr(stderr: impl AsyncRead + Unpin, notes: Arc<Notes>) {
    let mut stderr = BufReader::new(stderr);
    while let Some(line) = next_line(&mut stderr, MAX_STDERR_LINE_BYTES).await {
        notes.stderr(&String::from_utf8_lossy(&line.bytes), line.whole);
    }
}

#[cfg(test)]
mod tests;
