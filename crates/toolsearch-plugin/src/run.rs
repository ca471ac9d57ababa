//! Running one command to its end, within its limits. What its output means stands in `outcome`.
//!
//! The command leads a process group of its own. When it has ended, ran out of time, wrote too much
//! or the caller dropped the call, what is left of the group is killed.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use crate::group::Group;
use crate::manifest::ToolCommand;
use crate::{MAX_OUTPUT_BYTES, MAX_STDERR_BYTES};

/// How long the pipes of a dead command are still read, in case a process that left the group holds
/// them open.
const DRAIN_GRACE: Duration = Duration::from_millis(500);
const CHUNK_BYTES: usize = 16 * 1024;

/// What a command left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Missing when the command was killed because of how much it wrote.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: Vec<u8>,
    /// The last [`MAX_STDERR_BYTES`] bytes.
    pub(crate) stderr: Vec<u8>,
    /// Values of the environment variables that were passed on.
    pub(crate) secrets: Vec<String>,
}

/// Why a command brought nothing.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It cannot be started or waited for.
    Io(io::Error),
    /// It was killed after the limit.
    TimedOut,
}

/// Starts the command, writes `input` to it and waits for its end.
///
/// # Errors
/// [`Trouble`] when there is no end to speak of.
pub(crate) async fn run(
    command: &ToolCommand,
    folder: &Path,
    input: Vec<u8>,
    limit: Duration,
) -> Result<Ended, Trouble> {
    let passed = environment(command);
    let mut child = spawn(command, folder, &passed).map_err(Trouble::Io)?;
    let mut group = Group::of(child.id());
    let (Some(stdin), Some(stdout), Some(stderr)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Trouble::Io(io::Error::other("the streams are not piped")));
    };
    let (mut out, mut tail) = (Vec::new(), Vec::new());
    let status = {
        let pipes = async {
            let read = read_all(stdout, &mut out);
            let (fits, ()) = tokio::join!(read, read_tail(stderr, &mut tail));
            fits
        };
        let talk = talk(&mut child, &mut group, write_all(stdin, input), pipes);
        timeout(limit, talk)
            .await
            .map_err(|_| Trouble::TimedOut)?
            .map_err(Trouble::Io)?
    };
    group.kill();
    // Where there are no groups, this is the kill; where the child has ended, it fails.
    let _ = child.start_kill();
    let secrets = passed.into_iter().map(|(_, value)| value).collect();
    Ok(Ended {
        status,
        stdout: out,
        stderr: tail,
        secrets,
    })
}

/// Waits for both the child and the end of its output, whichever comes first. No status: it wrote
/// too much.
async fn talk(
    child: &mut Child,
    group: &mut Group,
    write: impl Future<Output = ()>,
    pipes: impl Future<Output = bool>,
) -> io::Result<Option<ExitStatus>> {
    // Writing goes on beside the reading, so that neither side waits for the other for ever.
    let pipes = async {
        tokio::pin!(pipes);
        tokio::select! {
            fits = &mut pipes => fits,
            () = write => pipes.await,
        }
    };
    tokio::pin!(pipes);
    tokio::select! {
        fits = &mut pipes => {
            if !fits {
                return Ok(None);
            }
            child.wait().await.map(Some)
        }
        status = child.wait() => {
            group.kill();
            match timeout(DRAIN_GRACE, pipes).await {
                Ok(false) => Ok(None),
                Ok(true) | Err(_) => status.map(Some),
            }
        }
    }
}

fn spawn(
    command: &ToolCommand,
    folder: &Path,
    environment: &[(String, String)],
) -> io::Result<Child> {
    let mut process = Command::new(program(&command.program, folder));
    process
        .args(&command.args)
        .current_dir(folder)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    if let Some(path) = std::env::var_os("PATH") {
        process.env("PATH", path);
    }
    #[cfg(unix)]
    process.process_group(0);
    process.spawn()
}

/// A bare name is looked up in `PATH`; a relative path starts at the plugin's folder, whatever the
/// working folder of this process is.
fn program(written: &str, folder: &Path) -> PathBuf {
    let path = Path::new(written);
    if path.is_absolute() || path.components().count() == 1 && !written.starts_with('.') {
        return path.to_owned();
    }
    let whole = folder.join(path);
    std::path::absolute(&whole).unwrap_or(whole)
}

/// The variables that the manifest asks for and that are set here as text.
fn environment(command: &ToolCommand) -> Vec<(String, String)> {
    let set = |name: &String| Some((name.clone(), std::env::var(name).ok()?));
    command.env.iter().filter_map(set).collect()
}

/// Writes and closes. A command that does not read its input is free not to.
async fn write_all(mut stdin: ChildStdin, input: Vec<u8>) {
    let _ = stdin.write_all(&input).await;
    let _ = stdin.shutdown().await;
}

/// Whether everything fitted.
async fn read_all(mut from: impl AsyncRead + Unpin, into: &mut Vec<u8>) -> bool {
    loop {
        into.reserve(CHUNK_BYTES);
        match from.read_buf(into).await {
            Ok(0) | Err(_) => return true,
            Ok(_) if into.len() > MAX_OUTPUT_BYTES => return false,
            Ok(_) => {}
        }
    }
}

async fn read_tail(mut from: impl AsyncRead + Unpin, into: &mut Vec<u8>) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(read @ 1..) = from.read(&mut chunk).await {
        into.extend_from_slice(&chunk[..read]);
        let surplus = into.len().saturating_sub(MAX_STDERR_BYTES);
        into.drain(..surplus);
    }
}
