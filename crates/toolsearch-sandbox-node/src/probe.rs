//! Which Node there is, by asking it.

use std::{
    io::Read,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde::Deserialize;
use toolsearch_sandbox::Unsupported;

/// The oldest version with a permission model that was tried.
const OLDEST: u32 = 20;

/// How long Node may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Most bytes of an answer that are read.
const MOST: u64 = 1 << 20;

/// Prints what has to be known, with the permission model on if its flag is known.
const QUESTION: &str = "const { sharedObjects } = process.report.getReport();
process.stdout.write(JSON.stringify({
  program: process.execPath, version: process.versions.node, libraries: sharedObjects,
  model: process.allowedNodeEnvironmentFlags.has('--permission'),
  older: process.allowedNodeEnvironmentFlags.has('--experimental-permission'),
}))";

/// A Node that can be used.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) program: PathBuf,
    pub(crate) permission: &'static str,
    pub(crate) libraries: Vec<PathBuf>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    program: PathBuf,
    version: String,
    libraries: Vec<PathBuf>,
    model: bool,
    older: bool,
}

/// Asks the binary.
pub(crate) fn probe(program: &Path) -> Result<Found, Unsupported> {
    let shown = program.display();
    let text = ask(program).map_err(|reason| {
        Unsupported::new(format!(
            "`{shown}` cannot be used: {reason}; install Node {OLDEST} or later, or use the engine `quickjs`"
        ))
    })?;
    let answer: Answer = serde_json::from_slice(&text)
        .map_err(|_| Unsupported::new(format!("`{shown}` does not answer as Node does")))?;
    judge(answer)
}

/// Whether the Node that answered has what is needed.
pub(crate) fn judge(answer: Answer) -> Result<Found, Unsupported> {
    let major = answer.version.split('.').next();
    let major: u32 = major.and_then(|text| text.parse().ok()).unwrap_or(0);
    let permission = match (answer.model, answer.older) {
        (true, _) => "--permission",
        (false, true) if major >= OLDEST => "--experimental-permission",
        _ => {
            let version = answer.version.chars().take(40).collect::<String>();
            return Err(Unsupported::new(format!(
                "Node {version} has no permission model; install Node {OLDEST} or later"
            )));
        }
    };
    Ok(Found {
        program: answer.program,
        permission,
        libraries: answer
            .libraries
            .into_iter()
            .filter(|path| path.is_absolute())
            .collect(),
    })
}

fn ask(program: &Path) -> Result<Vec<u8>, String> {
    let mut child = Command::new(program)
        .args(["--no-warnings", "-e", QUESTION])
        .env_remove("NODE_OPTIONS")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let text = read(&mut child);
    let _ = child.kill();
    let _ = child.wait();
    text
}

fn read(child: &mut Child) -> Result<Vec<u8>, String> {
    let stdout = child.stdout.take().ok_or("it has no output")?;
    let (sender, receiver) = mpsc::sync_channel(1);
    // Ends with the pipe, at the latest when the process is killed.
    thread::spawn(move || {
        let mut text = Vec::new();
        let read = stdout.take(MOST).read_to_end(&mut text);
        let _ = sender.send(read.map(|_| text));
    });
    match receiver.recv_timeout(PATIENCE) {
        Ok(text) => text.map_err(|error| error.to_string()),
        Err(_) => Err(format!("it did not answer within {} s", PATIENCE.as_secs())),
    }
}
