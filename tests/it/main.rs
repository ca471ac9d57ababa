//! One integration binary.

mod cli;
