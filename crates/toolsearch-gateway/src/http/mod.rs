//! The gateway over HTTP: who may ask, how much, and which session answers. The protocol itself is
//! the same as on byte streams; lanes carry its messages between requests and a session.
//!
//! Other doors are mounted with [`HttpGateway::mount`]: they stand behind the same checks and read the
//! caller from the extension [`Authenticated`].

mod endpoint;
mod front;
mod identity;
mod inline;
mod lane;
mod limits;
mod origin;
mod reply;
mod serve;
mod sessions;
mod tls;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing;
use serde_json::json;
use tokio::net::TcpListener;

use crate::entrance::{Entrance, Entrances};
use crate::gateway::GatewayOptions;

use self::front::Front;
pub use self::identity::{Authenticated, Foreign, NewToken, Token, new_token};
pub use self::tls::{Tls, TlsError};

/// Where the document about the authorization of this resource is.
const RESOURCE_DOCUMENT: &str = "/.well-known/oauth-protected-resource";

/// Settings of a gateway over HTTP.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Limits of every session. Its `message_bytes` is not used here.
    pub gateway: GatewayOptions,
    /// Tokens that open it. Without any, nobody is asked for one, which is possible on loopback only.
    pub tokens: Vec<Token>,
    /// Host names that it answers to besides those of its address, with or without a port.
    pub hosts: Vec<String>,
    /// Pages that may ask it, as the browser names them: `https://app.example`.
    pub origins: Vec<String>,
    /// Where callers get a token, for clients that ask.
    pub resource: Option<ProtectedResource>,
    /// Largest body of a request, in bytes.
    pub body_bytes: usize,
    /// Most sessions at a time. An idle one makes room for a new one.
    pub sessions: usize,
    /// How long a session may be idle.
    pub idle: Duration,
    /// Most requests of one token that run at a time; a further one waits up to five seconds.
    pub concurrent_per_token: usize,
    /// Requests of one token in a second, on average over a few.
    pub requests_per_second: u32,
    /// How long calls may take to end when the gateway is stopped.
    pub drain: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            gateway: GatewayOptions::default(),
            tokens: Vec::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
            resource: None,
            body_bytes: 16 * 1024 * 1024,
            sessions: 10_000,
            idle: Duration::from_secs(30 * 60),
            concurrent_per_token: 64,
            requests_per_second: 500,
            drain: Duration::from_secs(10),
        }
    }
}

/// What a client is told that looks for the way to a token (RFC 9728).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProtectedResource {
    /// The address of the gateway as callers see it: `https://gate.example/mcp`.
    pub resource: String,
    /// Who gives out tokens.
    pub authorization_servers: Vec<String>,
}

impl ProtectedResource {
    /// A resource and those who give out tokens for it.
    #[must_use]
    pub fn new(resource: impl Into<String>, authorization_servers: Vec<String>) -> Self {
        Self {
            resource: resource.into(),
            authorization_servers,
        }
    }

    /// Where its document is: at the root of the resource's host.
    fn document(&self) -> String {
        let rest = self.resource.split_once("://");
        let origin = rest.map(|(scheme, rest)| {
            let host = rest.split('/').next().unwrap_or_default();
            format!("{scheme}://{host}")
        });
        format!("{}{RESOURCE_DOCUMENT}", origin.unwrap_or_default())
    }
}

/// Why the gateway cannot be reached over HTTP.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// Anybody on the network could use every tool.
    #[error(
        "{0} can be reached from other machines, but no tokens are configured: anybody could use the \
         tools"
    )]
    Open(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {0}: {1}")]
    Taken(SocketAddr, #[source] io::Error),
}

/// Serves sessions over streamable HTTP.
#[derive(Debug)]
pub struct HttpGateway {
    front: Arc<Front>,
    listener: TcpListener,
    mounted: Router,
    tls: Option<Tls>,
}

/// Changes the settings of a gateway that serves. Cloning shares it.
#[derive(Debug, Clone)]
pub struct HttpControl(Arc<Front>);

impl HttpControl {
    /// Other settings from now on. Sessions of tokens that are gone, or bound to another agent, end. A
    /// gateway that can be reached from other machines keeps its tokens when there are none any more.
    pub fn apply(&self, mut options: HttpOptions) {
        let now = self.0.settings();
        if options.tokens.is_empty() && !now.options.tokens.is_empty() {
            tracing::warn!("the tokens stay until the gateway is started again without any");
            options.tokens.clone_from(&now.options.tokens);
        }
        self.0.apply(options);
    }

    /// Ends the sessions of all other entrances.
    pub fn retain(&self, keep: impl Fn(&Entrance) -> bool) {
        self.0.sessions.revoke(keep);
    }

    /// How many sessions are open.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.0.sessions.count()
    }
}

