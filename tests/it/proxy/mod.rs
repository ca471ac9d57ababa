//! The provider proxy of `toolsearch serve --http` in front of a scripted model: real HTTP on both sides.

mod context;
mod history;
mod passing;
mod refusals;
mod tools;
pub(crate) mod world;
