//! `toolsearch serve --http`: agents, tokens, a configuration that changes, questions of servers,
//! the end.

mod access;
mod caller;
mod context;
mod reload;
mod rounds;
