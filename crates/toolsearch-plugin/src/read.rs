//! Strict reading of JSON objects: every value is taken by its key, what is left over is an error,
//! and the place of a fault is spelled like `tools[2].command`.

use serde_json::{Map, Value};
use toolsearch_schema::names::{clip, nearest};

use crate::error::PluginError;

/// Longest excerpt of a wrong value in a message, in characters.
const MAX_FOUND_CHARS: usize = 60;
const MAX_TEXT_BYTES: usize = 64 * 1024;

/// An object that is being read.
#[derive(Debug)]
pub(crate) struct Fields {
    place: String,
    values: Map<String, Value>,
    known: Vec<&'static str>,
}

impl Fields {
    /// `place` is empty for the outermost object.
    pub(crate) fn new(value: Value, place: &str) -> Result<Self, PluginError> {
        let key = if place.is_empty() { "manifest" } else { place };
        let values = match value {
            Value::Object(values) => values,
            other => return Err(invalid(key.to_owned(), "an object", &other)),
        };
        Ok(Self {
            place: place.to_owned(),
            values,
            known: Vec::new(),
        })
    }

    pub(crate) fn key(&self, name: &str) -> String {
        match self.place.as_str() {
            "" => name.to_owned(),
            place => format!("{place}.{name}"),
        }
    }

    pub(crate) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        self.values.shift_remove(name)
    }

    /// A value that must be there.
    pub(crate) fn required(
        &mut self,
        name: &'static str,
        expected: &'static str,
    ) -> Result<Value, PluginError> {
        let key = self.key(name);
        self.take(name)
            .ok_or(PluginError::Missing { key, expected })
    }

    /// A value that may be missing and is read by `read`, which gives nothing for a wrong one.
    pub(crate) fn optional<T>(
        &mut self,
        name: &'static str,
        expected: &'static str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, PluginError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        match read(&value) {
            Some(read) => Ok(Some(read)),
            None => Err(invalid(self.key(name), expected, &value)),
        }
    }

    /// A text that may be missing.
    pub(crate) fn text(&mut self, name: &'static str) -> Result<Option<String>, PluginError> {
        let expected = "a text of at most 64 KiB";
        let read = |value: &Value| {
            let text = value.as_str().filter(|text| text.len() <= MAX_TEXT_BYTES)?;
            Some(text.to_owned())
        };
        self.optional(name, expected, read)
    }

    /// Fails when a key is left that nobody asked for.
    pub(crate) fn finish(self) -> Result<(), PluginError> {
        let Some(name) = self.values.keys().next() else {
            return Ok(());
        };
        let meant = nearest(name, self.known.iter().copied(), 1);
        Err(PluginError::Unknown {
            key: self.key(&clip(name, MAX_FOUND_CHARS)),
            nearest: meant.first().map(|key| (*key).to_owned()),
        })
    }
}

pub(crate) fn invalid(key: String, expected: &'static str, found: &Value) -> PluginError {
    let found = match found {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => clip(&other.to_string(), MAX_FOUND_CHARS),
    };
    PluginError::Invalid {
        key,
        expected,
        found,
    }
}
