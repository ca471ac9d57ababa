//! What a model is shown: declared tools and prompt text, byte for byte the same for equal inputs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use toolsearch_catalog::{Catalog, Source, ToolDescriptor, ToolId, json_bytes};
use toolsearch_schema::names::{is_provider_name, provider_name, sanitise_label};
use toolsearch_schema::provider::provider_form;

use crate::control::{Control, ControlNames, SearchLimits};

/// Owner of the native tools that the runtime itself adds to a catalog. They can be found and called
/// like any other, but are neither announced nor counted: nobody chose them.
pub const OWN_TOOLS: &str = "toolsearch";

/// Whether a tool is one that the runtime itself added.
#[must_use]
pub fn is_own(tool: &ToolDescriptor) -> bool {
    tool.source() == Source::Native && tool.owner == OWN_TOOLS
}

/// One owner of catalog tools, for hints about what is behind the controls.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct OwnerNote {
    /// The owner's name, safe to print.
    pub name: String,
    /// How many searchable tools it has.
    pub tools: usize,
}

impl OwnerNote {
    /// The owners of a catalog, sorted by name.
    #[must_use]
    pub fn of(catalog: &Catalog) -> Vec<Self> {
        let mut owners: BTreeMap<String, usize> = BTreeMap::new();
        for tool in catalog.entries().iter().filter(|tool| !is_own(tool)) {
            *owners.entry(sanitise_label(&tool.owner, 40)).or_insert(0) += 1;
        }
        owners
            .into_iter()
            .map(|(name, tools)| Self { name, tools })
            .collect()
    }
}

/// What a mode may look at to build a surface. Nothing in it tells whose session it is.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct View<'a> {
    /// The searchable tools.
    pub catalog: &'a Catalog,
    /// Tools that are always visible, sorted by id.
    pub direct: &'a [Arc<ToolDescriptor>],
    /// Catalog tools that are likely needed, most likely first.
    pub likely: &'a [Arc<ToolDescriptor>],
    /// Owners of searchable tools, sorted by name.
    pub owners: &'a [OwnerNote],
    /// What the controls are called.
    pub names: &'a ControlNames,
    /// How much a search may ask for.
    pub limits: &'a SearchLimits,
    /// How long a program may take.
    pub code_timeout: Duration,
    /// The model's context in tokens, when known.
    pub context_tokens: Option<usize>,
}

impl<'a> View<'a> {
    /// A view of a catalog with nothing else in sight.
    #[must_use]
    pub const fn new(
        catalog: &'a Catalog,
        names: &'a ControlNames,
        limits: &'a SearchLimits,
    ) -> Self {
        Self {
            catalog,
            direct: &[],
            likely: &[],
            owners: &[],
            names,
            limits,
            code_timeout: Duration::from_secs(10),
            context_tokens: None,
        }
    }
}

impl View<'_> {
    /// How many searchable tools there are to announce.
    #[must_use]
    pub fn announced(&self) -> usize {
        self.catalog
            .entries()
            .iter()
            .filter(|tool| !is_own(tool))
            .count()
    }
}

/// What a declared tool stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role {
    /// A control.
    Control(Control),
    /// A tool that is always visible.
    Direct(ToolId),
    /// A catalog tool that is shown because it is likely needed.
    Likely(ToolId),
}

/// One declared tool.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SurfaceTool {
    /// The declared name: 1 to 64 of `A-Z a-z 0-9 _ -`, unique in its surface.
    pub name: String,
    /// The declared description.
    pub description: String,
    /// The declared arguments: an object schema that every provider accepts.
    pub input_schema: Value,
    /// Hints about effects, as the owner gave them.
    pub annotations: Option<Value>,
    /// What it stands for.
    pub role: Role,
}

impl SurfaceTool {
    /// Declares a control.
    #[must_use]
    pub fn control(
        control: Control,
        names: &ControlNames,
        description: impl Into<String>,
        input_schema: Value,
    ) -> Self {
        Self {
            name: names.of(control).to_owned(),
            description: description.into(),
            input_schema,
            annotations: None,
            role: Role::Control(control),
        }
    }

    /// Declares a tool, and tells how its schema had to be changed for that.
    fn of(tool: &ToolDescriptor, name: String, role: Role) -> (Self, Vec<String>) {
        let annotations = serde_json::to_value(&tool.annotations).ok();
        let form = provider_form(&tool.input_schema);
        let declared = Self {
            name,
            description: tool.description.clone(),
            input_schema: form.schema,
            annotations: annotations
                .filter(|value| value.as_object().is_some_and(|o| !o.is_empty())),
            role,
        };
        (declared, form.changes)
    }

    /// The tool as providers and MCP clients are sent it: name, description, schema.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut tool = Map::new();
        tool.insert("name".to_owned(), Value::from(self.name.as_str()));
        tool.insert(
            "description".to_owned(),
            Value::from(self.description.as_str()),
        );
        tool.insert("inputSchema".to_owned(), self.input_schema.clone());
        Value::Object(tool)
    }
}

