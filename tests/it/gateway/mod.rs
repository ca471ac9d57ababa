//! `toolsearch serve --http`: agents, tokens, a configuration that changes, the end.

mod access;
mod caller;
mod context;
mod reload;
