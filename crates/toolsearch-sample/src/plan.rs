//! Services with their tools worked out: which parameters each tool takes and what each parameter
//! stands for. The one list of parameters gives the schema, the check and the run, so they agree.
//! Not here: how a tool runs (`reads`, `writes`).

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::{Map, Value};

use crate::field::{Field, Kind, Range, fields};
use crate::params::params;
use crate::spec::{EntitySpec, Op, Options, ServiceSpec, Style, read};

/// Every service, in the order of the data files.
pub(crate) static SERVICES: LazyLock<Vec<Service>> =
    LazyLock::new(|| load().expect("because the tests read the same embedded data"));

/// Reads the data and works it out.
pub(crate) fn load() -> Result<Vec<Service>, DataError> {
    let mut slot = 0;
    read()?
        .into_iter()
        .map(|spec| Service::new(spec, &mut slot))
        .collect()
}

/// What is wrong with the embedded data.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataError {
    #[error("the data cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Meaning(String),
}

/// An owner of tools.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) outputs: bool,
    pub(crate) entities: Vec<Entity>,
}

/// One kind of record.
#[derive(Debug)]
pub(crate) struct Entity {
    /// Place of its collection in the store.
    pub(crate) slot: usize,
    pub(crate) name: &'static str,
    pub(crate) plural: &'static str,
    pub(crate) id: IdRule,
    pub(crate) param: &'static str,
    pub(crate) fields: Vec<Field>,
    pub(crate) seed: Vec<Map<String, Value>>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) created_at: &'static str,
    pub(crate) updated_at: &'static str,
}

/// Where ids come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum IdRule {
    /// This prefix and a number.
    Numbered(&'static str),
    /// The value of this field.
    Named(&'static str),
}

/// One tool.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) op: Op,
    pub(crate) options: Options,
    pub(crate) params: Vec<Param>,
}

/// One parameter.
#[derive(Debug)]
pub(crate) struct Param {
    pub(crate) name: Cow<'static, str>,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) description: Cow<'static, str>,
    pub(crate) role: Role,
    /// A value that names something which exists at first.
    pub(crate) example: Option<String>,
}

/// What a parameter stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Id,
    Ids,
    /// A new value of this field.
    Field(&'static str),
    /// Keeps records whose field has the value, or has it in its list.
    Equals(&'static str),
    AtLeast(&'static str),
    AtMost(&'static str),
    Limit,
    Offset,
    SortBy,
    Order,
    Query,
    GroupBy,
    /// A plain element of the list field.
    Item,
    /// A part of the object that goes into the list field.
    Part,
    /// The key of the list element to remove.
    Key,
    Amount,
}

impl Service {
    fn new(spec: ServiceSpec, slot: &mut usize) -> Result<Self, DataError> {
        let named = |e| DataError::Meaning(format!("service `{}`: {e}", spec.service));
        let mut entities = Vec::with_capacity(spec.entities.len());
        let mut pending = Vec::with_capacity(spec.entities.len());
        for mut entity in spec.entities {
            pending.push(std::mem::take(&mut entity.tools).0);
            entities.push(Entity::new(entity, *slot, spec.style).map_err(named)?);
            *slot += 1;
        }
        for (at, tools) in pending.into_iter().enumerate() {
            for (name, tool) in tools {
                let params = params(&entities, at, &tool, spec.style)
                    .map_err(|e| named(format!("tool `{name}`: {e}")))?;
                let (op, description, options) = (tool.op, tool.description, tool.options);
                entities[at].tools.push(Tool {
                    name,
                    description,
                    op,
                    options,
                    params,
                });
            }
        }
        Ok(Self {
            name: spec.service,
            about: spec.about,
            outputs: spec.outputs,
            entities,
        })
    }

    /// The entity of a name.
    pub(crate) fn entity(&self, name: &str) -> Option<&Entity> {
        self.entities.iter().find(|entity| entity.name == name)
    }
}

impl Entity {
    fn new(spec: EntitySpec, slot: usize, style: Style) -> Result<Self, String> {
        let mut fields = fields(spec.fields)?;
        let (created_at, updated_at) = match style {
            Style::Snake => ("created_at", "updated_at"),
            Style::Camel => ("createdAt", "updatedAt"),
        };
        fields.push(stamp(created_at, "When the record was made."));
        fields.push(stamp(updated_at, "When the record last changed."));
        let id = match spec.id.chars().all(|c| c.is_ascii_uppercase()) {
            true => IdRule::Numbered(spec.id),
            false => IdRule::Named(spec.id),
        };
        let entity = Self {
            slot,
            name: spec.name,
            plural: spec.plural,
            id,
            param: spec.param,
            fields,
            seed: spec.seed,
            tools: Vec::new(),
            created_at,
            updated_at,
        };
        if let IdRule::Named(field) = id {
            entity.field(field)?;
        }
        Ok(entity)
    }

    /// The field of a name.
    pub(crate) fn field(&self, name: &str) -> Result<&Field, String> {
        let field = self.fields.iter().find(|field| field.name == name);
        field.ok_or_else(|| format!("{} has no field `{name}`", self.name))
    }

    /// The id of the first record that is there at the start.
    pub(crate) fn first_id(&self) -> Option<String> {
        match self.id {
            IdRule::Numbered(prefix) => Some(format!("{prefix}-{}", crate::store::FIRST_NUMBER)),
            IdRule::Named(field) => self.seed.first()?.get(field)?.as_str().map(str::to_owned),
        }
    }

    /// The name of the tool that lists these records, for advice in errors.
    pub(crate) fn listing_tool(&self) -> Option<&'static str> {
        let lists = |op| {
            self.tools
                .iter()
                .find(|tool| tool.op == op)
                .map(|tool| tool.name)
        };
        lists(Op::List).or_else(|| lists(Op::Search))
    }

    /// The name of the entity as words.
    pub(crate) fn words(&self) -> String {
        words(self.name)
    }
}

fn stamp(name: &'static str, description: &'static str) -> Field {
    Field {
        name,
        kind: Kind::Time,
        required: false,
        read_only: true,
        default: None,
        description,
    }
}

/// A name in snake or camel case as lower-case words.
pub(crate) fn words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    for c in name.chars() {
        if c == '_' {
            words.push(' ');
        } else {
            if c.is_uppercase() {
                words.push(' ');
            }
            words.extend(c.to_lowercase());
        }
    }
    words
}

/// A whole number from `min` to `max`.
pub(crate) const fn between(min: u32, max: u32) -> Kind {
    Kind::Int(Range {
        min: Some(min as f64),
        max: Some(max as f64),
    })
}
