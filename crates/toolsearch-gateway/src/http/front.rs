//! What all handlers share, and the checks that stand before each of them.

use std::collections::HashMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use axum::extract::{Request, State};
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;

use crate::entrance::{Entrance, Entrances};
use crate::gateway::GatewayOptions;

use super::HttpOptions;
use super::identity::{self, Authenticated, Token};
use super::limits::{Later, Meter};
use super::origin::Names;
use super::reply::{self, Holding};
use super::sessions::Sessions;

/// The settings in force. Replaced as a whole.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) gateway: GatewayOptions,
    pub(super) sessions: usize,
    pub(super) options: HttpOptions,
    names: Names,
    tokens: Vec<Token>,
    meters: Vec<Arc<Meter>>,
}

impl Settings {
    /// What a token used so far goes on counting when its limits stay.
    fn new(address: SocketAddr, options: HttpOptions, previous: Option<&Self>) -> Self {
        let mut gateway = options.gateway.clone();
        gateway.message_bytes = options.body_bytes;
        let same_limits = previous.filter(|previous| {
            previous.options.concurrent_per_token == options.concurrent_per_token
                && previous.options.requests_per_second == options.requests_per_second
        });
        let known: HashMap<[u8; 32], &Arc<Meter>> = same_limits
            .iter()
            .flat_map(|p| p.tokens.iter().map(|t| t.sha256).zip(&p.meters))
            .collect();
        let meter = |token: &Token| match known.get(&token.sha256) {
            Some(meter) => Arc::clone(meter),
            None => Arc::new(Meter::new(
                options.requests_per_second,
                options.concurrent_per_token,
            )),
        };
        Self {
            sessions: options.sessions,
            names: Names::new(address, &options.hosts, &options.origins),
            meters: options.tokens.iter().map(meter).collect(),
            tokens: options.tokens.clone(),
            gateway,
            options,
        }
    }

    fn challenge(&self) -> HeaderValue {
        let known = self.options.resource.as_ref();
        let challenge = known.map(|resource| {
            let document = resource.document();
            format!("Bearer realm=\"toolsearch\", resource_metadata=\"{document}\"")
        });
        challenge
            .and_then(|challenge| HeaderValue::from_str(&challenge).ok())
            .unwrap_or_else(|| HeaderValue::from_static("Bearer realm=\"toolsearch\""))
    }
}

/// Everything behind the routes.
pub(super) struct Front {
    pub(super) entrances: Arc<dyn Entrances>,
    pub(super) sessions: Arc<Sessions>,
    address: SocketAddr,
    settings: RwLock<Arc<Settings>>,
    stopping: AtomicBool,
}

impl fmt::Debug for Front {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Front")
            .field("address", &self.address)
            .field("sessions", &self.sessions.count())
            .finish_non_exhaustive()
    }
}

impl Front {
    pub(super) fn new(
        entrances: Arc<dyn Entrances>,
        address: SocketAddr,
        options: HttpOptions,
    ) -> Arc<Self> {
        let settings = Settings::new(address, options, None);
        Arc::new(Self {
            entrances,
            sessions: Sessions::new(),
            address,
            settings: RwLock::new(Arc::new(settings)),
            stopping: AtomicBool::new(false),
        })
    }

    pub(super) fn settings(&self) -> Arc<Settings> {
        let settings = self.settings.read();
        Arc::clone(&settings.unwrap_or_else(PoisonError::into_inner))
    }

    /// Other settings from now on. Sessions of tokens that are gone, or bound otherwise, end.
    pub(super) fn apply(&self, options: HttpOptions) {
        let mut settings = self
            .settings
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let next = Arc::new(Settings::new(self.address, options, Some(&settings)));
        *settings = Arc::clone(&next);
        drop(settings);
        self.sessions.revoke(|entrance| admits(&next, entrance));
    }

    pub(super) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

fn admits(settings: &Settings, entrance: &Entrance) -> bool {
    match &entrance.token {
        None => settings.tokens.is_empty(),
        Some(name) => settings.tokens.iter().any(|token| {
            let own = token.agent.is_none() || token.agent == entrance.agent;
            token.name == *name && own
        }),
    }
}

/// Who may pass, and when. Everybody that may not is told as little as possible.
pub(super) async fn check(
    State(front): State<Arc<Front>>,
    mut request: Request,
    next: Next,
) -> Response {
    let settings = front.settings();
    if !settings.names.allow(request.uri(), request.headers()) {
        let message = "this gateway does not answer to that name or origin; a name that it should \
                       answer to belongs into gateway.hosts, a page into gateway.origins";
        return reply::text(StatusCode::FORBIDDEN, message);
    }
    if front.is_stopping() {
        let message = "the gateway is being stopped";
        return reply::later(StatusCode::SERVICE_UNAVAILABLE, 5, message);
    }
    if settings.tokens.is_empty() {
        request.extensions_mut().insert(Authenticated::default());
        return next.run(request).await;
    }
    let Some(place) = identity::find(&settings.tokens, request.headers()) else {
        return unauthorized(&settings);
    };
    let (token, meter) = (&settings.tokens[place], &settings.meters[place]);
    let caller = Authenticated {
        token: Some(Arc::from(token.name.as_str())),
        agent: token.agent.as_deref().map(Arc::from),
    };
    request.extensions_mut().insert(caller);
    let listens = request.method() == Method::GET;
    let turn = async {
        meter.count()?;
        match listens {
            // A stream that waits for news is no work.
            true => Ok(None),
            false => meter.turn().await.map(Some),
        }
    };
    match turn.await {
        Ok(turn) => Holding::response(next.run(request).await, turn),
        Err(Later { seconds }) => {
            let message = "this token asks too much; see gateway.limits";
            reply::later(StatusCode::TOO_MANY_REQUESTS, seconds, message)
        }
    }
}

fn unauthorized(settings: &Settings) -> Response {
    let mut response = reply::text(
        StatusCode::UNAUTHORIZED,
        "a valid token is needed: Authorization: Bearer …",
    );
    let challenge = settings.challenge();
    response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    response
}
