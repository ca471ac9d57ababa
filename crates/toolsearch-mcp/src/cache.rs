//! The last complete tool list of a server on disk, so that the next process knows the tools before
//! the server is reached. Read with the same care as an answer of the server.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rmcp::model::{Implementation, ProtocolVersion, ServerCapabilities, ServerPeerInfo};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolsearch_catalog::Fingerprint;

use crate::listing::{Collector, ToolList};
use crate::private_file;
use crate::spec::{Endpoint, ServerSpec};
use crate::text::{Redactor, clip};

/// Grows when older files can no longer be read.
const FORMAT: u32 = 1;
/// Largest file that is read or written.
const MAX_FILE_BYTES: u64 = 128 * 1024 * 1024;
const MAX_DESCRIPTION_CHARS: usize = 16_000;
/// Longest part of one argument that tells servers apart, in characters.
const MAX_IDENTITY_CHARS: usize = 4096;
/// Lists of all servers that are read at the same time: each reader keeps memory of its own.
const MAX_READERS: usize = 4;

/// The turn of a reader.
pub(crate) static READERS: Semaphore = Semaphore::const_new(MAX_READERS);

#[derive(Debug)]
pub(crate) struct Cache {
    path: PathBuf,
    identity: String,
}

/// A list from the disk.
#[derive(Debug)]
pub(crate) struct Cached {
    pub(crate) list: ToolList,
    pub(crate) description: String,
    pub(crate) at: SystemTime,
}

#[derive(Debug, Serialize, Deserialize)]
struct File {
    format: u32,
    /// Which server gave the list: another command or address makes it another server.
    identity: String,
    at_ms: u64,
    description: String,
    #[serde(default)]
    profile: Profile,
    tools: Vec<Value>,
}

/// What the server said about itself when it was greeted.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Profile {
    title: Option<String>,
    description: Option<String>,
    instructions: Option<String>,
}

impl Profile {
    fn of(info: &ServerPeerInfo) -> Self {
        let software = info.server_info.as_ref();
        let clipped = |text: &String| clip(text, MAX_DESCRIPTION_CHARS);
        Self {
            title: software.and_then(|one| one.title.as_ref().map(clipped)),
            description: software.and_then(|one| one.description.as_ref().map(clipped)),
            instructions: info.instructions.as_ref().map(clipped),
        }
    }

    fn into_info(self) -> ServerPeerInfo {
        let mut software = Implementation::new("", "");
        software.title = self.title;
        software.description = self.description;
        let capabilities = ServerCapabilities::default();
        let mut info = ServerPeerInfo::new(ProtocolVersion::LATEST_WITH_INITIALIZE, capabilities);
        info.server_info = Some(software);
        info.instructions = self.instructions;
        info
    }
}

impl Cache {
    /// The cache of a server, if it has one.
    pub(crate) fn of(spec: &ServerSpec, redactor: &Redactor) -> Option<Self> {
        let folder = spec.cache.as_ref()?;
        Some(Self {
            path: private_file::path_for(folder, &spec.name),
            identity: identity(&spec.endpoint, redactor),
        })
    }

    /// What is there; `None` when it is not there, of another server, or cannot be read.
    pub(crate) fn read(&self, spec: &ServerSpec, redactor: &Redactor) -> Option<Cached> {
        let content = private_file::read(&self.path, MAX_FILE_BYTES).ok()?;
        let file: File = match serde_json::from_slice(&content) {
            Ok(file) => file,
            Err(error) => {
                tracing::warn!(server = spec.name, %error, "the cached tool list cannot be read");
                return None;
            }
        };
        if file.format != FORMAT || file.identity != self.identity {
            return None;
        }
        let mut collector = Collector::new(spec, redactor).stale();
        collector.about(&file.profile.into_info());
        collector.page(json!({ "tools": file.tools }));
        Some(Cached {
            list: collector.finish(),
            description: clip(&file.description, MAX_DESCRIPTION_CHARS),
            at: UNIX_EPOCH + Duration::from_millis(file.at_ms),
        })
    }

    /// Writes a list down. A failure costs only the next start some time.
    pub(crate) fn write(
        &self,
        tools: Vec<Value>,
        description: &str,
        info: Option<&ServerPeerInfo>,
    ) {
        let file = File {
            format: FORMAT,
            identity: self.identity.clone(),
            at_ms: unix_ms(SystemTime::now()),
            description: description.to_owned(),
            profile: info.map(Profile::of).unwrap_or_default(),
            tools,
        };
        let written = serde_json::to_vec(&file)
            .map_err(std::io::Error::from)
            .and_then(|content| private_file::write(&self.path, &content));
        if let Err(error) = written {
            tracing::warn!(%error, "the tool list cannot be kept on disk");
        }
    }
}

/// Milliseconds since 1970.
pub(crate) fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Secrets are left out: a new key is no new server, and no hash of one should lie around.
fn identity(endpoint: &Endpoint, redactor: &Redactor) -> String {
    let parts: Vec<&str> = match endpoint {
        Endpoint::Stdio(command) => {
            let words = command.args.iter().map(String::as_str);
            let cwd = command.cwd.as_ref().and_then(|cwd| cwd.to_str());
            [command.command.as_str(), cwd.unwrap_or_default()]
                .into_iter()
                .chain(words)
                .collect()
        }
        Endpoint::Http(address) => {
            let address = address.url.split(['?', '#']).next();
            vec!["http", address.unwrap_or_default()]
        }
    };
    let parts: Vec<String> = parts
        .into_iter()
        .map(|part| redactor.line(part, MAX_IDENTITY_CHARS))
        .collect();
    Fingerprint::over(parts.iter().map(String::as_bytes))
        .as_str()
        .to_owned()
}
