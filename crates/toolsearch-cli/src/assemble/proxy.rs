//! The provider proxy of a gateway: the sessions behind it, its providers, and where turns are kept that
//! wait for their clients.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use toolsearch::runtime::{OpenRequest, Session};
use toolsearch_config::{Dialect as Written, NativeToolSearch, Provider, Settings, Switch};
use toolsearch_gateway::proxy::{
    ModelProvider, NativeSearch, Planner, Proxy, ProxyError, ProxyOptions, Wish,
};
use toolsearch_gateway::{Dialect, Entrance, EntranceError};
use toolsearch_store::{FileStore, MemoryStore, Store};

use super::configuration::Configuration;
use super::gateway::Door;
use super::logs;

/// A proxy in front of the configured providers.
pub(crate) fn proxy(door: &Door, configuration: &Configuration) -> Result<Proxy, ProxyError> {
    let settings = &configuration.settings;
    let small = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    let limits = &settings.gateway.limits;
    let mut options = ProxyOptions::default();
    options.body_bytes = small(limits.body_bytes);
    options.sessions = small(limits.sessions);
    options.idle = Duration::from_millis(limits.session_idle_ms);
    let store: Arc<dyn Store> = match folder(configuration) {
        Some(folder) => Arc::new(FileStore::new(folder)),
        None => Arc::new(MemoryStore::default()),
    };
    Proxy::new(Arc::new(door.clone()), providers(settings), store, options)
}

/// Turns outlive the process beside the session logs.
fn folder(configuration: &Configuration) -> Option<PathBuf> {
    let logs = logs::folder(configuration)?;
    Some(logs.parent()?.join("turns"))
}

/// The providers of the file, as the proxy takes them.
pub(crate) fn providers(settings: &Settings) -> Vec<ModelProvider> {
    let all = settings.providers.iter();
    all.map(|(name, provider)| model_provider(name, provider))
        .collect()
}

fn model_provider(name: &str, provider: &Provider) -> ModelProvider {
    let dialects = provider
        .dialects
        .iter()
        .filter_map(|dialect| match dialect {
            Written::OpenaiChat => Some(Dialect::OpenAiChat),
            Written::OpenaiResponses => Some(Dialect::OpenAiResponses),
            Written::AnthropicMessages => Some(Dialect::AnthropicMessages),
            _ => None,
        });
    let mut model = ModelProvider::new(name, dialects.collect(), provider.base_url.expose());
    model.api_key = provider.api_key.as_ref().map(|key| key.expose().to_owned());
    model.context_tokens = provider
        .context_tokens
        .and_then(|tokens| usize::try_from(tokens).ok());
    model.native = match provider.native_tool_search {
        NativeToolSearch::On => NativeSearch::On,
        NativeToolSearch::Off => NativeSearch::Off,
        _ => NativeSearch::Auto,
    };
    model.unusable = provider
        .needs
        .as_ref()
        .map(|needs| format!("it needs configuration: {needs}"));
    model
}

#[async_trait]
impl Planner for Door {
    fn searches(&self, entrance: &Entrance) -> Result<bool, EntranceError> {
        let assembled = self.assembled(entrance)?;
        Ok(assembled.configuration.effective.switch.value != Switch::Off)
    }

    async fn plan(&self, wish: Wish) -> Result<Session, EntranceError> {
        let assembled = self.assembled(&wish.entrance)?;
        let mut listings = self.listings(&assembled).await;
        listings.extend(wish.client);
        let mut request: OpenRequest = assembled.request(listings);
        if let Some(session) = wish.session {
            request.session = Some(session);
        }
        request.continues = wish.continues;
        request.subject.provider = Some(wish.provider);
        request.first_message = wish.first_message;
        request.context_tokens = wish.context_tokens;
        let opened = assembled.open_with(request).await;
        opened.map_err(|fault| EntranceError::Refused(fault.message))
    }

    fn generation(&self) -> u64 {
        self.changed()
    }
}
