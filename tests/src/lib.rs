//! What the test programs of this package share: a model that plays a script over real HTTP, and a
//! client of models.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail like tests")]

pub mod client;
pub mod model;
