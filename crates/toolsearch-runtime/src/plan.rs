//! Planning a session, and sharing plans between sessions whose tools are the same.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use toolsearch_catalog::{
    Catalog, CatalogBuilder, CatalogMode, Fingerprint, Rejected, Source, ToolDescriptor, ToolId,
};
use toolsearch_invoke::{Invokers, Listing, Outage};
use toolsearch_mode::{Direct, Mode, Surface, View};
use toolsearch_policy::{RuleFault, Subject};
use toolsearch_sandbox::Engine;
use toolsearch_search::{SearchError, SearchRequest};
use toolsearch_telemetry::{Event, Fallback, Opened, Sizes, Stamped};

use crate::Shared;
use crate::components::Compaction;
use crate::programs::Programs;
use crate::results;
use crate::session::Session;
use crate::snapshot::{Snapshot, direct_bytes};

/// How many plans are remembered, as long as a session holds them.
const MAX_PLANS: usize = 256;

/// What a session is planned from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct OpenRequest {
    /// For whom.
    pub subject: Subject,
    /// The tools, one listing an owner. Client tools have [`Source::Client`].
    pub listings: Vec<Listing>,
    /// Who runs tools of this session only, besides the runtime's own invokers.
    pub invokers: Invokers,
    /// The session's name; one is made when it is missing.
    pub session: Option<String>,
    /// Another mode than the runtime's.
    pub mode: Option<Arc<dyn Mode>>,
    /// Whether tools are hidden, if other than the runtime says.
    pub compaction: Option<Compaction>,
    /// The user's first message, for choosing likely schemas.
    pub first_message: Option<String>,
    /// The model's context in tokens.
    pub context_tokens: Option<usize>,
    /// The session that this one goes on from, with other tools: kept results, consent for the session
    /// and the loop guard stay. Left out when it belongs to another subject.
    pub continues: Option<Session>,
    /// Exact ids or unique names of tools whose schemas must be visible.
    pub required: Vec<String>,
    /// How programs of this session are run, where other than the runtime says.
    pub programs: Programs,
}

impl OpenRequest {
    /// A session for a subject over some tools.
    #[must_use]
    pub fn new(subject: Subject, listings: Vec<Listing>) -> Self {
        Self {
            subject,
            listings,
            ..Self::default()
        }
    }
}

/// Why no session could be planned.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The rules hide everything by mistake.
    #[error(transparent)]
    Policy(#[from] RuleFault),
    /// A client tool has the name of another tool where both must be callable by name.
    #[error("client tool `{client}` has the same name as `{other}`; rename one of them")]
    NameCollision {
        /// The client tool.
        client: ToolId,
        /// The tool that has the name already.
        other: ToolId,
    },
    /// No index can be made.
    #[error(transparent)]
    Search(#[from] SearchError),
}

/// Everything that is decided when a session opens.
#[derive(Debug)]
pub(crate) struct Plan {
    key: Key,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) direct: Vec<Arc<ToolDescriptor>>,
    pub(crate) surface: Surface,
    pub(crate) sizes: Sizes,
    pub(crate) mode: Arc<dyn Mode>,
    pub(crate) fallback: Option<Fallback>,
    pub(crate) rejected: Vec<Rejected>,
}

/// What decides a plan, besides the runtime. Two requests with equal keys get the same plan. Tools
/// are compared by address: a descriptor is immutable once it is shared, and the key keeps it alive.
#[derive(Debug)]
struct Key {
    subject: Subject,
    tools: Vec<Arc<ToolDescriptor>>,
    mode: &'static str,
    compaction: Compaction,
    likely: Option<String>,
    required: Vec<String>,
    context_tokens: Option<usize>,
}

