//! How tools are listed and run: the contract between the dispatch and everything that owns tools.
//!
//! * A [`Provider`] lists. It is asked while a session is planned; what it cannot reach it reports
//!   as an [`Outage`], so that one dead owner never hides the others.
//! * An [`Invoker`] runs. It is called from one place only, the dispatch of the runtime, after
//!   policy, hooks, validation and approval. It may trust that the arguments are an object and must
//!   check everything else that it needs.
//! * A [`Hook`] sees every call before and after it runs, whichever door it came through.
//!
//! Not here: who may call what (`toolsearch-policy`), and the order of the steps (the runtime).

mod call;
mod hook;
mod listing;

pub use call::{
    CallId, Caller, Invocation, InvokeError, Invoker, Invokers, NoInvoker, Progress, ProgressSink,
};
pub use hook::{Hook, HookCall, HookDecision, HookError, NoHook};
pub use listing::{Listing, NoProvider, Outage, OutageKind, Provider};

#[cfg(test)]
mod tests;
