//! Operations that only look: list, search, find, count, sum, one field.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::field::Kind;
use crate::near::{clip, nearest};
use crate::number::{from_f64, tidy};
use crate::plan::Role;
use crate::run::Run;
use crate::spec::Op;
use crate::store::{DEFAULT_PAGE, Failure, MAX_REPLY_BYTES, Record, size_of};

/// Words of a query that count.
const MAX_QUERY_WORDS: usize = 16;

impl Run<'_> {
    pub(crate) fn one_field(&mut self) -> Result<Value, Failure> {
        let mut record = self.record()?;
        let name = self.tool.options.field.unwrap_or_default();
        let value = record
            .remove(name)
            .unwrap_or_else(|| Value::Array(Vec::new()));
        Ok(json!({"id": record.get("id"), name: value}))
    }

    pub(crate) fn find(&mut self) -> Result<Value, Failure> {
        let matches = self.matching();
        let found = if self.tool.options.last {
            matches.last()
        } else {
            matches.first()
        };
        if let Some(record) = found {
            return Ok(Value::Object(record.clone()));
        }
        let field = self.tool.options.by.first().copied().unwrap_or_default();
        let asked = self
            .arg(Role::Equals(field))
            .and_then(Value::as_str)
            .unwrap_or_default();
        let asked = asked.to_owned();
        let known = self.store.records(self.entity).iter();
        let known = known.filter_map(|record| record.get(field)?.as_str());
        let mut near = nearest(&asked, known, 6);
        near.dedup();
        near.truncate(3);
        let (words, near) = (self.entity.words(), near.join(", "));
        Err(Failure(format!(
            "there is no {words} with {field} `{}`; near: {near}",
            clip(&asked)
        )))
    }

    pub(crate) fn list(&mut self) -> Result<Value, Failure> {
        let mut records = self.matching();
        if let Some(field) = self.arg(Role::SortBy).and_then(Value::as_str) {
            let rank = |record: &Record| self.rank(field, record.get(field));
            records.sort_by(|a, b| {
                rank(a)
                    .cmp(&rank(b))
                    .then(compare(a.get(field), b.get(field)))
            });
        }
        if self.arg(Role::Order).and_then(Value::as_str) == Some("desc") {
            records.reverse();
        }
        Ok(self.page(records))
    }

    pub(crate) fn search(&mut self) -> Result<Value, Failure> {
        let query = self
            .arg(Role::Query)
            .and_then(Value::as_str)
            .unwrap_or_default();
        let words: Vec<String> = query
            .split(|c: char| !c.is_alphanumeric())
            .filter(|word| !word.is_empty())
            .take(MAX_QUERY_WORDS)
            .map(str::to_lowercase)
            .collect();
        if words.is_empty() {
            return Err(Failure("`query` holds no word to look for".to_owned()));
        }
        let mut scored: Vec<(usize, Record)> = self
            .matching()
            .into_iter()
            .map(|record| (self.score(&record, &words), record))
            .filter(|(score, _)| *score > 0)
            .collect();
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        Ok(self.page(scored.into_iter().map(|(_, record)| record).collect()))
    }

    /// How many of the words occur; a word in the first field of the entity counts threefold.
    fn score(&self, record: &Record, words: &[String]) -> usize {
        let mut texts = self
            .entity
            .fields
            .iter()
            .filter(|field| searchable(&field.kind));
        let lead = texts
            .next()
            .map(|field| text_of(record.get(field.name)))
            .unwrap_or_default();
        let rest: String = texts.map(|field| text_of(record.get(field.name))).collect();
        let weight = |word: &String| match (lead.contains(word), rest.contains(word)) {
            (true, _) => 3,
            (false, true) => 1,
            (false, false) => 0,
        };
        words.iter().map(weight).sum()
    }

    pub(crate) fn count(&mut self) -> Value {
        let records = self.matching();
        let groups = self.groups(&records, None);
        json!({"count": records.len(), "groups": groups})
    }

    pub(crate) fn sum(&mut self) -> Value {
        let records = self.matching();
        let field = self.tool.options.field.unwrap_or_default();
        let groups = self.groups(&records, Some(field));
        json!({"total": total(&records, field), "count": records.len(), "groups": groups})
    }

    /// Numbers per value of the field that the result is split by.
    fn groups(&self, records: &[Record], sum: Option<&str>) -> Vec<Value> {
        let chosen = self.arg(Role::GroupBy).and_then(Value::as_str);
        let group = match (chosen, &self.tool.options.group.0[..]) {
            (Some(field), _) => field,
            (None, [only]) => only,
            _ => return Vec::new(),
        };
        let mut groups: BTreeMap<String, Vec<Record>> = BTreeMap::new();
        for record in records {
            let values = match record.get(group) {
                Some(Value::Array(values)) => values.iter().map(plain).collect(),
                Some(value) => vec![plain(value)],
                None => vec!["none".to_owned()],
            };
            for value in values {
                groups.entry(value).or_default().push(record.clone());
            }
        }
        let line = |(value, records): (String, Vec<Record>)| match sum {
            Some(field) => json!({group: value, "total": total(&records, field),
                "count": records.len()}),
            None => json!({group: value, "count": records.len()}),
        };
        groups.into_iter().map(line).collect()
    }

    /// The records that pass every filter, in the order in which they were made.
    fn matching(&mut self) -> Vec<Record> {
        let records = self.store.records(self.entity).to_vec();
        let fixed = &self.tool.options.r#where.0;
        let keep = |record: &Record| {
            fixed
                .iter()
                .all(|(field, wanted)| equals(record.get(*field), wanted))
                && self.given().all(|(param, wanted)| match param.role {
                    Role::Equals(field) => equals(record.get(field), wanted),
                    Role::AtLeast(field) => bounded(record.get(field), wanted, Ordering::Less),
                    Role::AtMost(field) => bounded(record.get(field), wanted, Ordering::Greater),
                    _ => true,
                })
        };
        records.into_iter().filter(keep).collect()
    }

    /// Choices sort in the order in which they are declared.
    fn rank(&self, field: &str, value: Option<&Value>) -> usize {
        match self.entity.field(field).map(|field| &field.kind) {
            Ok(Kind::Choice(options)) => {
                let text = value.and_then(Value::as_str).unwrap_or_default();
                options
                    .iter()
                    .position(|option| *option == text)
                    .unwrap_or(options.len())
            }
            _ => 0,
        }
    }

    fn page(&self, records: Vec<Record>) -> Value {
        let number = |role, default: u32| {
            let given = self
                .arg(role)
                .and_then(Value::as_f64)
                .unwrap_or(f64::from(default));
            // The check bounded it to small whole numbers.
            usize::try_from(from_f64(given).as_u64().unwrap_or(0)).unwrap_or(usize::MAX)
        };
        let (limit, offset) = (number(Role::Limit, DEFAULT_PAGE), number(Role::Offset, 0));
        let total = records.len();
        let mut bytes = 0;
        let fits = |record: &Record| {
            bytes += size_of(record);
            bytes <= MAX_REPLY_BYTES
        };
        let page: Vec<Value> = records
            .into_iter()
            .skip(offset)
            .take(limit)
            .take_while(fits)
            .map(Value::Object)
            .collect();
        let has_more = self.tool.op == Op::List && offset + page.len() < total
            || self.tool.op == Op::Search && page.len() < total;
        let mut reply = Map::new();
        reply.insert(self.entity.plural.to_owned(), Value::Array(page));
        reply.insert("total".to_owned(), Value::from(total));
        reply.insert("has_more".to_owned(), Value::Bool(has_more));
        Value::Object(reply)
    }
}