impl Key {
    fn matches(&self, other: &Self) -> bool {
        self.mode == other.mode
            && self.compaction == other.compaction
            && self.subject == other.subject
            && self.likely == other.likely
            && self.required == other.required
            && self.context_tokens == other.context_tokens
            && self.tools.len() == other.tools.len()
            && self
                .tools
                .iter()
                .zip(&other.tools)
                .all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

/// Plans and snapshots that some session holds. Nothing here outlives the last session that uses it.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    known: Mutex<Known>,
    sessions: AtomicU64,
    /// It was said that another mode had to be taken.
    fallback_told: AtomicBool,
}

#[derive(Debug, Default)]
struct Known {
    plans: Vec<Weak<Plan>>,
    snapshots: BTreeMap<Fingerprint, Weak<Snapshot>>,
}

impl Known {
    fn forget_dead(&mut self) {
        self.plans.retain(|plan| plan.strong_count() > 0);
        self.snapshots
            .retain(|_, snapshot| snapshot.strong_count() > 0);
    }
}

impl Plans {
    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&self, key: &Key) -> Option<Arc<Plan>> {
        let known = self.lock();
        let mut alive = known.plans.iter().filter_map(Weak::upgrade);
        alive.find(|plan| plan.key.matches(key))
    }

    fn remember(&self, plan: &Arc<Plan>) {
        let mut known = self.lock();
        known.forget_dead();
        if known.plans.len() < MAX_PLANS {
            known.plans.push(Arc::downgrade(plan));
        }
        let fingerprint = *plan.snapshot.catalog.fingerprint();
        known
            .snapshots
            .insert(fingerprint, Arc::downgrade(&plan.snapshot));
    }

    fn snapshot(&self, fingerprint: &Fingerprint) -> Option<Arc<Snapshot>> {
        self.lock().snapshots.get(fingerprint)?.upgrade()
    }

    /// Any snapshot that is alive, to take unchanged parts of its index from.
    fn any_snapshot(&self) -> Option<Arc<Snapshot>> {
        self.lock().snapshots.values().find_map(Weak::upgrade)
    }

    /// A session was closed: what only it held is gone, so its places are free.
    pub(crate) fn closed(&self) {
        self.lock().forget_dead();
    }

    fn next_session(&self, now: u64) -> String {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        format!("{now:x}-{:x}-{number}", std::process::id())
    }
}

pub(crate) async fn open(shared: &Arc<Shared>, request: OpenRequest) -> Result<Session, OpenError> {
    let now = shared.parts.clock.now_ms();
    let session = request
        .session
        .clone()
        .unwrap_or_else(|| shared.plans.next_session(now));
    let wanted = request
        .mode
        .clone()
        .unwrap_or_else(|| Arc::clone(&shared.parts.mode));
    let engine = engine_of(shared, &request.programs);
    let (mode, fallback) = usable_mode(shared, wanted, engine).await;
    let key = key(shared, &request, mode.as_ref());
    let (plan, reused) = match shared.plans.plan(&key) {
        Some(plan) => (plan, true),
        None => {
            let plan = Arc::new(make(shared, &request, key, mode, fallback).await?);
            shared.plans.remember(&plan);
            (plan, false)
        }
    };
    record(shared, &request, &session, &plan, reused, now);
    let outages: Vec<(Source, Outage)> = request
        .listings
        .iter()
        .filter_map(|listing| Some((listing.source, listing.outage.clone()?)))
        .collect();
    Ok(Session::new(
        Arc::clone(shared),
        session,
        request,
        plan,
        outages,
    ))
}

/// The wanted mode, or the fallback when it runs programs and no engine can. Decided before
/// anything is compacted, so that the surface never names a control that does not work.
async fn usable_mode(
    shared: &Arc<Shared>,
    wanted: Arc<dyn Mode>,
    engine: Arc<dyn Engine>,
) -> (Arc<dyn Mode>, Option<Fallback>) {
    if !wanted.needs_engine() {
        return (wanted, None);
    }
    let checked = tokio::task::spawn_blocking(move || engine.check()).await;
    let reason = match checked {
        Ok(Ok(_)) => return (wanted, None),
        Ok(Err(unsupported)) => unsupported.to_string(),
        Err(_) => "the check of the code engine did not end".to_owned(),
    };
    // Said once, not at every client and every change of a list.
    if !shared.plans.fallback_told.swap(true, Ordering::Relaxed) {
        let (from, to) = (wanted.name(), shared.parts.fallback.name());
        tracing::warn!(from, to, %reason, "mode changed");
    }
    let fallback = Fallback::new(wanted.name(), reason);
    (Arc::clone(&shared.parts.fallback), Some(fallback))
}

