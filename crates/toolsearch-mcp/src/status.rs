//! What can be said about a server at one moment, for status pages, logs and diagnosis.

use serde::Serialize;

/// Where a server is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ServerState {
    /// Not running; the next list or call starts it.
    Stopped,
    /// On its way: the process runs or is being restarted, the handshake is not over.
    Starting,
    /// Connected.
    Ready,
    /// Could not be started or reached, died, or is left alone after failures.
    Failed,
    /// Lets nobody in without a login.
    NeedsAuth,
}

/// A snapshot of one server. Every text in it is bounded, printable and free of the configured
/// secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerStatus {
    /// The server's name.
    pub name: String,
    /// Where it is in its life.
    pub state: ServerState,
    /// The protocol version that was agreed on, once it was.
    pub protocol: Option<String>,
    /// What the server calls itself, with its version.
    pub software: Option<String>,
    /// The process, while there is one.
    pub pid: Option<u32>,
    /// How often a process was started, or a connection made.
    pub starts: u32,
    /// Tools in the last list.
    pub tools: usize,
    /// Tools of the last list that were set aside.
    pub rejected: usize,
    /// Lines on standard output that were no protocol messages, of the current or last process.
    pub junk_lines: u64,
    /// The first few of them.
    pub junk: Vec<String>,
    /// The last lines on standard error.
    pub stderr: Vec<String>,
    /// How the last process ended.
    pub exit: Option<String>,
    /// The last thing that went wrong; it may be over.
    pub last_error: Option<String>,
    /// When that was, in milliseconds since 1970.
    pub last_error_at_ms: Option<u64>,
    /// When the last list was given, in milliseconds since 1970.
    pub listed_at_ms: Option<u64>,
    /// Whether that list was given to an earlier process.
    pub stale: bool,
    /// Oddities of the last list: a cursor that came twice, a tool that came twice.
    pub warnings: Vec<String>,
}
