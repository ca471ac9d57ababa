//! Command plugins as a source of tools.