/// What runs the programs of a session.
pub(crate) fn engine_of(shared: &Shared, programs: &Programs) -> Arc<dyn Engine> {
    let engine = programs.engine.as_ref();
    Arc::clone(engine.unwrap_or(&shared.parts.engine))
}

fn key(shared: &Shared, request: &OpenRequest, mode: &dyn Mode) -> Key {
    let tools = request
        .listings
        .iter()
        .flat_map(|listing| listing.tools.iter().cloned());
    let mut subject = request.subject.clone();
    subject.session = None;
    Key {
        subject,
        tools: tools.collect(),
        mode: mode.name(),
        compaction: request.compaction.unwrap_or(shared.options.compaction),
        likely: request
            .first_message
            .clone()
            .filter(|_| mode.likely_schemas() > 0),
        required: request.required.clone(),
        context_tokens: request.context_tokens,
    }
}

/// Tools by where they go.
#[derive(Default)]
struct Placed {
    searchable: Vec<Arc<ToolDescriptor>>,
    direct: Vec<Arc<ToolDescriptor>>,
}

async fn make(
    shared: &Shared,
    request: &OpenRequest,
    key: Key,
    mode: Arc<dyn Mode>,
    fallback: Option<Fallback>,
) -> Result<Plan, OpenError> {
    let refs: Vec<&ToolDescriptor> = key.tools.iter().map(AsRef::as_ref).collect();
    shared.parts.policy.check(&request.subject, &refs)?;
    let allowed =
        |tool: &&Arc<ToolDescriptor>| !shared.parts.policy.decide(&request.subject, tool).is_deny();
    let kept: Vec<Arc<ToolDescriptor>> = key.tools.iter().filter(allowed).cloned().collect();
    let mode = if compacts(key.compaction, &kept) {
        mode
    } else {
        Arc::new(Direct)
    };
    if mode.keeps_client_tools() && mode.name() != "direct" {
        check_client_names(&kept)?;
    }
    let Placed {
        searchable,
        mut direct,
    } = place(shared, kept, mode.as_ref());
    let (catalog, rejected) = catalog(searchable, mode.as_ref());
    direct.sort_by(|a, b| a.id.cmp(&b.id));
    direct.dedup_by(|a, b| a.id == b.id);
    let snapshot = snapshot(shared, catalog).await?;
    let likely = likely(&snapshot, request, mode.as_ref()).await?;
    let surface = surface(shared, &snapshot, &direct, &likely, mode.as_ref(), request);
    let sizes = sizes(&snapshot, &direct, &surface);
    Ok(Plan {
        key,
        snapshot,
        direct,
        surface,
        sizes,
        mode,
        fallback,
        rejected,
    })
}

fn compacts(compaction: Compaction, tools: &[Arc<ToolDescriptor>]) -> bool {
    match compaction {
        Compaction::Always => true,
        Compaction::Never => false,
        Compaction::Above { tools: most, bytes } => {
            tools.len() > most || direct_bytes(tools) > bytes
        }
    }
}

/// Names must be unique over everything that can be called by name, hidden tools included.
fn check_client_names(tools: &[Arc<ToolDescriptor>]) -> Result<(), OpenError> {
    let client = |tool: &&Arc<ToolDescriptor>| tool.source() == Source::Client;
    let others: BTreeMap<&str, &Arc<ToolDescriptor>> = tools
        .iter()
        .filter(|tool| !client(tool))
        .map(|tool| (tool.name.as_str(), tool))
        .collect();
    match tools
        .iter()
        .filter(client)
        .find_map(|tool| Some((tool, others.get(tool.name.as_str())?)))
    {
        None => Ok(()),
        Some((tool, other)) => Err(OpenError::NameCollision {
            client: tool.id.clone(),
            other: other.id.clone(),
        }),
    }
}

fn place(shared: &Shared, tools: Vec<Arc<ToolDescriptor>>, mode: &dyn Mode) -> Placed {
    let mut placed = Placed::default();
    for tool in tools {
        let kept_client = tool.source() == Source::Client && mode.keeps_client_tools();
        if tool.catalog_mode == CatalogMode::DirectOnly || kept_client {
            placed.direct.push(tool);
            continue;
        }
        if shared
            .options
            .always_visible
            .iter()
            .any(|glob| glob.covers(&tool))
        {
            placed.direct.push(Arc::clone(&tool));
        }
        placed.searchable.push(tool);
    }
    placed
}

