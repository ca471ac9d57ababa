//! What a gateway serves: sessions for every agent and mode over the same servers, from a
//! configuration that may change while it runs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::{Semaphore, broadcast, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use toolsearch::catalog::Source;
use toolsearch::invoke::{Listing, Provider};
use toolsearch::runtime::{OpenRequest, Session};
use toolsearch_config::ApprovalMode;
use toolsearch_gateway::{
    ClientInfo, Clients, Entrance, EntranceError, Entrances, News, SessionSource, Shelf,
    SourceError,
};
use toolsearch_mcp::McpServer;

use crate::cli::{Common, ModeArg};
use crate::fault::Fault;

use super::beside::beside;
use super::configuration::Configuration;
use super::questions::Questions;
use super::sources::Sources;
use super::{Assembled, Purpose, shelves};

/// How long a connecting client waits for servers that are still starting. The tools of slower ones
/// are announced when they are there.
const GRACE: Duration = Duration::from_secs(3);
/// How long the first client is waited for before servers start whose tools are known.
const HEAD_START: Duration = Duration::from_secs(1);
/// How long after it servers still wait: a client asks for its list right after it has come.
const FIRST_ANSWERS: Duration = Duration::from_millis(250);
/// How often a server that was taken out of the configuration is looked at for calls that still run.
const PARTING: Duration = Duration::from_millis(500);
/// How long such calls may take.
const MAX_PARTING: Duration = Duration::from_secs(600);
/// Sessions that are planned at the same time.
const MAX_PLANNERS: usize = 2;
/// Most pairs of agent and mode that are kept ready.
const MAX_SEATS: usize = 256;
/// News of servers that a slow session can be behind.
const QUEUED_NEWS: usize = 64;

/// The gateway's sessions. One for all connections of the process.
#[derive(Debug)]
pub(crate) struct House {
    common: Common,
    state: Mutex<State>,
    /// Whether a client has been given a session.
    opened: watch::Sender<bool>,
    changes: watch::Sender<u64>,
    /// The turns of those who plan a session.
    planning: Semaphore,
    news: broadcast::Sender<News>,
    clients: Clients,
    /// Servers whose first list is not there yet.
    starting: Arc<AtomicUsize>,
    started: Instant,
    watchers: Mutex<JoinSet<()>>,
}

/// What holds now.
#[derive(Debug)]
struct State {
    configuration: Configuration,
    sources: Sources,
    seats: BTreeMap<Seat, Arc<Assembled>>,
    watched: BTreeMap<String, Vec<AbortHandle>>,
}

/// Sessions of one kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Seat {
    agent: Option<String>,
    mode: Option<Wanted>,
}

/// A mode that a caller may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Wanted {
    Code,
    Tools,
    Directory,
    Direct,
}

impl Wanted {
    fn read(text: &str) -> Option<Self> {
        Some(match text {
            "code" => Self::Code,
            "tools" => Self::Tools,
            "directory" => Self::Directory,
            "direct" => Self::Direct,
            _ => return None,
        })
    }

    fn argument(self) -> ModeArg {
        match self {
            Self::Code => ModeArg::Code,
            Self::Tools => ModeArg::Tools,
            Self::Directory => ModeArg::Directory,
            Self::Direct => ModeArg::Direct,
        }
    }
}

