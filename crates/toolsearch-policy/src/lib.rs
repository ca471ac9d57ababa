//! Who may use which tool. A [`Policy`] decides, a [`Decision`] only ever narrows, and an
//! [`Approver`] is asked where a decision says so.
//!
//! Policy is asked twice: when a session is planned, so that a denied tool never reaches the
//! catalog, and again before every call. Deciding is pure: the same subject and tool give the same
//! answer. Not here: hooks (`toolsearch-invoke`) and the order of the steps (the runtime).

mod approval;
mod decision;
mod glob;
mod rules;

pub use approval::{ApprovalRequest, Approver, NoApprover, Verdict};
pub use decision::{AllowAll, Decision, Policy, Reason, Subject};
pub use glob::Glob;
pub use rules::{Layer, LayerRules, RuleFault, Rules};

#[cfg(test)]
mod tests;
