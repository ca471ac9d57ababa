//! Command plugins as a source of tools: a folder whose manifest says which tools there are and
//! which command runs each of them, JSON in and JSON out.
//!
//! * [`Manifest::from_value`] reads a manifest strictly from parsed JSON; every error names its key.
//! * [`Plugin`] lists the tools and runs their commands, each in a process group of its own, with an
//!   empty environment apart from what the manifest asks for, and within limits of time and output.
//! * [`CommandHook`] runs a command of the operator, or of a plugin, before or after every call, with
//!   the same limits.
//!
//! Not here: finding plugin folders, parsing JSON5, and deciding who may call what.

mod error;
mod group;
mod hook;
mod manifest;
mod outcome;
mod plugin;
mod read;
mod run;

pub use error::PluginError;
pub use hook::{CommandHook, HookMoment};
pub use manifest::{Manifest, PluginHook, PluginTool, ToolCommand};
pub use plugin::Plugin;

/// The name of a plugin's manifest in its folder.
pub const MANIFEST_FILE: &str = "toolsearch.plugin.json5";
/// Most tools of one plugin.
pub const MAX_TOOLS: usize = 5000;
/// Most bytes that a command may write to standard output.
pub const MAX_OUTPUT_BYTES: usize = 8 * 1024 * 1024;
/// Most bytes of standard error that an error quotes: the last ones.
pub const MAX_STDERR_BYTES: usize = 4 * 1024;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
