//! Fakes and one conformance suite for every contract.
//!
//! Each contract has a module. It holds small honest fakes, for tests of programs that embed
//! toolsearch, and a suite named `conforms` that every implementation of the contract runs in its
//! own tests. A suite panics at the first broken rule and names it; a suite that returns has passed.
//!
//! | module | contract | fakes |
//! |---|---|---|
//! | [`ranker`] | `Ranker`, `Index` | [`ranker::WordOverlap`] |
//! | [`embedder`] | `Embedder` | [`embedder::HashedWords`], [`embedder::embedder_fn`] |
//! | [`provider`] | `Provider` | [`provider::ScriptedProvider`] |
//! | [`invoker`] | `Invoker` | [`invoker::RecordingInvoker`] |
//! | [`hook`] | `Hook` | [`hook::RecordingHook`] |
//! | [`policy`] | `Policy` | [`policy::policy_fn`] |
//! | [`approver`] | `Approver` | [`approver::ScriptedApprover`], [`approver::HeldApprover`] |
//! | [`engine`] | `Engine`, `Host` | [`engine::EngineFn`], [`engine::RecordingHost`] |
//! | [`mode`] | `Mode` | [`mode::responses`] |
//! | [`recorder`] | `Recorder` | [`recorder::events`] |
//!
//! [`catalog`] makes tools: friendly ones, and hostile ones that every implementation must survive.
//! Not here: any implementation, and anything that ships.

pub mod approver;
pub mod catalog;
pub mod embedder;
pub mod engine;
pub mod hook;
pub mod invoker;
pub mod mode;
pub mod policy;
pub mod provider;
pub mod ranker;
pub mod recorder;
mod wait;

pub use wait::{PATIENCE, block_on, eventually, in_time};

#[cfg(test)]
mod tests;

/// Keeps the examples true: of this crate, and of the contracts that it knows.
#[cfg(doctest)]
mod readme {
    #[doc = include_str!("../README.md")]
    struct Testing;
    #[doc = include_str!("../../toolsearch-catalog/README.md")]
    struct Catalog;
    #[doc = include_str!("../../toolsearch-policy/README.md")]
    struct Policy;
    #[doc = include_str!("../../toolsearch-search/README.md")]
    struct Search;
    #[doc = include_str!("../../toolsearch-invoke/README.md")]
    struct Invoke;
    #[doc = include_str!("../../toolsearch-mode/README.md")]
    struct Mode;
    #[doc = include_str!("../../toolsearch-telemetry/README.md")]
    struct Telemetry;
}
