//! The embedded JavaScript engine.
