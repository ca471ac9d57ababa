//! The source as toolsearch sees it: listings, a provider a service, and the invoker.

use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::{Map, Value};
use toolsearch_catalog::{Annotations, Outcome, Source, ToolDescriptor};
use toolsearch_invoke::{Invocation, InvokeError, Invoker, Invokers, Listing, Provider};

use crate::plan::{Entity, SERVICES, Service, Tool};
use crate::run::Run;
use crate::schema;
use crate::spec::Op;
use crate::store::{Failure, Store};

static LISTINGS: LazyLock<Vec<Listing>> = LazyLock::new(|| listings(&SERVICES));

/// A set of services with a store of its own. All tools are native and trusted; the owner of a tool
/// is its service.
#[derive(Default)]
pub struct Sample {
    store: Mutex<Store>,
}

impl Sample {
    /// A sample in its first state: every service holds a few records.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// One listing a service, always the same.
    #[must_use]
    pub fn listings(&self) -> Vec<Listing> {
        LISTINGS.clone()
    }

    /// One provider a service.
    #[must_use]
    pub fn providers(&self) -> Vec<Arc<dyn Provider>> {
        let provider = |listing: &Listing| -> Arc<dyn Provider> {
            Arc::new(ServiceProvider {
                listing: listing.clone(),
            })
        };
        LISTINGS.iter().map(provider).collect()
    }

    /// Binds every service to this sample.
    #[must_use]
    pub fn invokers(self: &Arc<Self>) -> Invokers {
        let bind = |table: Invokers, service: &Service| {
            let sample: Arc<dyn Invoker> = Arc::clone(self) as Arc<dyn Invoker>;
            table.bind(Source::Native, service.name, sample)
        };
        SERVICES.iter().fold(Invokers::new(), bind)
    }

    /// Runs a tool; `None` when no service has it.
    fn call(&self, owner: &str, name: &str, args: &Map<String, Value>) -> Option<Outcome> {
        let service = SERVICES.iter().find(|service| service.name == owner)?;
        let (entity, tool) = service.tools().find(|(_, tool)| tool.name == name)?;
        // The store is whole after every step, so a panic elsewhere cannot have broken it.
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        let now = String::new();
        let run = Run {
            service,
            entity,
            tool,
            args,
            store: &mut store,
            now,
        };
        Some(match run.run() {
            Ok(value) => Outcome::structured(value),
            Err(Failure(reason)) => Outcome::error(reason),
        })
    }
}

impl fmt::Debug for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sample").finish_non_exhaustive()
    }
}

#[async_trait]
impl Invoker for Sample {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        let owner = &call.tool.owner;
        let outcome = match call.tool.source() {
            Source::Native => self.call(owner, &call.tool.name, &call.args),
            _ => None,
        };
        outcome.ok_or_else(|| InvokeError::Gone {
            owner: owner.clone(),
        })
    }
}

/// Lists one service.
#[derive(Debug)]
struct ServiceProvider {
    listing: Listing,
}

#[async_trait]
impl Provider for ServiceProvider {
    fn source(&self) -> Source {
        self.listing.source
    }

    fn owner(&self) -> &str {
        &self.listing.owner
    }

    async fn list(&self) -> Listing {
        self.listing.clone()
    }
}

impl Service {
    /// Every tool with the entity that it works on.
    pub(crate) fn tools(&self) -> impl Iterator<Item = (&Entity, &Tool)> {
        self.entities
            .iter()
            .flat_map(|entity| entity.tools.iter().map(move |tool| (entity, tool)))
    }
}

/// Builds the listings of services.
pub(crate) fn listings(services: &[Service]) -> Vec<Listing> {
    services.iter().map(listing).collect()
}

fn listing(service: &Service) -> Listing {
    let mut tools = Vec::new();
    for entity in &service.entities {
        let record = service.outputs.then(|| schema::record(entity));
        for tool in &entity.tools {
            tools.extend(descriptor(service, entity, tool, record.as_ref()).map(Arc::new));
        }
    }
    let mut listing = Listing::new(Source::Native, service.name, tools);
    service.about.clone_into(&mut listing.description);
    listing
}

/// `None` only for a tool without a name, which the data does not hold.
fn descriptor(
    service: &Service,
    entity: &Entity,
    tool: &Tool,
    record: Option<&Arc<Value>>,
) -> Option<ToolDescriptor> {
    let schema = schema::input(tool);
    let mut found = ToolDescriptor::new(Source::Native, service.name, tool.name, schema).ok()?;
    tool.description.clone_into(&mut found.description);
    found.title = tool.options.title.map(str::to_owned);
    found.output_schema = record.map(|record| schema::output(tool, entity, record));
    found.annotations = annotations(tool);
    Some(found)
}

fn annotations(tool: &Tool) -> Annotations {
    let mut hints = Annotations::default();
    hints.read_only_hint = Some(tool.op.reads());
    hints.open_world_hint = Some(false);
    if !tool.op.reads() {
        hints.destructive_hint = Some(tool.op == Op::Delete || tool.options.destructive);
        hints.idempotent_hint = Some(matches!(tool.op, Op::Update | Op::Set));
    }
    hints
}
