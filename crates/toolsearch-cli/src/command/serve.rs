//! `toolsearch serve`: the MCP gateway on standard input and output.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::watch;
use tokio::task::JoinSet;
use toolsearch::invoke::Provider;
use toolsearch::runtime::{OpenRequest, Session};
use toolsearch_gateway::{ClientInfo, Gateway, ServeError, SessionSource, SourceError};
use toolsearch_mcp::McpServer;

use crate::assemble::{Assembled, Purpose};
use crate::cli::Common;
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

/// How long a connecting client waits for servers that are still starting. The tools of slower ones
/// are announced when they are there.
const GRACE: Duration = Duration::from_secs(3);

/// Serves one client until it closes its side.
pub(crate) async fn run(common: &Common, output: &Output) -> Done {
    let assembled = Arc::new(Assembled::new(common, Purpose::Model, output)?);
    let (source, watchers) = Source::start(Arc::clone(&assembled));
    let served = Gateway::new(Arc::new(source)).serve_stdio().await;
    // From here on servers end because they are told to, which is no news.
    drop(watchers);
    assembled.close(output).await;
    match served {
        Ok(()) => Ok(Exit::Fine),
        Err(ServeError::Refused(reason)) => Err(Fault::configuration(reason)),
        Err(error) => Err(Fault::failed(error.to_string())),
    }
}

/// Sessions over the sources of this process.
#[derive(Debug)]
struct Source {
    assembled: Arc<Assembled>,
    changes: watch::Sender<u64>,
}

impl Source {
    /// Starts the servers and watches them; the watchers end with the set.
    fn start(assembled: Arc<Assembled>) -> (Self, JoinSet<()>) {
        let changes = watch::Sender::new(0);
        let mut watchers = JoinSet::new();
        for server in &assembled.sources.servers {
            watchers.spawn(follow(Arc::clone(server), changes.clone()));
            watchers.spawn(first_list(Arc::clone(server), changes.clone()));
        }
        (Self { assembled, changes }, watchers)
    }

    async fn request(&self) -> OpenRequest {
        let listings = self.assembled.sources.list_within(GRACE).await;
        self.assembled.request(listings)
    }

    async fn open_request(&self, request: OpenRequest) -> Result<Session, SourceError> {
        self.assembled
            .open_with(request)
            .await
            .map_err(|fault| SourceError::new(fault.message))
    }
}

#[async_trait]
impl SessionSource for Source {
    async fn open(&self, client: &ClientInfo) -> Result<Session, SourceError> {
        tracing::info!(client = %client.name, version = %client.version, "client connected");
        self.open_request(self.request().await).await
    }

    async fn reopen(&self, _: &ClientInfo, previous: &Session) -> Result<Session, SourceError> {
        let mut request = self.request().await;
        request.session = Some(previous.id().to_owned());
        request.continues = Some(previous.clone());
        self.open_request(request).await
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        let fixed = self.assembled.sources.servers.is_empty();
        (!fixed).then(|| self.changes.subscribe())
    }
}

/// Passes on every change of a server's list.
async fn follow(server: Arc<McpServer>, changes: watch::Sender<u64>) {
    let mut changed = server.changed();
    while changed.changed().await.is_ok() {
        changes.send_modify(|count| *count += 1);
    }
}

/// Lists a server with all the time that it may take. A failure after the grace changes what is told
/// of the server.
async fn first_list(server: Arc<McpServer>, changes: watch::Sender<u64>) {
    let started = Instant::now();
    let listing = server.list().await;
    if let Some(outage) = &listing.outage {
        tracing::warn!(server = %outage.owner, reason = %outage.reason, "server is not available");
        if started.elapsed() >= GRACE {
            changes.send_modify(|count| *count += 1);
        }
    }
}
