//! When a provider that is in trouble is asked again.

use std::time::Duration;

use crate::model::ModelError;

/// Before the first repetition; doubled for each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause of our own.
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// Longest pause that a provider may ask for; beyond it the run ends instead of hanging.
const LONGEST_WISH: Duration = Duration::from_secs(120);

/// How long to wait before repetition `number`, from 1. `None`: it is of no use.
pub(crate) fn pause(error: &ModelError, number: usize, most: usize) -> Option<Duration> {
    if number > most || !error.is_passing() {
        return None;
    }
    if let ModelError::Busy {
        retry_after: Some(wish),
        ..
    } = error
    {
        return (*wish <= LONGEST_WISH).then_some(*wish);
    }
    let doubled = u32::try_from(number - 1)
        .ok()
        .and_then(|n| 2_u32.checked_pow(n));
    let own = FIRST_PAUSE.saturating_mul(doubled.unwrap_or(u32::MAX));
    Some(own.min(LONGEST_PAUSE))
}

/// The pause that the value of `Retry-After` asks for: seconds, as providers send it. A date is not
/// read; our own pause stands then.
pub(crate) fn retry_after(value: &str) -> Option<Duration> {
    value.trim().parse().ok().map(Duration::from_secs)
}
