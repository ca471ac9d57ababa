//! Starting a server and agreeing on a protocol version with it.
//!
//! Every attempt has a process of its own: a server that was asked with the words of one era may
//! refuse those of the other on the same connection, and some die of them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitationCapability, ErrorData, FormElicitationCapability,
    Implementation, ProtocolVersion, SamplingCapability,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RoleClient, RunningService,
    serve_client_with_lifecycle,
};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::{Connection, LAST_WORDS};
use crate::carrier::{Carrier, Life};
use crate::http;
use crate::notes::Notes;
use crate::peer::AskKind;
use crate::shared::Shared;
use crate::spec::Endpoint;
use crate::stdio;
use crate::text::{MAX_REASON_CHARS, Redactor};
use crate::trouble::Trouble;
use crate::wire::{Wire, lost};

/// One way to greet a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// `initialize`, offering this version.
    Initialize(ProtocolVersion),
    /// `server/discover`.
    Discover,
}

/// Why a server could not be started. The texts are bounded and redacted.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum StartError {
    /// There is no process: nothing will change by trying again soon.
    #[error("`{command}` cannot be started: {error}")]
    Spawn { command: String, error: String },
    /// The address or a header is none.
    #[error("{0}")]
    Address(String),
    #[error("{0}")]
    Died(String),
    /// The greeting got lost on the way.
    #[error("{0}")]
    Lost(Trouble),
    #[error("no answer to {request} within {} ms{evidence}", waited.as_millis())]
    Silent {
        request: &'static str,
        waited: Duration,
        evidence: String,
    },
    /// Answered with an error, with the versions that the server named.
    #[error("{request} was refused: {reason}")]
    Refused {
        request: &'static str,
        reason: String,
        supported: Vec<ProtocolVersion>,
    },
    #[error("the server speaks MCP {theirs}, this client speaks {ours}")]
    Version { theirs: String, ours: String },
    #[error("the answer to {request} is no MCP: {reason}")]
    Nonsense {
        request: &'static str,
        reason: String,
    },
}

impl StartError {
    /// Whether the same could go better a little later.
    pub(crate) const fn is_passing(&self) -> bool {
        match self {
            Self::Died(_) | Self::Silent { .. } => true,
            Self::Lost(trouble) => trouble.is_passing(),
            _ => false,
        }
    }

    pub(crate) const fn trouble(&self) -> Option<&Trouble> {
        match self {
            Self::Lost(trouble) => Some(trouble),
            _ => None,
        }
    }
}

impl Attempt {
    /// The newest version that is greeted with `initialize`.
    pub(crate) const fn initialize() -> Self {
        Self::Initialize(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    const fn request(&self) -> &'static str {
        match self {
            Self::Initialize(_) => "initialize",
            Self::Discover => "server/discover",
        }
    }

    fn ours(&self) -> String {
        match self {
            Self::Initialize(offered) => {
                format!("{} to {offered}", ProtocolVersion::V_2024_11_05)
            }
            Self::Discover => ProtocolVersion::NO_INITIALIZE.to_string(),
        }
    }

    fn lifecycle(&self) -> ClientLifecycleMode {
        match self {
            Self::Initialize(_) => ClientLifecycleMode::Initialize,
            Self::Discover => ClientLifecycleMode::Discover {
                preferred_versions: vec![ProtocolVersion::NO_INITIALIZE],
            },
        }
    }

    /// After this attempt was refused by a server that named `supported`: what else to try.
    pub(crate) fn next(&self, supported: &[ProtocolVersion], modern: bool) -> Option<Self> {
        let Self::Initialize(offered) = self else {
            return None;
        };
        let older = ProtocolVersion::known_up_to(offered).iter().rev();
        let older = older.filter(|version| *version != offered);
        let named = older
            .into_iter()
            .find(|version| supported.contains(version))
            .cloned();
        named
            .map(Self::Initialize)
            .or_else(|| modern.then_some(Self::Discover))
    }
}

/// What rmcp asks this client. Whatever a server asks that no client takes has rmcp's answer: pings
/// are answered, there are no roots, elicitation is declined, sampling is not there.
#[derive(Debug)]
pub(crate) struct Client(ClientConfig);

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        self.0.clone()
    }
}