fn catalog(searchable: Vec<Arc<ToolDescriptor>>, mode: &dyn Mode) -> (Catalog, Vec<Rejected>) {
    let mut builder = CatalogBuilder::new();
    for tool in searchable {
        builder.add(tool);
    }
    if !mode.controls().is_empty() {
        builder.add(results::reader_tool());
    }
    builder.build()
}

async fn snapshot(shared: &Shared, catalog: Catalog) -> Result<Arc<Snapshot>, OpenError> {
    if let Some(snapshot) = shared.plans.snapshot(catalog.fingerprint()) {
        return Ok(snapshot);
    }
    let older = shared.plans.any_snapshot();
    let previous = older.as_ref().map(|snapshot| &snapshot.index);
    let index = shared.parts.ranker.index(&catalog, previous).await?;
    Ok(Arc::new(Snapshot::new(catalog, index)))
}

/// Schemas that are shown beside the controls: required ones, then the best hits for the first
/// message. Ambiguous and unknown names are left out.
async fn likely(
    snapshot: &Snapshot,
    request: &OpenRequest,
    mode: &dyn Mode,
) -> Result<Vec<Arc<ToolDescriptor>>, OpenError> {
    let most = mode.likely_schemas();
    let mut chosen: Vec<Arc<ToolDescriptor>> = Vec::new();
    let required = request
        .required
        .iter()
        .filter_map(|id| snapshot.catalog.resolve(id).ok());
    chosen.extend(required.take(most).cloned());
    if let Some(message) = request
        .first_message
        .as_deref()
        .filter(|_| chosen.len() < most)
    {
        let response = snapshot
            .index
            .search(&SearchRequest::new(message, most))
            .await?;
        for hit in response.hits {
            let tool = &snapshot.catalog.entries()[hit.position];
            if chosen.len() < most && !chosen.iter().any(|other| other.id == tool.id) {
                chosen.push(Arc::clone(tool));
            }
        }
    }
    Ok(chosen)
}

fn surface(
    shared: &Shared,
    snapshot: &Snapshot,
    direct: &[Arc<ToolDescriptor>],
    likely: &[Arc<ToolDescriptor>],
    mode: &dyn Mode,
    request: &OpenRequest,
) -> Surface {
    let mut view = View::new(
        &snapshot.catalog,
        &shared.options.names,
        &shared.options.search,
    );
    view.direct = direct;
    view.likely = likely;
    view.owners = &snapshot.owners;
    view.code_timeout = shared.options.code.wall;
    view.context_tokens = request.context_tokens;
    mode.surface(&view)
}

fn sizes(snapshot: &Snapshot, direct: &[Arc<ToolDescriptor>], surface: &Surface) -> Sizes {
    let visible_only = |tool: &&Arc<ToolDescriptor>| snapshot.catalog.get(&tool.id).is_none();
    let only: Vec<Arc<ToolDescriptor>> = direct.iter().filter(visible_only).cloned().collect();
    // Direct exposure has no use for the tool that reads long results.
    let reader = snapshot.catalog.get(results::reader_id());
    let (reader, reader_bytes) = reader.map_or((0, 0), |tool| (1, tool.direct_bytes() + 1));
    Sizes::new(
        surface.tools.len(),
        surface.tool_bytes(),
        surface.prompt.len(),
        snapshot.catalog.len() - reader + only.len(),
        snapshot.direct_bytes() - reader_bytes + direct_bytes(&only) - 1,
    )
}

fn record(
    shared: &Shared,
    request: &OpenRequest,
    session: &str,
    plan: &Plan,
    reused: bool,
    now: u64,
) {
    let catalog = &plan.snapshot.catalog;
    let mut opened = Opened::new(plan.mode.name(), catalog.fingerprint().as_str(), plan.sizes);
    opened.agent.clone_from(&request.subject.agent);
    opened.engine = plan
        .mode
        .needs_engine()
        .then(|| engine_of(shared, &request.programs).name().to_owned());
    opened.fallback.clone_from(&plan.fallback);
    opened.catalog = catalog.sources();
    opened.reused = reused;
    shared
        .parts
        .recorder
        .record(&Stamped::new(now, session, Event::Opened(opened)));
}
