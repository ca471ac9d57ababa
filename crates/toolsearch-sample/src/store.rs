//! The bounded memory behind the tools: collections of records, their ids, and a clock that counts
//! changes instead of time, so that the same calls always give the same answers.

use serde_json::{Map, Value};

use crate::plan::{Entity, IdRule};

/// The number in the first id of a collection.
pub(crate) const FIRST_NUMBER: u64 = 1001;
/// Records that one collection may hold.
pub(crate) const MAX_RECORDS: usize = 1000;
/// Elements of one list.
pub(crate) const MAX_ITEMS: usize = 200;
/// Bytes of one text.
pub(crate) const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Bytes of one record.
pub(crate) const MAX_RECORD_BYTES: usize = 128 * 1024;
/// Bytes of all records together.
pub(crate) const MAX_STORE_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of the records in one answer.
pub(crate) const MAX_REPLY_BYTES: usize = 256 * 1024;
/// Ids that one call may name.
pub(crate) const MAX_BATCH: usize = 50;
/// Records on one page, when the caller does not say.
pub(crate) const DEFAULT_PAGE: u32 = 20;
/// Records on one page at most.
pub(crate) const MAX_PAGE: u32 = 100;
/// Bytes of an id that a caller chooses.
const MAX_ID_BYTES: usize = 200;

/// 2026-01-05 08:00 UTC in minutes since 1970: when the first records were made.
const SEED_MINUTE: u64 = 20_458 * 1440 + 8 * 60;
/// An hour later: when the first call happens.
const START_MINUTE: u64 = SEED_MINUTE + 60;

pub(crate) type Record = Map<String, Value>;

/// Why a call failed, in words for its caller.
pub(crate) struct Failure(pub(crate) String);

/// All collections of one sample.
#[derive(Debug, Default)]
pub(crate) struct Store {
    collections: Vec<Option<Collection>>,
    /// Changes so far; each takes a minute of the sample's own time.
    ticks: u64,
    bytes: usize,
}

/// The records of one entity in the order in which they were made.
#[derive(Debug, Default)]
struct Collection {
    records: Vec<Record>,
    issued: u64,
}

impl Store {
    /// The time of the next change.
    pub(crate) fn tick(&mut self) -> String {
        self.ticks = self.ticks.saturating_add(1);
        moment(START_MINUTE.saturating_add(self.ticks))
    }

    /// Every record of an entity.
    pub(crate) fn records(&mut self, entity: &Entity) -> &[Record] {
        &self.collection(entity).records
    }

    /// The record of an id.
    pub(crate) fn get(&mut self, entity: &Entity, id: &str) -> Option<&Record> {
        self.records(entity)
            .iter()
            .find(|record| has_id(record, id))
    }

    /// Takes a new record in and gives it its id.
    pub(crate) fn insert(
        &mut self,
        entity: &Entity,
        mut record: Record,
        now: &str,
    ) -> Result<Record, Failure> {
        let words = entity.words();
        if self.records(entity).len() >= MAX_RECORDS {
            let advice = "delete one first";
            return Err(Failure(format!(
                "there are {MAX_RECORDS} {} already; {advice}",
                words
            )));
        }
        let id = match entity.id {
            IdRule::Numbered(prefix) => {
                let collection = self.collection(entity);
                format!("{prefix}-{}", FIRST_NUMBER + collection.issued)
            }
            IdRule::Named(field) => chosen_id(record.get(field), field)?,
        };
        if self.get(entity, &id).is_some() {
            return Err(Failure(format!(
                "there is a {words} `{id}` already; use another id"
            )));
        }
        stamp(&mut record, &id, entity, now);
        self.grow(0, size_of(&record))?;
        let collection = self.collection(entity);
        collection.issued += 1;
        collection.records.push(record.clone());
        Ok(record)
    }

    /// Puts a changed record in the place of the one with its id.
    pub(crate) fn replace(
        &mut self,
        entity: &Entity,
        mut record: Record,
        now: &str,
    ) -> Result<Record, Failure> {
        record.insert(entity.updated_at.to_owned(), Value::from(now));
        let id = record
            .get("id")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let size = size_of(&record);
        let Some(old) = self.get(entity, &id).map(size_of) else {
            return Err(Failure(format!("`{id}` is gone")));
        };
        self.grow(old, size)?;
        let records = &mut self.collection(entity).records;
        if let Some(place) = records.iter_mut().find(|record| has_id(record, &id)) {
            place.clone_from(&record);
        }
        Ok(record)
    }

