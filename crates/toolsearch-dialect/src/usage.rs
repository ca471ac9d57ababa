//! Adding up what several turns used.

use serde_json::{Map, Value};

/// How deep a usage object is added up.
const MAX_DEPTH: usize = 8;

/// Adds every number of `more` to the number in the same place of `total`; what is no number is taken
/// from `more` where it says something.
pub fn add_usage(total: &mut Value, more: &Value) {
    add(total, more, MAX_DEPTH);
}

fn add(total: &mut Value, more: &Value, depth: usize) {
    match (&mut *total, more) {
        (_, Value::Null) => {}
        (Value::Null, more) => *total = more.clone(),
        (Value::Object(total), Value::Object(more)) if depth > 0 => members(total, more, depth),
        (Value::Number(have), Value::Number(add)) => {
            let sum = match (have.as_u64(), add.as_u64()) {
                (Some(a), Some(b)) => Some(Value::from(a.saturating_add(b))),
                _ => have
                    .as_f64()
                    .zip(add.as_f64())
                    .map(|(a, b)| Value::from(a + b)),
            };
            *total = sum.unwrap_or_else(|| more.clone());
        }
        (_, more) => *total = more.clone(),
    }
}

fn members(total: &mut Map<String, Value>, more: &Map<String, Value>, depth: usize) {
    for (key, value) in more {
        match total.get_mut(key) {
            Some(place) => add(place, value, depth - 1),
            None => {
                total.insert(key.clone(), value.clone());
            }
        }
    }
}
