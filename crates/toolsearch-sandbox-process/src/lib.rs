//! Runs an engine in a locked-down child process.