impl HttpGateway {
    /// Listens on an address.
    ///
    /// # Errors
    /// [`BindError`] when that is not possible, or not safe.
    pub async fn bind(
        address: SocketAddr,
        entrances: Arc<dyn Entrances>,
        options: HttpOptions,
    ) -> Result<Self, BindError> {
        if !address.ip().is_loopback() && options.tokens.is_empty() {
            return Err(BindError::Open(address));
        }
        let taken = |error| BindError::Taken(address, error);
        let listener = TcpListener::bind(address).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        Ok(Self {
            front: Front::new(entrances, address, options),
            listener,
            mounted: Router::new(),
            tls: None,
        })
    }

    /// With a certificate: nothing but TLS is answered.
    #[must_use]
    pub fn with_tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Another door behind the same checks. Its handlers find the caller in the extension
    /// [`Authenticated`]. Its routes must not be those of the gateway.
    #[must_use]
    pub fn mount(mut self, routes: Router) -> Self {
        self.mounted = self.mounted.merge(routes);
        self
    }

    /// The address that it listens on.
    ///
    /// # Errors
    /// What the system says.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// For changing settings while it serves.
    #[must_use]
    pub fn control(&self) -> HttpControl {
        HttpControl(Arc::clone(&self.front))
    }

    /// Serves until `stop` ends. From then on nothing new is taken; calls that run have
    /// [`HttpOptions::drain`] to be answered. Dropping the future ends everything at once.
    ///
    /// # Errors
    /// What the system says about the listening socket.
    pub async fn serve(self, stop: impl Future<Output = ()> + Send) -> io::Result<()> {
        let router = router(&self.front, self.mounted);
        let tls = self.tls.map(|tls| tls.acceptor);
        serve::serve(self.front, router, self.listener, tls, stop).await
    }
}

/// All routes. The last two say nothing that needs protection, and are asked by machines that have
/// no token.
fn router(front: &Arc<Front>, mounted: Router) -> Router {
    let endpoint = routing::post(endpoint::post)
        .get(endpoint::get)
        .delete(endpoint::delete);
    let resource = format!("{RESOURCE_DOCUMENT}/mcp");
    Router::new()
        .route("/mcp", endpoint.clone())
        .route("/mcp/{agent}", endpoint)
        .with_state(Arc::clone(front))
        .merge(mounted)
        .layer(axum::middleware::from_fn_with_state(
            Arc::clone(front),
            front::check,
        ))
        .merge(
            Router::new()
                .route(RESOURCE_DOCUMENT, routing::get(protected))
                .route(&resource, routing::get(protected))
                .route("/healthz", routing::get(healthy))
                .route("/readyz", routing::get(ready))
                .with_state(Arc::clone(front)),
        )
}

async fn healthy() -> Response {
    reply::text(StatusCode::OK, "ok")
}

async fn ready(State(front): State<Arc<Front>>) -> Response {
    let (status, state) = if front.is_stopping() {
        (StatusCode::SERVICE_UNAVAILABLE, "stopping")
    } else if front.entrances.ready() {
        (StatusCode::OK, "ready")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "starting")
    };
    reply::json(status, &json!({ "status": state }))
}

async fn protected(State(front): State<Arc<Front>>) -> Response {
    let settings = front.settings();
    let Some(resource) = &settings.options.resource else {
        return reply::empty(StatusCode::NOT_FOUND);
    };
    let document = json!({
        "resource": resource.resource,
        "authorization_servers": resource.authorization_servers,
        "bearer_methods_supported": ["header"],
        "resource_name": "toolsearch",
    });
    reply::json(StatusCode::OK, &document)
}
