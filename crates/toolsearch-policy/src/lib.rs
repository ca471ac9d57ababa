//! Who may use which tool. A [`Policy`] decides, a [`Decision`] only ever narrows, and an
//! [`Approver`] is asked where a decision says so.
//!
//! Policy is asked twice: when a session is planned, so that a denied tool never reaches the
//! catalog, and again before every call. Deciding is pure: the same subject and tool give the same
//! answer. A [`Definition`] tells whether a tool is still the one that was agreed to. Not here: hooks (`toolsearch-invoke`) and the order of the steps (the runtime).

mod approval;
mod decision;
mod definition;
mod digest;
mod fault;
mod glob;
mod groups;
mod layer;
mod picture;
mod rules;
mod subject;

pub use approval::{ApprovalRequest, Approver, NoApprover, Verdict};
pub use decision::{AllowAll, Decision, Policy, Reason};
pub use definition::{Change, ChangeKind, Definition, MAX_CHANGES};
pub use fault::RuleFault;
pub use glob::Glob;
pub use groups::{BUILT_IN_GROUPS, BUILT_IN_PROFILES, expand_globs, with_built_in_groups};
pub use layer::{Layer, Stage};
pub use rules::{Explained, LayerRules, Rules};
pub use subject::{MAX_PARENTS, Subject};

#[cfg(test)]
mod tests;
