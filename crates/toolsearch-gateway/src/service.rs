//! The methods of the protocol, for one connection.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    ClientNotification, ClientRequest, CustomResult, DiscoverResult, ErrorCode, Implementation,
    InitializeRequestParams, InitializeResult, ProtocolVersion, ServerCapabilities, ServerConfig,
    ServerResult,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer, Service};
use serde_json::{Map, Value};
use tokio::sync::{OnceCell, Semaphore, watch};
use tokio::task::JoinSet;
use toolsearch_schema::names::sanitise_label;

use crate::answer::{self, Era};
use crate::ask::{Ask, ClientCapability, declared};
use crate::call::{Call, With};
use crate::clients::{ClientName, Place};
use crate::desk::Desk;
use crate::elicit::Elicit;
use crate::gateway::GatewayOptions;
use crate::headers::ParamHeaders;
use crate::listen;
use crate::listing::Listings;
use crate::progress::{Reports, reporting};
use crate::relay::{self, METHODS, ROUNDS, Shelves, Watched};
use crate::rounds::{Answer, Errand, Inputs, Told, Waiting};
use crate::source::{ClientInfo, SessionSource};

/// Most characters of a method name in a message.
const MAX_METHOD_CHARS: usize = 80;

/// One client and its session.
#[derive(Debug)]
pub(crate) struct Connection {
    source: Arc<dyn SessionSource>,
    listings: Arc<Listings>,
    /// Where servers find the client with their questions.
    place: Mutex<Option<Place>>,
    settle: Duration,
    desk: OnceCell<Arc<Desk>>,
    calls: Semaphore,
    /// Requests that wait for answers of the client.
    waiting: Waiting,
    /// True once the client has closed its side.
    end: watch::Receiver<bool>,
    /// Resources that the client subscribed to.
    watched: Arc<Watched>,
    /// What goes on besides requests; ends with the connection.
    tasks: Mutex<JoinSet<()>>,
}

/// What the server says it is.
pub(crate) fn software() -> Implementation {
    Implementation::new("toolsearch", env!("CARGO_PKG_VERSION"))
}

fn capabilities(shelves: bool) -> ServerCapabilities {
    let mut capabilities = ServerCapabilities::builder()
        .enable_tools()
        .enable_tool_list_changed()
        .build();
    if shelves {
        let relayed = ServerCapabilities::builder()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_completions()
            .build();
        capabilities.prompts = relayed.prompts;
        capabilities.resources = relayed.resources;
        capabilities.completions = relayed.completions;
    }
    capabilities
}

impl Connection {
    pub(crate) fn new(
        source: Arc<dyn SessionSource>,
        options: &GatewayOptions,
        end: watch::Receiver<bool>,
        listings: Arc<Listings>,
    ) -> Self {
        Self {
            source,
            listings,
            place: Mutex::default(),
            settle: options.settle,
            desk: OnceCell::new(),
            calls: Semaphore::new(options.calls.clamp(1, Semaphore::MAX_PERMITS)),
            waiting: Waiting::default(),
            end,
            watched: Arc::default(),
            tasks: Mutex::default(),
        }
    }

    /// The session of this connection; planned by the first request that needs it.
    async fn desk(&self, client: ClientInfo) -> Result<&Arc<Desk>, ErrorData> {
        let open = async || {
            // Taken before planning, so that a change during it is not missed.
            let changes = self.source.changes();
            let (source, listings) = (Arc::clone(&self.source), Arc::clone(&self.listings));
            let desk = Arc::new(Desk::open(source, client, listings).await?);
            if let Some(changes) = changes {
                self.spawn(Arc::clone(&desk).follow(changes, self.settle));
            }
            Ok(desk)
        };
        let desk = self.desk.get_or_try_init(open).await;
        desk.map_err(|error: crate::SourceError| {
            tracing::error!(%error, "no session could be opened");
            ErrorData::internal_error(error.to_string(), None)
        })
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .spawn(task);
    }

