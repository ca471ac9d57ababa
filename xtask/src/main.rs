//! The harness that people and CI drive: `cargo xtask VERB`.

fn main() {}
