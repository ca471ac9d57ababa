//! Checks of single values: equality, fixed values, numbers, lengths.

use serde_json::{Number, Value};

use crate::number::Decimal;

/// Items compared with one another for uniqueness.
const MAX_UNIQUE: usize = 256;

/// Equality of JSON Schema: numbers by value, objects without order.
pub(super) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b
                || Decimal::of(a)
                    .zip(Decimal::of(b))
                    .is_some_and(|(a, b)| a == b)
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(name, a)| b.get(name).is_some_and(|b| equal(a, b)))
        }
        _ => a == b,
    }
}

/// Whether two items are equal. Longer lists than 256 items are not compared.
pub(super) fn has_repetition(items: &[Value]) -> bool {
    items.len() <= MAX_UNIQUE
        && items
            .iter()
            .enumerate()
            .any(|(index, item)| items[..index].iter().any(|earlier| equal(earlier, item)))
}

/// The bound that a number breaks, in words.
pub(super) fn broken_bound(schema: &Value, number: &Number) -> Option<String> {
    let value = Decimal::of(number)?;
    let limit = |keyword: &str| match schema.get(keyword) {
        Some(Value::Number(limit)) => Some((Decimal::of(limit)?, limit.to_string())),
        _ => None,
    };
    // Draft 4 says with a boolean whether the bound itself is out.
    let strict = |keyword: &str| schema.get(keyword) == Some(&Value::Bool(true));
    if let Some((least, text)) = limit("minimum")
        && (value < least || (strict("exclusiveMinimum") && value == least))
    {
        return Some(format!("a number of at least {text}"));
    }
    if let Some((most, text)) = limit("maximum")
        && (value > most || (strict("exclusiveMaximum") && value == most))
    {
        return Some(format!("a number of at most {text}"));
    }
    if let Some((_, text)) = limit("exclusiveMinimum").filter(|(least, _)| value <= *least) {
        return Some(format!("a number above {text}"));
    }
    if let Some((_, text)) = limit("exclusiveMaximum").filter(|(most, _)| value >= *most) {
        return Some(format!("a number below {text}"));
    }
    limit("multipleOf")
        .filter(|(step, _)| value.is_multiple_of(step) == Some(false))
        .map(|(_, text)| format!("a multiple of {text}"))
}

/// The bound that a count breaks, in words such as `at least 1 items`.
pub(super) fn broken_count(schema: &Value, what: &str, count: usize) -> Option<String> {
    let limit = |prefix: &str| {
        schema
            .get(format!("{prefix}{what}"))
            .and_then(Value::as_u64)
    };
    let unit = match what {
        "Length" => "characters",
        "Items" => "items",
        _ => "fields",
    };
    let count = count as u64;
    if let Some(least) = limit("min").filter(|least| count < *least) {
        return Some(format!("at least {least} {unit}"));
    }
    limit("max")
        .filter(|most| count > *most)
        .map(|most| format!("at most {most} {unit}"))
}
