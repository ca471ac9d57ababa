//! Operations that change records. Each works on a copy and puts it back only when nothing failed.

use serde_json::{Value, json};

use crate::field::{Field, Kind, Range};
use crate::near::clip;
use crate::number::{from_f64, tidy};
use crate::plan::Role;
use crate::reads::equals;
use crate::run::Run;
use crate::store::{Failure, MAX_ITEMS, Record, blank};

impl Run<'_> {
    pub(crate) fn create(&mut self) -> Result<Value, Failure> {
        let mut record = blank(self.entity);
        self.apply(&mut record);
        complete(&self.entity.fields, &mut record, &self.now);
        self.store
            .insert(self.entity, record, &self.now)
            .map(Value::Object)
    }

    pub(crate) fn update(&mut self) -> Result<Value, Failure> {
        let changes = |role| matches!(role, Role::Field(_));
        if !self.given().any(|(param, _)| changes(param.role)) {
            let fields = self.tool.params.iter().filter(|param| changes(param.role));
            let names: Vec<&str> = fields.map(|param| &*param.name).collect();
            return Err(Failure(format!(
                "give at least one of {}",
                names.join(", ")
            )));
        }
        self.set()
    }

    pub(crate) fn set(&mut self) -> Result<Value, Failure> {
        let mut record = self.ready()?;
        self.apply(&mut record);
        self.put(record)
    }

    pub(crate) fn set_many(&mut self) -> Result<Value, Failure> {
        let ids = self
            .arg(Role::Ids)
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let (mut changed, mut missing) = (Vec::new(), Vec::new());
        for id in ids.iter().filter_map(Value::as_str) {
            let Some(mut record) = self.store.get(self.entity, id).cloned() else {
                missing.push(id);
                continue;
            };
            self.apply(&mut record);
            changed.push(self.put(record)?);
        }
        match (changed.is_empty(), missing.first()) {
            (true, Some(id)) => Err(self.unknown(self.entity, id)),
            _ => Ok(json!({self.entity.plural: changed, "not_found": missing})),
        }
    }

    pub(crate) fn append(&mut self) -> Result<Value, Failure> {
        let mut record = self.ready()?;
        let field = self.field()?;
        let element = match self.arg(Role::Item) {
            Some(item) => item.clone(),
            None => self.element(field),
        };
        let plain = !element.is_object();
        let list = record
            .entry(field.name)
            .or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(items) = list {
            if items.len() >= MAX_ITEMS {
                let name = field.name;
                return Err(Failure(format!(
                    "`{name}` holds {MAX_ITEMS} elements, which is all"
                )));
            }
            // A label or a member is there once or not at all.
            if !(plain && items.contains(&element)) {
                items.push(element);
            }
        }
        self.apply(&mut record);
        self.put(record)
    }

    /// The object that the arguments describe.
    fn element(&self, field: &Field) -> Value {
        let Kind::List(element) = &field.kind else {
            return Value::Null;
        };
        let Kind::Object(parts) = &**element else {
            return Value::Null;
        };
        let mut object = Record::new();
        for (param, value) in self.given() {
            if param.role == Role::Part {
                object.insert(param.name.to_string(), value.clone());
            }
        }
        fill(parts, &mut object, &self.now);
        Value::Object(object)
    }

    pub(crate) fn take_out(&mut self) -> Result<Value, Failure> {
        let mut record = self.ready()?;
        let field = self.field()?;
        let wanted = self.arg(Role::Key).cloned().unwrap_or_default();
        let key = self.tool.options.r#match;
        let has = |item: &Value| match key {
            Some(key) => equals(item.get(key), &wanted),
            None => equals(Some(item), &wanted),
        };
        let place = record.get(field.name).and_then(Value::as_array);
        let place = place.and_then(|items| items.iter().position(has));
        let (Some(place), Some(Value::Array(items))) = (place, record.get_mut(field.name)) else {
            let shown = wanted
                .as_str()
                .map_or_else(|| wanted.to_string(), str::to_owned);
            let (id, name) = (self.id(), field.name);
            return Err(Failure(format!(
                "`{name}` of {id} does not hold `{}`",
                clip(&shown)
            )));
        };
        items.remove(place);
        self.apply(&mut record);
        self.put(record)
    }

    pub(crate) fn increment(&mut self) -> Result<Value, Failure> {
        let mut record = self.ready()?;
        let (options, field) = (&self.tool.options, self.field()?);
        let amount = self
            .arg(Role::Amount)
            .and_then(Value::as_f64)
            .unwrap_or(1.0);
        let sign = f64::from(options.sign.unwrap_or(1));
        let before = record
            .get(field.name)
            .and_then(Value::as_f64)
            .unwrap_or(0.0);
        let after = tidy(before + sign * amount);
        let range = match field.kind {
            Kind::Int(range) | Kind::Num(range) => range,
            _ => Range::default(),
        };
        let cap = options.cap.and_then(|name| record.get(name)?.as_f64());
        let min = options.min.or(range.min);
        let max = [cap, range.max].into_iter().flatten().reduce(f64::min);
        let refused = |limit: f64, word: &str| {
            let name = field.name;
            Failure(format!(
                "`{name}` is {before} and would become {after}; {word} {limit}"
            ))
        };
        match (min, max) {
            (Some(min), _) if after < min => return Err(refused(min, "the least is")),
            (_, Some(max)) if after > max => return Err(refused(max, "the most is")),
            _ if !after.is_finite() => return Err(refused(f64::MAX, "the most is")),
            _ => {}
        }
        record.insert(field.name.to_owned(), from_f64(after));
        self.apply(&mut record);
        self.put(record)
    }

    pub(crate) fn copy(&mut self) -> Result<Value, Failure> {
        let mut record = self.ready()?;
        let fresh = blank(self.entity);
        for field in self.entity.fields.iter().filter(|field| field.read_only) {
            match fresh.get(field.name) {
                Some(value) => record.insert(field.name.to_owned(), value.clone()),
                None => record.shift_remove(field.name),
            };
        }
        self.apply(&mut record);
        self.store
            .insert(self.entity, record, &self.now)
            .map(Value::Object)
    }

    pub(crate) fn delete(&mut self) -> Result<Value, Failure> {
        self.ready()?;
        let id = self.id().to_owned();
        let deleted = self.store.remove(self.entity, &id);
        Ok(json!({"id": id, "deleted": deleted}))
    }

    /// The record of the call, if it is in a state that the tool accepts.
    fn ready(&mut self) -> Result<Record, Failure> {
        let record = self.record()?;
        for (field, accepted) in &self.tool.options.from.0 {
            let value = record.get(*field).unwrap_or(&Value::Null);
            if !accepted.contains(value) {
                let wanted: Vec<String> = accepted.iter().map(ToString::to_string).collect();
                let (id, name) = (self.id(), self.tool.name);
                let wanted = wanted.join(" or ");
                return Err(Failure(format!(
                    "{id} has {field} {value}; {name} works only where it is {wanted}"
                )));
            }
        }
        Ok(record)
    }

    fn field(&self) -> Result<&'static Field, Failure> {
        let name = self.tool.options.field.unwrap_or_default();
        self.entity.field(name).map_err(Failure)
    }

    /// Writes the fixed values of the tool, then the fields that the caller gave.
    fn apply(&self, record: &mut Record) {
        let options = &self.tool.options;
        let fixed: Vec<(&str, Value)> = options
            .set
            .0
            .iter()
            .map(|(name, value)| (*name, self.resolve(value, record)))
            .collect();
        let given = self.given().filter_map(|(param, value)| match param.role {
            Role::Field(name) => Some((name, value.clone())),
            _ => None,
        });
        for (name, value) in fixed.into_iter().chain(given) {
            match value {
                Value::Null => record.shift_remove(name),
                value => record.insert(name.to_owned(), value),
            };
        }
    }

    fn resolve(&self, value: &Value, record: &Record) -> Value {
        let Some(text) = value.as_str() else {
            return value.clone();
        };
        if text == "$now" {
            return Value::from(self.now.as_str());
        }
        let known = match (text.strip_prefix("$."), text.strip_prefix("$arg.")) {
            (Some(field), _) => record.get(field),
            (_, Some(param)) => self.args.get(param),
            _ => return value.clone(),
        };
        known.cloned().unwrap_or_default()
    }

    fn put(&mut self, record: Record) -> Result<Value, Failure> {
        self.store
            .replace(self.entity, record, &self.now)
            .map(Value::Object)
    }
}

/// Fills objects inside a new record, so that they are alike however they came in.
fn complete(fields: &[Field], record: &mut Record, now: &str) {
    for field in fields {
        match (&field.kind, record.get_mut(field.name)) {
            (Kind::Object(parts), Some(Value::Object(object))) => fill(parts, object, now),
            (Kind::List(element), Some(Value::Array(items))) => {
                if let Kind::Object(parts) = &**element {
                    for item in items.iter_mut().filter_map(Value::as_object_mut) {
                        fill(parts, item, now);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Adds defaults and times to an object.
fn fill(parts: &[Field], object: &mut Record, now: &str) {
    for part in parts.iter().filter(|part| !part.is_nested()) {
        if object.contains_key(part.name) {
            continue;
        }
        if let Some(default) = &part.default {
            object.insert(part.name.to_owned(), default.clone());
        } else if part.read_only && matches!(part.kind, Kind::Time) {
            object.insert(part.name.to_owned(), Value::from(now));
        }
    }
}