/// Declared tools in a fixed order, and the prompt text that goes with them.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Surface {
    /// Controls, then visible tools sorted by id, then likely ones.
    pub tools: Vec<SurfaceTool>,
    /// Text for the system prompt or a server's instructions; may be empty.
    pub prompt: String,
    /// Visible tools whose declared name differs from their own, as `(id, declared name)`.
    pub renamed: Vec<(ToolId, String)>,
    /// Visible tools whose schema had to be changed into a form that providers accept, with what was
    /// changed. Calls are still checked against the owner's own schema.
    pub mended: Vec<(ToolId, Vec<String>)>,
}

impl Surface {
    /// Puts controls, the view's visible tools and its likely tools together.
    #[must_use]
    pub fn assemble(controls: Vec<SurfaceTool>, view: &View<'_>, prompt: String) -> Self {
        let mut taken: Vec<String> = controls.iter().map(|tool| tool.name.clone()).collect();
        if !controls.is_empty() {
            taken.extend(view.names.all().map(|(_, name)| name.to_owned()));
        }
        let names = visible_names(view.direct.iter().chain(view.likely), &taken);
        let mut surface = Self {
            tools: controls,
            prompt,
            ..Self::default()
        };
        let likely_id = |tool: &Arc<ToolDescriptor>| Role::Likely(tool.id.clone());
        let direct_id = |tool: &Arc<ToolDescriptor>| Role::Direct(tool.id.clone());
        let direct = view.direct.iter().map(|tool| (tool, direct_id(tool)));
        let likely = view
            .likely
            .iter()
            .filter(|tool| !view.direct.iter().any(|direct| direct.id == tool.id));
        for (tool, role) in direct.chain(likely.map(|tool| (tool, likely_id(tool)))) {
            let name = names
                .get(&tool.id)
                .cloned()
                .unwrap_or_else(|| tool.name.clone());
            if name != tool.name {
                surface.renamed.push((tool.id.clone(), name.clone()));
            }
            let (declared, changes) = SurfaceTool::of(tool, name, role);
            if !changes.is_empty() {
                surface.mended.push((tool.id.clone(), changes));
            }
            surface.tools.push(declared);
        }
        surface
    }

    /// What a declared name stands for.
    #[must_use]
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.tools
            .iter()
            .find(|tool| tool.name == name)
            .map(|tool| &tool.role)
    }

    /// Declared tools as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        self.tools.iter().map(SurfaceTool::to_json).collect()
    }

    /// Bytes of the declared tools as serialised.
    #[must_use]
    pub fn tool_bytes(&self) -> usize {
        json_bytes(&self.to_json())
    }
}

/// Declared names: a tool keeps its own name where that is legal, free and unique among the visible
/// tools; otherwise every one of the clashing tools is named with its owner.
fn visible_names<'a>(
    tools: impl Iterator<Item = &'a Arc<ToolDescriptor>>,
    taken: &[String],
) -> BTreeMap<ToolId, String> {
    let tools: BTreeMap<&ToolId, &Arc<ToolDescriptor>> =
        tools.map(|tool| (&tool.id, tool)).collect();
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in tools.values() {
        *uses.entry(tool.name.as_str()).or_insert(0) += 1;
    }
    let keeps = |tool: &ToolDescriptor| {
        is_provider_name(&tool.name)
            && uses.get(tool.name.as_str()) == Some(&1)
            && !taken.contains(&tool.name)
    };
    let mut reserved: Vec<&str> = taken.iter().map(String::as_str).collect();
    let kept: Vec<&Arc<ToolDescriptor>> =
        tools.values().copied().filter(|tool| keeps(tool)).collect();
    reserved.extend(kept.iter().map(|tool| tool.name.as_str()));
    let others: Vec<&Arc<ToolDescriptor>> = tools
        .values()
        .copied()
        .filter(|tool| !keeps(tool))
        .collect();
    let entries = others
        .iter()
        .map(|tool| (tool.id.as_str(), tool.owner.as_str(), tool.name.as_str()));
    let map = toolsearch_schema::names::NameMap::with_reserved(entries, &reserved);
    let own = kept.iter().map(|tool| (tool.id.clone(), tool.name.clone()));
    let other = others.iter().map(|tool| {
        let alias = map.alias(tool.id.as_str()).map(str::to_owned);
        (
            tool.id.clone(),
            alias.unwrap_or_else(|| provider_name(&tool.owner, &tool.name)),
        )
    });
    own.chain(other).collect()
}

/// The owners of a catalog in one line of at most `max_chars`, largest first, with the number left
/// out. Empty without owners.
#[must_use]
pub fn owner_hint(owners: &[OwnerNote], max_chars: usize) -> String {
    let mut by_size: Vec<&OwnerNote> = owners.iter().collect();
    by_size.sort_by(|a, b| b.tools.cmp(&a.tools).then_with(|| a.name.cmp(&b.name)));
    let mut names: Vec<&str> = Vec::new();
    let mut used = 0;
    for owner in by_size {
        let more = owner.name.chars().count() + 2;
        if used + more > max_chars {
            break;
        }
        used += more;
        names.push(&owner.name);
    }
    names.sort_unstable();
    let left = owners.len() - names.len();
    match (names.is_empty(), left) {
        (true, _) => String::new(),
        (false, 0) => names.join(", "),
        (false, left) => format!("{} and {left} more", names.join(", ")),
    }
}
