//! What sessions with equal catalogs share: the catalog, its index, and per tool the card and the
//! compiled schemas, each made when first needed.

use std::sync::{Arc, OnceLock};

use once_cell::sync::OnceCell;
use toolsearch_catalog::{Catalog, ToolDescriptor};
use toolsearch_mode::{Card, OwnerNote};
use toolsearch_schema::arguments::Validator;
use toolsearch_search::Index;

/// A schema that was looked at: compiled, or known not to compile.
type Compiled = OnceCell<Option<Arc<Validator>>>;

#[derive(Debug, Default)]
struct Lazy {
    card: OnceLock<Arc<Card>>,
    input: Compiled,
    output: Compiled,
}

/// An immutable catalog with everything that is derived from it once.
#[derive(Debug)]
pub struct Snapshot {
    pub(crate) catalog: Catalog,
    pub(crate) index: Arc<dyn Index>,
    pub(crate) owners: Vec<OwnerNote>,
    lazy: Vec<Lazy>,
    direct_bytes: OnceLock<usize>,
}

impl Snapshot {
    pub(crate) fn new(catalog: Catalog, index: Arc<dyn Index>) -> Self {
        let owners = OwnerNote::of(&catalog);
        let lazy = catalog.entries().iter().map(|_| Lazy::default()).collect();
        Self {
            catalog,
            index,
            owners,
            lazy,
            direct_bytes: OnceLock::new(),
        }
    }

    /// The searchable tools.
    #[must_use]
    pub const fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// The compact form of the tool at a place of the catalog.
    pub(crate) fn card(&self, at: usize) -> Arc<Card> {
        let make = || Arc::new(Card::of(&self.catalog.entries()[at]));
        Arc::clone(self.lazy[at].card.get_or_init(make))
    }

    /// The compact form of any tool; made anew for one that is not in the catalog.
    pub(crate) fn card_of(&self, tool: &ToolDescriptor) -> Arc<Card> {
        match self.catalog.position(&tool.id) {
            Some(at) => self.card(at),
            None => Arc::new(Card::of(tool)),
        }
    }

    /// The compiled input schema, or nothing where it does not compile.
    pub(crate) fn input_validator(&self, tool: &ToolDescriptor) -> Option<Arc<Validator>> {
        let compile = || Validator::compile(&tool.input_schema).ok().map(Arc::new);
        match self.catalog.position(&tool.id) {
            Some(at) => self.lazy[at].input.get_or_init(compile).clone(),
            None => compile(),
        }
    }

    /// The compiled output schema, where one is declared and compiles.
    pub(crate) fn output_validator(&self, tool: &ToolDescriptor) -> Option<Arc<Validator>> {
        let schema = tool.output_schema.as_deref()?;
        let compile = || Validator::compile_value(schema).ok().map(Arc::new);
        match self.catalog.position(&tool.id) {
            Some(at) => self.lazy[at].output.get_or_init(compile).clone(),
            None => compile(),
        }
    }

    /// Bytes of all searchable tools as direct exposure would declare them.
    pub(crate) fn direct_bytes(&self) -> usize {
        *self
            .direct_bytes
            .get_or_init(|| direct_bytes(self.catalog.entries()))
    }
}

/// Bytes of tools as direct exposure would declare them, brackets and commas included.
pub(crate) fn direct_bytes(tools: &[Arc<ToolDescriptor>]) -> usize {
    tools
        .iter()
        .map(|tool| tool.direct_bytes() + 1)
        .sum::<usize>()
        + 1
}
