//! One integration binary.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail like tests")]

mod cases;
mod denied;
mod gateway;
mod parity;
mod programs;
mod proxy;
mod real;
mod secrets;
mod support;

mod cli;