/// Starts a process and greets it.
pub(crate) async fn open(
    shared: &Arc<Shared>,
    attempt: &Attempt,
    deadline: Instant,
) -> Result<Connection, StartError> {
    let begin = Instant::now();
    let carrier = dial(shared)?;
    let remote = carrier.remote.clone();
    let list_changes = watch::Sender::new(0);
    let wire = Wire::new(carrier, list_changes.clone(), shared);
    let greeting = serve_client_with_lifecycle(client(attempt, shared), wire, attempt.lifecycle());
    let error = match timeout_at(deadline, greeting).await {
        Ok(Ok(running)) => match check_version(&running, attempt) {
            Ok(()) => return Ok(Connection::start(running, remote, list_changes, shared)),
            Err(error) => error,
        },
        Ok(Err(
            ClientInitializeError::ConnectionClosed(_)
            | ClientInitializeError::TransportError { .. },
        )) => {
            remote.reaches(Life::Gone, LAST_WORDS).await;
            StartError::Died(remote.notes.obituary())
        }
        Ok(Err(error)) => explain(error, attempt, &shared.redactor),
        Err(_) => StartError::Silent {
            request: attempt.request(),
            waited: begin.elapsed(),
            evidence: remote.notes.evidence(),
        },
    };
    remote.stop();
    Err(error)
}

fn dial(shared: &Arc<Shared>) -> Result<Carrier, StartError> {
    let notes = Arc::new(Notes::new(shared.redactor.clone()));
    let carrier = match &shared.spec.endpoint {
        Endpoint::Stdio(command) => stdio::start(command, notes).map_err(|error| {
            let error = match error.kind() {
                io::ErrorKind::NotFound => "there is no such program or folder".to_owned(),
                _ => error.to_string(),
            };
            let command = shared.redactor.line(&command.command, MAX_REASON_CHARS);
            StartError::Spawn { command, error }
        }),
        Endpoint::Http(address) => http::start(address, notes)
            .map_err(|error| StartError::Address(shared.redactor.line(&error, MAX_REASON_CHARS))),
    }?;
    shared.started(carrier.remote.clone());
    Ok(carrier)
}

fn client(attempt: &Attempt, shared: &Shared) -> Client {
    let software = Implementation::new("toolsearch", env!("CARGO_PKG_VERSION"));
    let offered = match attempt {
        Attempt::Initialize(version) => version.clone(),
        Attempt::Discover => ProtocolVersion::NO_INITIALIZE,
    };
    let offers = shared.peer().map(|peer| peer.offers()).unwrap_or_default();
    let config = ClientConfig::new(capabilities(&offers), software);
    Client(config.with_protocol_version(offered))
}

/// What a client that calls come from may be asked.
pub(super) fn capabilities(offers: &[AskKind]) -> ClientCapabilities {
    let mut capabilities = ClientCapabilities::default();
    if offers.contains(&AskKind::Elicitation) {
        let form = FormElicitationCapability::default();
        capabilities.elicitation = Some(ElicitationCapability::new().with_form(form));
    }
    if offers.contains(&AskKind::Sampling) {
        capabilities.sampling = Some(SamplingCapability::default());
    }
    if offers.contains(&AskKind::Roots) {
        capabilities.roots = Some(rmcp::model::RootsCapabilities::default());
    }
    capabilities
}

/// rmcp takes any version that a server answers with.
fn check_version(
    running: &RunningService<RoleClient, Client>,
    attempt: &Attempt,
) -> Result<(), StartError> {
    let Some(info) = running.peer_info() else {
        return Ok(());
    };
    if ProtocolVersion::KNOWN_VERSIONS.contains(&info.protocol_version) {
        return Ok(());
    }
    let theirs = crate::text::clip(info.protocol_version.as_str(), 40);
    Err(StartError::Version {
        theirs,
        ours: attempt.ours(),
    })
}

fn explain(error: ClientInitializeError, attempt: &Attempt, redactor: &Redactor) -> StartError {
    let request = attempt.request();
    if let ClientInitializeError::JsonRpcError(error) = &error
        && let Some(trouble) = lost(error)
    {
        return StartError::Lost(trouble);
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => StartError::Refused {
            request,
            supported: supported(&error),
            reason: redactor.line(&error.to_string(), MAX_REASON_CHARS),
        },
        ClientInitializeError::NoCompatibleProtocolVersion {
            server_supported, ..
        } => {
            let theirs: Vec<String> = server_supported
                .iter()
                .take(10)
                .map(ToString::to_string)
                .collect();
            let theirs = redactor.line(&theirs.join(", "), MAX_REASON_CHARS);
            StartError::Version {
                theirs,
                ours: attempt.ours(),
            }
        }
        other => {
            let reason = redactor.line(&other.to_string(), MAX_REASON_CHARS);
            StartError::Nonsense { request, reason }
        }
    }
}

/// The versions that a refusal names, in `data.supported`.
fn supported(error: &ErrorData) -> Vec<ProtocolVersion> {
    let named = error.data.as_ref().and_then(|data| data.get("supported"));
    let named = named
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    named
        .iter()
        .filter_map(|version| serde_json::from_value(version.clone()).ok())
        .collect()
}
