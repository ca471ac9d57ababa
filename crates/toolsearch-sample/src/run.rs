//! One call from arguments to result. The operations that look are in `reads`, those that change
//! something in `writes`.

use serde_json::{Map, Value};

use crate::check;
use crate::field::Kind;
use crate::near::{clip, nearest};
use crate::plan::{Entity, Param, Role, Service, Tool};
use crate::spec::Op;
use crate::store::{Failure, Record, Store};

/// One call under way.
pub(crate) struct Run<'a> {
    pub(crate) service: &'static Service,
    pub(crate) entity: &'static Entity,
    pub(crate) tool: &'static Tool,
    pub(crate) args: &'a Map<String, Value>,
    pub(crate) store: &'a mut Store,
    /// The time of a change; empty for a tool that only looks.
    pub(crate) now: String,
}

impl Run<'_> {
    /// Checks the arguments and does the work.
    pub(crate) fn run(mut self) -> Result<Value, Failure> {
        let problems = check::arguments(self.tool, self.args);
        if !problems.is_empty() {
            return Err(Failure(format!(
                "{}: {}",
                self.tool.name,
                problems.join("; ")
            )));
        }
        self.check_references()?;
        if !self.tool.op.reads() {
            self.now = self.store.tick();
        }
        match self.tool.op {
            Op::Get => self.record().map(Value::Object),
            Op::Field => self.one_field(),
            Op::Find => self.find(),
            Op::List => self.list(),
            Op::Search => self.search(),
            Op::Count => Ok(self.count()),
            Op::Sum => Ok(self.sum()),
            Op::Create => self.create(),
            Op::Update => self.update(),
            Op::Set if self.tool.options.many => self.set_many(),
            Op::Set => self.set(),
            Op::Append => self.append(),
            Op::Remove => self.take_out(),
            Op::Increment => self.increment(),
            Op::Copy => self.copy(),
            Op::Delete => self.delete(),
        }
    }

    /// The argument of the parameter in this role.
    pub(crate) fn arg(&self, role: Role) -> Option<&Value> {
        let param = self.tool.params.iter().find(|param| param.role == role)?;
        self.args.get(&*param.name)
    }

    /// Parameters that were given, with their values.
    pub(crate) fn given(&self) -> impl Iterator<Item = (&Param, &Value)> {
        let args = self.args;
        self.tool
            .params
            .iter()
            .filter_map(|param| Some((param, args.get(&*param.name)?)))
    }

    /// The id that the call names.
    pub(crate) fn id(&self) -> &str {
        self.arg(Role::Id)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The record that the call names.
    pub(crate) fn record(&mut self) -> Result<Record, Failure> {
        let id = self.id().to_owned();
        match self.store.get(self.entity, &id) {
            Some(record) => Ok(record.clone()),
            None => Err(self.unknown(self.entity, &id)),
        }
    }

    /// Says that an id is not there, and what is.
    pub(crate) fn unknown(&mut self, entity: &Entity, id: &str) -> Failure {
        let ids = self
            .store
            .records(entity)
            .iter()
            .filter_map(|record| record.get("id")?.as_str());
        let near = nearest(id, ids, 3).join(", ");
        let mut text = format!("there is no {} `{}`", entity.words(), clip(id));
        if !near.is_empty() {
            text.push_str(&format!("; near: {near}"));
        }
        if let Some(lists) = entity.listing_tool() {
            text.push_str(&format!("; `{lists}` shows what there is"));
        }
        Failure(text)
    }

    /// Every id in a field or element that refers to another record has to exist. Filters may name
    /// anything; they then keep nothing.
    fn check_references(&mut self) -> Result<(), Failure> {
        let service = self.service;
        let mut references: Vec<(&Entity, String)> = Vec::new();
        for (param, value) in self.given() {
            let writes = matches!(param.role, Role::Field(_) | Role::Item | Role::Part);
            let target = match &param.kind {
                Kind::Ref(name) => service.entity(name),
                Kind::List(element) => match **element {
                    Kind::Ref(name) => service.entity(name),
                    _ => None,
                },
                _ => None,
            };
            let (true, Some(target)) = (writes, target) else {
                continue;
            };
            let ids = value
                .as_array()
                .map_or(std::slice::from_ref(value), Vec::as_slice);
            for id in ids.iter().filter_map(Value::as_str) {
                if target.slot == self.entity.slot && id == self.id() {
                    let words = target.words();
                    return Err(Failure(format!(
                        "the {words} `{id}` cannot point to itself"
                    )));
                }
                references.push((target, id.to_owned()));
            }
        }
        for (target, id) in references {
            if self.store.get(target, &id).is_none() {
                return Err(self.unknown(target, &id));
            }
        }
        Ok(())
    }
}
