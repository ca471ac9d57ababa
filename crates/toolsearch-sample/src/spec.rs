//! The shape of the data files. Names and descriptions are borrowed from the embedded text, so they
//! hold no JSON escapes; what they mean is worked out in `plan`.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::field::FieldSpec;

/// The embedded data, one file a group of services.
const FILES: [&str; 7] = [
    include_str!("../data/development.json"),
    include_str!("../data/operations.json"),
    include_str!("../data/work.json"),
    include_str!("../data/communication.json"),
    include_str!("../data/business.json"),
    include_str!("../data/finance.json"),
    include_str!("../data/life.json"),
];

/// Reads every data file.
pub(crate) fn read() -> Result<Vec<ServiceSpec>, serde_json::Error> {
    let mut services = Vec::new();
    for file in FILES {
        services.append(&mut serde_json::from_str::<Vec<ServiceSpec>>(file)?);
    }
    Ok(services)
}

/// A JSON object as pairs in their order.
#[derive(Debug)]
pub(crate) struct Pairs<V>(pub(crate) Vec<(&'static str, V)>);

impl<V> Default for Pairs<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

/// How the names of parameters are written that the crate itself adds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Style {
    #[default]
    Snake,
    Camel,
}

/// One service: an owner of tools.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServiceSpec {
    pub(crate) service: &'static str,
    pub(crate) about: &'static str,
    #[serde(default)]
    pub(crate) style: Style,
    /// Whether its tools declare output schemas.
    #[serde(default)]
    pub(crate) outputs: bool,
    pub(crate) entities: Vec<EntitySpec>,
}

/// One kind of record with its tools.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EntitySpec {
    pub(crate) name: &'static str,
    pub(crate) plural: &'static str,
    /// A prefix in capitals for numbered ids, or the field that is the id.
    pub(crate) id: &'static str,
    /// The parameter that takes an id.
    pub(crate) param: &'static str,
    pub(crate) fields: Pairs<FieldSpec>,
    pub(crate) seed: Vec<Map<String, Value>>,
    pub(crate) tools: Pairs<ToolSpec>,
}

/// One tool, written as `[operation, description, options?]`.
#[derive(Debug, Deserialize)]
pub(crate) struct ToolSpec {
    pub(crate) op: Op,
    pub(crate) description: &'static str,
    #[serde(default)]
    pub(crate) options: Options,
}

/// What a tool does with the records of its entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Op {
    Create,
    Get,
    /// One list field of a record.
    Field,
    /// The one record with given field values.
    Find,
    List,
    Search,
    Count,
    Sum,
    Update,
    /// Moves a record from one state to another.
    Set,
    /// Adds to a list field: a label, a comment, a link to another record.
    Append,
    Remove,
    Increment,
    Copy,
    Delete,
}

impl Op {
    /// Whether it only looks.
    pub(crate) const fn reads(self) -> bool {
        matches!(
            self,
            Self::Get
                | Self::Field
                | Self::Find
                | Self::List
                | Self::Search
                | Self::Count
                | Self::Sum
        )
    }
}

/// Everything that refines an operation.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Options {
    #[serde(borrow)]
    pub(crate) title: Option<&'static str>,
    /// Fields to filter by.
    pub(crate) by: Vec<&'static str>,
    /// A filter that always holds.
    pub(crate) r#where: Pairs<Value>,
    /// Fields to sort by.
    pub(crate) sort: Vec<&'static str>,
    /// Fields that may be given.
    pub(crate) take: Option<Vec<&'static str>>,
    /// Fields that must be given.
    pub(crate) need: Vec<&'static str>,
    /// Values that the tool writes: plain, `$now`, `$.field` or `$arg.parameter`.
    pub(crate) set: Pairs<Value>,
    /// Values that the record must have before.
    pub(crate) from: Pairs<Vec<Value>>,
    /// The field that is summed, counted up, or added to.
    pub(crate) field: Option<&'static str>,
    /// The name of the parameter for what is added.
    pub(crate) r#as: Option<&'static str>,
    /// The description of that parameter.
    pub(crate) about: Option<&'static str>,
    /// Key of the list element that `remove` takes out.
    pub(crate) r#match: Option<&'static str>,
    /// 1 counts up, -1 down.
    pub(crate) sign: Option<i8>,
    /// Counts by one and takes no amount.
    pub(crate) by_one: bool,
    /// Least value after counting.
    pub(crate) min: Option<f64>,
    /// Field that holds the greatest value.
    pub(crate) cap: Option<&'static str>,
    /// Fields to group by; with several the caller chooses.
    pub(crate) group: OneOrMany,
    /// Works on several ids at once.
    pub(crate) many: bool,
    /// The newest match instead of the oldest.
    pub(crate) last: bool,
    pub(crate) destructive: bool,
}

/// One name or a list of them.
#[derive(Debug, Default)]
pub(crate) struct OneOrMany(pub(crate) Vec<&'static str>);

impl Deserialize<'static> for OneOrMany {
    fn deserialize<D: Deserializer<'static>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl Visitor<'static> for Reader {
            type Value = OneOrMany;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name or a list of names")
            }

            fn visit_borrowed_str<E: Error>(self, name: &'static str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![name]))
            }

            fn visit_seq<A: SeqAccess<'static>>(self, mut seq: A) -> Result<OneOrMany, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = seq.next_element()? {
                    names.push(name);
                }
                Ok(OneOrMany(names))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

impl<V: Deserialize<'static>> Deserialize<'static> for Pairs<V> {
    fn deserialize<D: Deserializer<'static>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<V>(PhantomData<V>);
        impl<V: Deserialize<'static>> Visitor<'static> for Reader<V> {
            type Value = Pairs<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'static>>(self, mut map: A) -> Result<Pairs<V>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}
