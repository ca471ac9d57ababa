//! Tools and queries in memory. Not here: where they come from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toolsearch_catalog::{Catalog, ToolId};

/// A catalog, and the names under which queries mean its tools.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tools {
    /// The tools.
    pub catalog: Catalog,
    /// Rows that could not be read as a tool.
    pub skipped: usize,
    places: BTreeMap<String, usize>,
}

impl Tools {
    /// A catalog with further names for places in it.
    #[must_use]
    pub fn new(catalog: Catalog, names: BTreeMap<String, usize>, skipped: usize) -> Self {
        Self {
            catalog,
            skipped,
            places: names,
        }
    }

    /// A catalog without further names.
    #[must_use]
    pub fn of(catalog: Catalog) -> Self {
        Self::new(catalog, BTreeMap::new(), 0)
    }

    /// The place in the catalog that a relevance label means: the id of its row, its catalog id, or
    /// its owner and name with a slash between.
    #[must_use]
    pub fn place(&self, label: &str) -> Option<usize> {
        self.places.get(label).copied().or_else(|| {
            let tool = self.catalog.resolve(label).ok()?;
            self.catalog.position(&tool.id)
        })
    }
}

/// One query and what it should find.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Query {
    /// As asked.
    pub text: String,
    /// Labels of the tools that answer it; none means that nothing fits.
    pub relevant: Vec<String>,
    /// The set it counts for.
    pub dataset: Option<String>,
    /// Its language as a short code.
    pub language: Option<String>,
    /// How it is phrased.
    pub style: Option<String>,
}

/// Queries about one catalog.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DataSet {
    /// The name of queries that do not name their set themselves.
    pub name: String,
    /// What is searched.
    pub tools: Arc<Tools>,
    /// What is asked.
    pub queries: Vec<Query>,
    /// Whether queries of different styles are counted apart, as `name/style`.
    pub by_style: bool,
}

impl DataSet {
    /// Queries about a catalog, counted by the set and language that they name.
    #[must_use]
    pub fn new(name: impl Into<String>, tools: Arc<Tools>, queries: Vec<Query>) -> Self {
        Self {
            name: name.into(),
            tools,
            queries,
            by_style: false,
        }
    }

    /// The same questions about a larger catalog: tools of `others`, taken evenly over all of them, are added
    /// until it has `size` tools. Tools that this set has already, by label or by id, are passed over. What is
    /// relevant stays as it is, so an equal tool of another owner counts as a miss: the result is a lower
    /// bound.
    #[must_use]
    pub fn grown(&self, others: &[Tools], size: usize) -> Self {
        let own = &self.tools.catalog;
        let mut taken: BTreeSet<&ToolId> = own.entries().iter().map(|tool| &tool.id).collect();
        let mut more = Vec::new();
        for other in others {
            let labels = other.places.iter();
            let known = labels.filter(|(label, _)| self.tools.places.contains_key(*label));
            let known: BTreeSet<usize> = known.map(|(_, place)| *place).collect();
            let tools = other.catalog.entries().iter().enumerate();
            let fresh =
                tools.filter(|(place, tool)| !known.contains(place) && taken.insert(&tool.id));
            more.extend(fresh.map(|(_, tool)| Arc::clone(tool)));
        }
        let wanted = size.saturating_sub(own.len()).min(more.len());
        let spread = (0..wanted).map(|at| Arc::clone(&more[at * more.len() / wanted]));
        let tools: Vec<_> = own.entries().iter().cloned().chain(spread).collect();
        let catalog: Catalog = tools.into_iter().collect();
        let moved = |(label, place): (&String, &usize)| {
            let id = &own.entries()[*place].id;
            Some((label.clone(), catalog.position(id)?))
        };
        let names = self.tools.places.iter().filter_map(moved).collect();
        let mut grown = self.clone();
        grown.name = format!("{}@{}", self.name, catalog.len());
        grown.tools = Arc::new(Tools::new(catalog, names, self.tools.skipped));
        for query in &mut grown.queries {
            query.dataset = None;
        }
        grown
    }

    /// The row of the report for which a query counts: name and language.
    pub(crate) fn row_of(&self, query: &Query) -> (String, String) {
        let name = query.dataset.as_ref().unwrap_or(&self.name);
        let name = match &query.style {
            Some(style) if self.by_style => format!("{name}/{style}"),
            _ => name.clone(),
        };
        (name, query.language.clone().unwrap_or_default())
    }
}
