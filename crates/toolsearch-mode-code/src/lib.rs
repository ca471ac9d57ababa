//! Mode code: one tool that runs a short program.