    async fn initialize(
        &self,
        params: &InitializeRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let version = &params.protocol_version;
        let client = ClientInfo::of(Some(&params.client_info), version.as_str());
        let first = !self.desk.initialized();
        let desk = self.desk(client).await?;
        if first {
            let declared = declared(Some(&params.capabilities));
            let client: Arc<dyn Ask> = Arc::new(context.peer.clone());
            let name = ClientName::new(desk.shown().session.id(), None);
            let place = enter(&self.source, name, client, declared);
            *self.place.lock().unwrap_or_else(PoisonError::into_inner) = place;
            self.spawn(listen::announce(desk.subscribe(), context.peer.clone()));
            if let Some(news) = self.source.news() {
                let source = Arc::clone(&self.source);
                let watched = Arc::clone(&self.watched);
                self.spawn(listen::pass_on(news, source, watched, context.peer.clone()));
            }
        }
        let mut result = InitializeResult::new(capabilities(self.source.has_shelves()))
            .with_server_info(software())
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
        result
            .instructions
            .clone_from(&desk.shown().listing.instructions);
        Ok(ServerResult::InitializeResult(result))
    }

    async fn discover(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let desk = self.desk(client(context)).await?;
        let versions = ProtocolVersion::KNOWN_VERSIONS.to_vec();
        let capabilities = capabilities(self.source.has_shelves());
        let mut result = DiscoverResult::new(versions, capabilities).with_server_info(software());
        result
            .instructions
            .clone_from(&desk.shown().listing.instructions);
        Ok(ServerResult::DiscoverResult(result))
    }

    async fn list(&self, context: &RequestContext<RoleServer>) -> Result<ServerResult, ErrorData> {
        let desk = self.desk(client(context)).await?;
        Ok(raw(answer::list(&desk.shown().listing.tools, era(context))))
    }

    async fn call(
        &self,
        params: Option<Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let (call, inputs) = Call::read(params)?;
        let shown = self.desk(client(context)).await?.shown();
        if let Some(headers) = context.extensions.get::<ParamHeaders>()
            && let Some(schema) = shown.listing.input_schema(call.name())
        {
            headers.check(schema, call.arguments())?;
        }
        let session = shown.session.clone();
        let _slot = self.calls.acquire().await;
        let declared = declared(context.client_capabilities().as_ref());
        // Whether this client's user is asked for consent.
        let consents =
            self.source.asks_users() && declared.contains(&ClientCapability::Elicitation);
        if era(context) == Era::Inline {
            let told = call.told();
            let source = Arc::clone(&self.source);
            let start = |errand: Errand| async move {
                let client: Arc<dyn Ask> = errand.mailbox;
                let name = ClientName::new(session.id(), Some(errand.request.clone()));
                let _place = enter(&source, name, Arc::clone(&client), declared);
                let with = With {
                    approver: consents.then(|| Arc::new(Elicit(client)) as _),
                    progress: Some(errand.reports),
                    request: Some(errand.request),
                };
                Ok(answer::result(call.run(&session, with).await, Era::Inline))
            };
            return self.in_rounds(told, inputs, start, context).await;
        }
        let token = context.meta.get_progress_token();
        let reports = Arc::new(Reports::default());
        let with = With {
            approver: consents.then(|| Arc::new(Elicit(Arc::new(context.peer.clone()))) as _),
            progress: token.as_ref().map(|_| Arc::clone(&reports) as _),
            request: None,
        };
        // A future of its own place: this one is moved several times before it runs.
        let running = Box::pin(call.run(&session, with));
        let answer = reporting(&reports, &context.peer, token, running).await;
        Ok(raw(answer::result(answer, Era::Handshake)))
    }

    /// Answers a request that stands for itself, in as many rounds as it takes.
    async fn in_rounds<F>(
        &self,
        told: Told,
        inputs: Inputs,
        start: impl FnOnce(Errand) -> F,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData>
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let work = self.waiting.enter(&told, inputs, start)?;
        let reports = Arc::clone(&work.reports);
        let token = context.meta.get_progress_token();
        let round = self.waiting.round(told, work);
        reporting(&reports, &context.peer, token, round)
            .await
            .map(raw)
    }

