//! The provider proxy: a client changes its base address and sends all its tools; the model sees the
//! compact surface over them and over the gateway's own sources; calls of the client's tools come back to
//! it under their own names.
//!
//! A [`Planner`] gives the sessions, [`ModelProvider`]s say where models are. [`Proxy::router`] is
//! mounted behind the checks of [`HttpGateway`](crate::http::HttpGateway). Controls are answered here
//! and the client never sees them; a turn that needs the client is kept in a
//! [`Store`] and goes on when its results come back, after a restart too.
//!
//! Not here: what a wire form looks like (`toolsearch-dialect`), planning, and every decision about a
//! call (`toolsearch-runtime`).

mod door;
mod planner;
mod records;
mod request;
mod resume;
mod run;
mod stream;
mod talks;
mod tools;
mod upstream;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use axum::routing;
use toolsearch_dialect::{Dialect, Refusal, RefusalKind};
use toolsearch_store::Store;

pub use self::planner::{ModelProvider, NativeSearch, Planner, Wish};
use self::records::Records;
use self::talks::Talks;
use self::tools::KnownTools;
use self::upstream::Upstream;

/// Limits of a proxy.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ProxyOptions {
    /// Largest body of a request, in bytes.
    pub body_bytes: usize,
    /// Most turns of a model for one request of a client.
    pub turns: usize,
    /// Most conversations whose session is kept at hand.
    pub sessions: usize,
    /// How long an unused session is kept at hand.
    pub idle: Duration,
    /// How long a client may take to come back with results.
    pub lasts: Duration,
}

impl Default for ProxyOptions {
    /// 16 MiB, 32 turns, 10,000 sessions for 30 minutes, a day.
    fn default() -> Self {
        Self {
            body_bytes: 16 * 1024 * 1024,
            turns: 32,
            sessions: 10_000,
            idle: Duration::from_secs(30 * 60),
            lasts: Duration::from_secs(24 * 60 * 60),
        }
    }
}

/// Why there can be no proxy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// A provider cannot be asked.
    #[error("provider `{name}`: {why}")]
    Provider {
        /// The provider.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The proxy. Cloning shares everything.
#[derive(Debug, Clone)]
pub struct Proxy {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    planner: Arc<dyn Planner>,
    upstreams: RwLock<Arc<[Arc<Upstream>]>>,
    options: ProxyOptions,
    known: KnownTools,
    talks: Talks,
    records: Records,
}

impl Proxy {
    /// A proxy in front of some providers; the first that speaks a dialect is asked unless a model's
    /// name says otherwise.
    ///
    /// # Errors
    /// [`ProxyError`] when a provider cannot be asked.
    pub fn new(
        planner: Arc<dyn Planner>,
        providers: Vec<ModelProvider>,
        store: Arc<dyn Store>,
        options: ProxyOptions,
    ) -> Result<Self, ProxyError> {
        let inner = Inner {
            planner,
            upstreams: RwLock::new(upstreams(providers)?),
            known: KnownTools::default(),
            talks: Talks::new(options.sessions, options.idle),
            records: Records::new(store, options.lasts),
            options,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Other providers from now on; requests that run end with those that they began with.
    ///
    /// # Errors
    /// [`ProxyError`]; the previous ones stay.
    pub fn set_providers(&self, providers: Vec<ModelProvider>) -> Result<(), ProxyError> {
        let next = upstreams(providers)?;
        let now = self.inner.upstreams.write();
        *now.unwrap_or_else(PoisonError::into_inner) = next;
        Ok(())
    }

    /// `/v1/chat/completions`, `/v1/responses`, `/v1/messages` and `/v1/models`. The caller is read
    /// from the extension [`Authenticated`](crate::http::Authenticated).
    pub fn router(&self) -> Router {
        Router::new()
            .route("/v1/chat/completions", routing::post(door::chat))
            .route("/v1/responses", routing::post(door::responses))
            .route("/v1/messages", routing::post(door::messages))
            .route("/v1/models", routing::get(door::models))
            .with_state(Arc::clone(&self.inner))
    }
}

fn upstreams(providers: Vec<ModelProvider>) -> Result<Arc<[Arc<Upstream>]>, ProxyError> {
    let upstreams = providers.into_iter();
    upstreams
        .map(|provider| Upstream::new(provider).map(Arc::new))
        .collect()
}

impl Inner {
    pub(crate) fn upstreams(&self) -> Arc<[Arc<Upstream>]> {
        let upstreams = self.upstreams.read();
        Arc::clone(&upstreams.unwrap_or_else(PoisonError::into_inner))
    }

    /// The provider of a request, and the model as that provider calls it.
    fn choose<'a>(
        &self,
        dialect: Dialect,
        model: &'a str,
    ) -> Result<(Arc<Upstream>, &'a str), Refusal> {
        let upstreams = self.upstreams();
        let named = model.split_once('/').and_then(|(name, rest)| {
            let upstream = upstreams.iter().find(|up| up.provider.name == name)?;
            Some((upstream, rest))
        });
        let (upstream, model) = match named {
            Some((upstream, rest)) if upstream.speaks(dialect) => (upstream, rest),
            Some((upstream, _)) => {
                let name = &upstream.provider.name;
                let message = format!("provider `{name}` does not speak {dialect}");
                return Err(Refusal::invalid(message).at("model"));
            }
            None => {
                let first = upstreams.iter().find(|up| up.speaks(dialect));
                let first = first.ok_or_else(|| {
                    let message = format!("no provider that speaks {dialect} is configured");
                    Refusal::new(RefusalKind::NotFound, message).at("model")
                })?;
                (first, model)
            }
        };
        if let Some(why) = &upstream.provider.unusable {
            let name = &upstream.provider.name;
            let message = format!("provider `{name}` cannot be used: {why}");
            return Err(Refusal::new(RefusalKind::Upstream, message));
        }
        Ok((Arc::clone(upstream), model))
    }
}
