//! JSON numbers: whole where they can be, and without the noise of binary fractions.

use serde_json::Value;

/// The greatest whole number that a double holds exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A JSON number; whole numbers carry no fraction. What is no number becomes null.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked before"
)]
pub(crate) fn from_f64(number: f64) -> Value {
    if number.fract() == 0.0 && number.abs() <= EXACT {
        return Value::from(number as i64);
    }
    Value::from(number)
}

/// Rounds to six digits after the point, so that 0.1 + 0.2 is 0.3.
pub(crate) fn tidy(number: f64) -> f64 {
    if number.abs() > EXACT / 1e6 {
        number
    } else {
        (number * 1e6).round() / 1e6
    }
}