    /// Resources and prompts of the servers.
    async fn relay(
        &self,
        method: &str,
        params: Option<Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let mut params = match params {
            Some(Value::Object(params)) => params,
            _ => Map::new(),
        };
        let session = self.desk(client(context)).await?.shown().session.clone();
        let _slot = self.calls.acquire().await;
        let shelves = Shelves::new(self.source.shelves());
        let era = era(context);
        match method {
            _ if era == Era::Inline && ROUNDS.contains(&method) => {
                let inputs = Inputs::take(&mut params)?;
                let told = Told {
                    method: method.to_owned(),
                    name: String::new(),
                    arguments: Value::Object(params.clone()),
                };
                let declared = declared(context.client_capabilities().as_ref());
                let (method, source) = (method.to_owned(), Arc::clone(&self.source));
                let start = |errand: Errand| async move {
                    let name = ClientName::new(session.id(), Some(errand.request));
                    let _place = enter(&source, name.clone(), errand.mailbox, declared);
                    let shelves = shelves.asked_by(name);
                    shelves.answer(&method, params, era).await
                };
                self.in_rounds(told, inputs, start, context).await
            }
            // Since 2026-07-28 changes are listened to, not subscribed to.
            "resources/subscribe" | "resources/unsubscribe" if era == Era::Inline => {
                Err(unknown(method))
            }
            "resources/subscribe" => {
                let uri = relay::text(&params, "uri")?;
                let (owner, own) = shelves.subscribe(&uri, era).await?;
                self.watched.add(owner, own, uri)?;
                Ok(ServerResult::empty(()))
            }
            "resources/unsubscribe" => {
                self.watched.remove(&relay::text(&params, "uri")?);
                Ok(ServerResult::empty(()))
            }
            _ => {
                let shelves = shelves.asked_by(ClientName::new(session.id(), None));
                Ok(raw(shelves.answer(method, params, era).await?))
            }
        }
    }

    async fn handle(
        &self,
        request: ClientRequest,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        match request {
            ClientRequest::InitializeRequest(request) => {
                self.initialize(&request.params, context).await
            }
            ClientRequest::PingRequest(_) => Ok(ServerResult::empty(())),
            ClientRequest::DiscoverRequest(_) => self.discover(context).await,
            ClientRequest::SubscriptionsListenRequest(request) if era(context) == Era::Inline => {
                let desk = self.desk(client(context)).await?;
                let wanted = &request.params.notifications;
                listen::listen(wanted, desk, &self.source, context, self.end.clone()).await
            }
            ClientRequest::CustomRequest(request) => match request.method.as_str() {
                "tools/list" => self.list(context).await,
                "tools/call" => self.call(request.params, context).await,
                method if METHODS.contains(&method) && self.source.has_shelves() => {
                    self.relay(method, request.params.clone(), context).await
                }
                other => Err(unknown(other)),
            },
            other => Err(unknown(other.method())),
        }
    }
}

impl Service<RoleServer> for Connection {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let handshake = matches!(request, ClientRequest::InitializeRequest(_));
        if let Some(version) = context.meta.protocol_version().filter(|_| !handshake)
            && !ProtocolVersion::KNOWN_VERSIONS.contains(&version)
        {
            let known = ProtocolVersion::KNOWN_VERSIONS;
            return Err(ErrorData::unsupported_protocol_version(version, known));
        }
        // A listener ends by itself when it is cancelled, with a result for whoever still waits.
        if matches!(request, ClientRequest::SubscriptionsListenRequest(_)) {
            return self.handle(request, &context).await;
        }
        tokio::select! {
            biased;
            () = context.ct.cancelled() => {
                Err(ErrorData::internal_error("the request was cancelled", None))
            }
            answer = self.handle(request, &context) => answer,
        }
    }

    async fn handle_notification(
        &self,
        _: ClientNotification,
        _: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_info(&self) -> ServerConfig {
        InitializeResult::new(capabilities(self.source.has_shelves()))
            .with_server_info(software())
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }
}

/// Has servers find a client with their questions for as long as the place is kept.
fn enter(
    source: &Arc<dyn SessionSource>,
    name: ClientName,
    client: Arc<dyn Ask>,
    declared: BTreeSet<ClientCapability>,
) -> Option<Place> {
    Some(source.clients()?.enter(name, client, declared))
}

fn raw(result: Value) -> ServerResult {
    ServerResult::CustomResult(CustomResult(result))
}

fn era(context: &RequestContext<RoleServer>) -> Era {
    match context.protocol_version() {
        Some(version) if !version.has_initialize() => Era::Inline,
        _ => Era::Handshake,
    }
}

fn client(context: &RequestContext<RoleServer>) -> ClientInfo {
    let version = context.protocol_version();
    let version = version.as_ref().map_or("", ProtocolVersion::as_str);
    ClientInfo::of(context.client_info().as_ref(), version)
}

fn unknown(method: &str) -> ErrorData {
    let method = sanitise_label(method, MAX_METHOD_CHARS);
    let message = format!("there is no method `{method}` here");
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None)
}