    /// Removes a record; false when there was none.
    pub(crate) fn remove(&mut self, entity: &Entity, id: &str) -> bool {
        let records = &mut self.collection(entity).records;
        let Some(place) = records.iter().position(|record| has_id(record, id)) else {
            return false;
        };
        let removed = records.remove(place);
        self.bytes = self.bytes.saturating_sub(size_of(&removed));
        true
    }

    fn grow(&mut self, from: usize, to: usize) -> Result<(), Failure> {
        if to > MAX_RECORD_BYTES {
            return Err(Failure(format!(
                "a record may have {MAX_RECORD_BYTES} bytes, not {to}"
            )));
        }
        let bytes = self.bytes.saturating_sub(from) + to;
        if bytes > MAX_STORE_BYTES {
            return Err(Failure(
                "the sample store is full; delete something first".to_owned(),
            ));
        }
        self.bytes = bytes;
        Ok(())
    }

    fn collection(&mut self, entity: &Entity) -> &mut Collection {
        if self.collections.len() <= entity.slot {
            self.collections.resize_with(entity.slot + 1, || None);
        }
        let place = &mut self.collections[entity.slot];
        if place.is_none() {
            let collection = Collection::seeded(entity);
            self.bytes += collection.records.iter().map(size_of).sum::<usize>();
            *place = Some(collection);
        }
        place.get_or_insert_default()
    }
}

impl Collection {
    fn seeded(entity: &Entity) -> Self {
        let mut collection = Self::default();
        for (seed, minute) in entity.seed.iter().zip(SEED_MINUTE..) {
            let now = moment(minute);
            let mut record = blank(entity);
            for (name, value) in seed {
                record.insert(name.clone(), value.clone());
            }
            let id = match entity.id {
                IdRule::Numbered(prefix) => {
                    format!("{prefix}-{}", FIRST_NUMBER + collection.issued)
                }
                IdRule::Named(field) => seed
                    .get(field)
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .to_owned(),
            };
            stamp(&mut record, &id, entity, &now);
            collection.records.push(record);
            collection.issued += 1;
        }
        collection
    }
}

/// A record of defaults.
pub(crate) fn blank(entity: &Entity) -> Record {
    let mut record = Record::new();
    record.insert("id".to_owned(), Value::Null);
    for field in &entity.fields {
        if let Some(default) = &field.default {
            record.insert(field.name.to_owned(), default.clone());
        }
    }
    record
}

fn stamp(record: &mut Record, id: &str, entity: &Entity, now: &str) {
    record.insert("id".to_owned(), Value::from(id));
    record.insert(entity.created_at.to_owned(), Value::from(now));
    record.insert(entity.updated_at.to_owned(), Value::from(now));
}

fn has_id(record: &Record, id: &str) -> bool {
    record.get("id").and_then(Value::as_str) == Some(id)
}

fn chosen_id(value: Option<&Value>, field: &str) -> Result<String, Failure> {
    let id = value.and_then(Value::as_str).unwrap_or_default();
    let fits = (1..=MAX_ID_BYTES).contains(&id.len()) && !id.chars().any(char::is_control);
    match fits {
        true => Ok(id.to_owned()),
        false => Err(Failure(format!(
            "`{field}` must have 1 to {MAX_ID_BYTES} printable bytes"
        ))),
    }
}

/// About how many bytes a record takes as JSON.
pub(crate) fn size_of(record: &Record) -> usize {
    record
        .iter()
        .map(|(name, value)| name.len() + 4 + value_size(value))
        .sum()
}

/// Values were checked for depth before they came here.
fn value_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| value_size(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => size_of(map) + 2,
        _ => 8,
    }
}

/// Minutes since 1970 as an RFC 3339 time.
fn moment(minute: u64) -> String {
    let (days, minute) = (minute / 1440, minute % 1440);
    let (year, month, day) = date(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:00Z",
        minute / 60,
        minute % 60
    )
}

/// The Gregorian date of a day since 1970, counted in years that begin in March.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let in_month = day - (153 * month + 2) / 5 + 1;
    let calendar_month = if month < 10 { month + 3 } else { month - 9 };
    (
        era * 400 + year + u64::from(calendar_month <= 2),
        calendar_month,
        in_month,
    )
}
