//! A sample source: hundreds of working tools on an in-memory store.
//!
//! Seventy services, from issues and calendars to lights and meter readings, are written as data in
//! `data/`: the fields of their records, a few records to begin with, and their tools. This crate
//! works out a schema for every tool and runs it on a [`Sample`]'s own store. Ids and times depend
//! only on the calls that were made, so equal calls give equal answers.
//!
//! Not here: files, network, clock and randomness. A sample forgets everything when it is dropped.

mod check;
mod field;
mod near;
mod number;
mod params;
mod plan;
mod reads;
mod run;
mod sample;
mod schema;
mod spec;
mod store;
mod writes;

pub use sample::Sample;

#[cfg(test)]
mod tests;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