const fn searchable(kind: &Kind) -> bool {
    matches!(
        kind,
        Kind::Text | Kind::Email | Kind::Url | Kind::Choice(_) | Kind::List(_) | Kind::Object(_)
    )
}

/// All text of a value in lower case.
fn text_of(value: Option<&Value>) -> String {
    let mut text = String::new();
    if let Some(value) = value {
        gather(value, &mut text);
    }
    text
}

fn gather(value: &Value, text: &mut String) {
    match value {
        Value::String(part) => {
            text.extend(part.chars().flat_map(char::to_lowercase));
            text.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, text)),
        Value::Object(map) => map.values().for_each(|item| gather(item, text)),
        _ => {}
    }
}

/// Whether a field has a value or holds it in its list. Texts are compared without regard to case.
pub(crate) fn equals(field: Option<&Value>, wanted: &Value) -> bool {
    match (field, wanted) {
        (Some(Value::Array(items)), _) => items.iter().any(|item| equals(Some(item), wanted)),
        (Some(Value::String(a)), Value::String(b)) => a.to_lowercase() == b.to_lowercase(),
        (Some(Value::Number(a)), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Some(value), _) => value == wanted,
        (None, _) => wanted.is_null(),
    }
}

/// Whether a field has a value that is not beyond the bound. A bound that is only a date holds for
/// its whole day.
fn bounded(field: Option<&Value>, bound: &Value, beyond: Ordering) -> bool {
    match (field, bound) {
        (Some(Value::String(text)), Value::String(bound)) => {
            let text = text.get(..bound.len()).unwrap_or(text);
            text.cmp(bound) != beyond
        }
        (Some(Value::Number(_)), Value::Number(_)) => compare(field, Some(bound)) != beyond,
        _ => false,
    }
}

fn compare(a: Option<&Value>, b: Option<&Value>) -> Ordering {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => a
            .as_f64()
            .unwrap_or(0.0)
            .total_cmp(&b.as_f64().unwrap_or(0.0)),
        (Some(Value::String(a)), Some(Value::String(b))) => a.cmp(b),
        // Records without the field come last.
        _ => b.is_some().cmp(&a.is_some()),
    }
}

fn total(records: &[Record], field: &str) -> Value {
    let numbers = records
        .iter()
        .filter_map(|record| record.get(field)?.as_f64());
    from_f64(tidy(numbers.sum()))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