impl House {
    /// Puts everything together and starts the servers.
    pub(crate) fn new(common: &Common, assembled: Assembled) -> Arc<Self> {
        let seat = Seat {
            agent: common.agent.clone(),
            mode: None,
        };
        let configuration = assembled.configuration.clone();
        let sources = assembled.sources.clone();
        let house = Arc::new(Self {
            common: common.clone(),
            state: Mutex::new(State {
                configuration,
                sources: sources.clone(),
                seats: BTreeMap::from([(seat, Arc::new(assembled))]),
                watched: BTreeMap::new(),
            }),
            changes: watch::Sender::new(0),
            planning: Semaphore::new(MAX_PLANNERS),
            opened: watch::Sender::new(false),
            news: broadcast::Sender::new(QUEUED_NEWS),
            clients: Clients::new(),
            starting: Arc::default(),
            started: Instant::now(),
            watchers: Mutex::default(),
        });
        house.watch(&sources, &[]);
        house
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The settings in force.
    pub(crate) fn configuration(&self) -> Configuration {
        self.state().configuration.clone()
    }

    /// Whether an agent is configured; nobody in particular always is.
    pub(crate) fn knows(&self, agent: Option<&str>) -> bool {
        let state = self.state();
        agent.is_none_or(|agent| state.configuration.settings.agents.get(agent).is_some())
    }

    /// Watches servers that are not watched yet, and no longer those that are not there any more.
    fn watch(&self, sources: &Sources, gone: &[Arc<McpServer>]) {
        let mut watchers = self.watchers();
        while watchers.try_join_next().is_some() {}
        let mut state = self.state();
        for server in gone {
            let handles = state.watched.remove(&server.spec().name);
            handles.iter().flatten().for_each(AbortHandle::abort);
        }
        for server in &sources.servers {
            let name = server.spec().name.clone();
            if state.watched.contains_key(&name) {
                continue;
            }
            // Before anything is asked of it, so that it knows what it may ask.
            server.set_client(Arc::new(Questions(self.clients.clone())));
            let starting = Starting::new(&self.starting);
            let first = first_list(
                Arc::clone(server),
                self.opened.subscribe(),
                self.changes.clone(),
                starting,
            );
            let follow = follow(Arc::clone(server), self.changes.clone());
            let news = shelves::pass_on(Arc::clone(server), self.news.clone());
            let handles = vec![
                watchers.spawn(first),
                watchers.spawn(follow),
                watchers.spawn(news),
            ];
            state.watched.insert(name, handles);
        }
        for server in gone {
            watchers.spawn(part(Arc::clone(server)));
        }
    }

    fn watchers(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.watchers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What sessions of a seat are made with.
    fn assembled(&self, seat: &Seat) -> Result<Arc<Assembled>, Fault> {
        let mut state = self.state();
        if let Some(assembled) = state.seats.get(seat) {
            return Ok(Arc::clone(assembled));
        }
        let assembled = Arc::new(self.assemble(seat, &state.configuration, &state.sources)?);
        if state.seats.len() >= MAX_SEATS {
            state.seats.clear();
        }
        state.seats.insert(seat.clone(), Arc::clone(&assembled));
        Ok(assembled)
    }

    fn assemble(
        &self,
        seat: &Seat,
        configuration: &Configuration,
        sources: &Sources,
    ) -> Result<Assembled, Fault> {
        let mode = seat.mode.map(Wanted::argument).or(self.common.mode);
        let configuration = configuration.seen_by(seat.agent.as_deref(), mode)?;
        let agent = seat.agent.as_deref();
        let mut assembled = Assembled::of(configuration, sources.clone(), agent, Purpose::Model)?;
        assembled.place(&self.common)?;
        Ok(assembled)
    }

    /// Takes over a configuration that was read anew. Servers that stay as they were go on; calls to
    /// those that went end first. Nothing changes when it cannot be used.
    pub(crate) fn renew(&self, configuration: Configuration) -> Result<(), Fault> {
        let (before, old) = {
            let state = self.state();
            (state.configuration.clone(), state.sources.clone())
        };
        let mut sources = Sources::new(&configuration, &self.common.tools)?;
        let gone = keep(&mut sources, old, |name| {
            let servers = &configuration.settings.mcp_servers;
            before.settings.mcp_servers.get(name) == servers.get(name)
        });
        let seat = self.own_seat();
        let first = Arc::new(self.assemble(&seat, &configuration, &sources)?);
        {
            let mut state = self.state();
            state.configuration = configuration;
            state.sources = sources.clone();
            state.seats = BTreeMap::from([(seat, first)]);
        }
        self.watch(&sources, &gone);
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }

    /// The seat of whoever says nothing.
    fn own_seat(&self) -> Seat {
        Seat {
            agent: self.common.agent.clone(),
            mode: None,
        }
    }

    /// Ends all servers. Whether every session was recorded.
    pub(crate) async fn close(&self) -> bool {
        // From here on servers end because they are told to, which is no news.
        let mut watchers = std::mem::take(&mut *self.watchers());
        watchers.shutdown().await;
        let (sources, seats) = {
            let state = self.state();
            (state.sources.clone(), state.seats.clone())
        };
        sources.shutdown().await;
        seats.values().all(|assembled| assembled.recorded())
    }
}

/// The way in to a house.
#[derive(Debug, Clone)]
pub(crate) struct Door(pub(crate) Arc<House>);

impl Door {
    /// The sessions of whoever says nothing.
    pub(crate) fn own(&self) -> Arc<dyn SessionSource> {
        Arc::new(SeatSource {
            house: Arc::clone(&self.0),
            seat: self.0.own_seat(),
        })
    }
}

impl Door {
    fn seat(&self, entrance: &Entrance) -> Result<Seat, EntranceError> {
        let mode = match &entrance.mode {
            None => None,
            Some(text) => Some(Wanted::read(text).ok_or(EntranceError::UnknownMode)?),
        };
        let agent = entrance.agent.clone();
        let agent = agent.or_else(|| self.0.common.agent.clone());
        if !self.0.knows(agent.as_deref()) {
            return Err(EntranceError::UnknownAgent);
        }
        Ok(Seat { agent, mode })
    }

    /// What sessions of an entrance are made with.
    pub(crate) fn assembled(&self, entrance: &Entrance) -> Result<Arc<Assembled>, EntranceError> {
        let seat = self.seat(entrance)?;
        let assembled = self.0.assembled(&seat);
        assembled.map_err(|fault| EntranceError::Refused(fault.message))
    }

    /// All tools of the gateway's own as far as they are known by now.
    pub(crate) async fn listings(&self, assembled: &Assembled) -> Vec<Listing> {
        assembled.sources.list_within(GRACE).await
    }

    /// How often something changed that sessions are planned from.
    pub(crate) fn changed(&self) -> u64 {
        *self.0.changes.borrow()
    }
}

impl Entrances for Door {
    fn source(&self, entrance: &Entrance) -> Result<Arc<dyn SessionSource>, EntranceError> {
        Ok(Arc::new(SeatSource {
            house: Arc::clone(&self.0),
            seat: self.seat(entrance)?,
        }))
    }

    /// As for a client that connects: all lists are there, or the time for them is over.
    fn ready(&self) -> bool {
        self.0.starting.load(Ordering::Relaxed) == 0 || self.0.started.elapsed() >= GRACE
    }
}

/// The source of one seat; looks up what holds each time it is asked.
#[derive(Debug)]
struct SeatSource {
    house: Arc<House>,
    seat: Seat,
}

impl SeatSource {
    async fn plan(&self, previous: Option<&Session>) -> Result<Session, SourceError> {
        let assembled = self.house.assembled(&self.seat).map_err(told)?;
        let listings = assembled.sources.list_within(GRACE).await;
        let mut request: OpenRequest = assembled.request(listings);
        if let Some(previous) = previous {
            request.session = Some(previous.id().to_owned());
            request.continues = Some(previous.clone());
        }
        // A plan over thousands of tools takes a while; calls of other sessions go on beside it. Of
        // sessions that need the same plan most find it made when their turn comes.
        let _turn = self.house.planning.acquire().await;
        let planned = beside(move || async move { assembled.open_with(request).await });
        match planned.await {
            Ok(session) => session.map_err(told),
            Err(error) => Err(SourceError::new(format!("planning failed: {error}"))),
        }
    }
}

fn told(fault: Fault) -> SourceError {
    SourceError::new(fault.message)
}

#[async_trait]
impl SessionSource for SeatSource {
    async fn open(&self, client: &ClientInfo) -> Result<Session, SourceError> {
        tracing::info!(client = %client.name, version = %client.version, "client connected");
        let session = self.plan(None).await;
        self.house.opened.send_replace(true);
        session
    }

    async fn reopen(&self, _: &ClientInfo, previous: &Session) -> Result<Session, SourceError> {
        self.plan(Some(previous)).await
    }

    fn shelves(&self) -> Vec<Arc<dyn Shelf>> {
        let Ok(assembled) = self.house.assembled(&self.seat) else {
            return Vec::new();
        };
        let servers = &assembled.sources.servers;
        shelves::shelves(servers, &assembled.rules, &assembled.subject)
    }

    fn clients(&self) -> Option<Clients> {
        Some(self.house.clients.clone())
    }

    fn news(&self) -> Option<broadcast::Receiver<News>> {
        Some(self.house.news.subscribe())
    }

    fn asks_users(&self) -> bool {
        let state = self.house.state();
        state.configuration.settings.approvals.mode == ApprovalMode::Elicit
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.house.changes.subscribe())
    }
}

/// Puts running servers in the place of new ones that would be the same; gives those that have no
/// place any more.
fn keep(sources: &mut Sources, old: Sources, same: impl Fn(&str) -> bool) -> Vec<Arc<McpServer>> {
    let mut gone = Vec::new();
    for server in old.servers {
        let name = server.spec().name.clone();
        let mut places = sources.servers.iter_mut();
        let place = places.find(|place| place.spec().name == name);
        match place {
            Some(place) if same(&name) => {
                *place = Arc::clone(&server);
                let invokers = std::mem::take(&mut sources.invokers);
                sources.invokers = invokers.bind(Source::Mcp, &name, server as _);
            }
            _ => gone.push(server),
        }
    }
    gone
}

/// Counts a server among those that start for as long as it lives.
struct Starting(Arc<AtomicUsize>);

impl Starting {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
async fn first_list(
    server: Arc<McpServer>,
    mut opened: watch::Receiver<bool>,
    changes: watch::Sender<u64>,
    _starting: Starting,
) {
    if server.list_cached().await.is_some() {
        // The first client is answered from what is known; processes that start would slow that down. A
        // call does not wait for this: it starts its server.
        let came = timeout(HEAD_START, opened.wait_for(|opened| *opened));
        let came = came.await.is_ok();
        if came {
            sleep(FIRST_ANSWERS).await;
        }
    }
    let started = Instant::now();
    let listing = server.list().await;
    if let Some(outage) = &listing.outage {
        tracing::warn!(server = %outage.owner, reason = %outage.reason, "server is not available");
        if started.elapsed() >= GRACE {
            changes.send_modify(|count| *count += 1);
        }
    }
}

/// Ends a server that is not configured any more, when no session has it any longer.
async fn part(server: Arc<McpServer>) {
    let begun = Instant::now();
    while Arc::strong_count(&server) > 1 && begun.elapsed() < MAX_PARTING {
        sleep(PARTING).await;
    }
    server.shutdown().await;
}
