//! Tests of planning and dispatch through the public contract, with tools that really run in process.

mod consent;
mod doors;
mod fixtures;
mod planning;
mod programs;
mod replanned;
mod steps;
