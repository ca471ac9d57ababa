//! Policy: decisions by closure, and the rules that every policy keeps.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::thread;

use toolsearch_catalog::{Catalog, ToolDescriptor};
use toolsearch_policy::{Decision, Policy, Reason, Subject};

use crate::catalog::{hostile_catalog, office};

/// A policy that is a closure, see [`policy_fn`].
pub struct PolicyFn<F>(F);

impl<F> fmt::Debug for PolicyFn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PolicyFn")
    }
}

impl<F> Policy for PolicyFn<F>
where
    F: Fn(&Subject, &ToolDescriptor) -> Decision + Send + Sync,
{
    fn decide(&self, subject: &Subject, tool: &ToolDescriptor) -> Decision {
        (self.0)(subject, tool)
    }
}

/// Decides by a closure, which must be pure as every policy is.
pub fn policy_fn<F>(decide: F) -> PolicyFn<F>
where
    F: Fn(&Subject, &ToolDescriptor) -> Decision + Send + Sync,
{
    PolicyFn(decide)
}

/// Allows the tools that a closure holds on to and denies the others.
pub fn allow_only(keep: impl Fn(&ToolDescriptor) -> bool + Send + Sync) -> impl Policy {
    policy_fn(move |_, tool| {
        if keep(tool) {
            Decision::Allow
        } else {
            Decision::Deny(Reason::new("test", "not kept"))
        }
    })
}

/// Asks about the tools that a closure picks and allows the others.
pub fn ask_about(pick: impl Fn(&ToolDescriptor) -> bool + Send + Sync) -> impl Policy {
    policy_fn(move |_, tool| {
        if pick(tool) {
            Decision::Ask(Reason::new("test", "picked"))
        } else {
            Decision::Allow
        }
    })
}

/// Subjects of which nothing, something and everything is known, one of them in hostile words.
#[must_use]
pub fn subjects() -> Vec<Subject> {
    let mut known = Subject::agent("support");
    known.provider = Some("openai/gpt-5".to_owned());
    known.channel = Some("mail".to_owned());
    known.session = Some("s1".to_owned());
    let mut hostile = Subject::agent("*\u{0}\u{202e}:group:all");
    hostile.provider = Some("/".repeat(1_000));
    hostile.channel = Some(String::new());
    vec![Subject::anyone(), Subject::agent("support"), known, hostile]
}

/// Holds a policy to the rules of the contract; `make` gives a fresh one each time.
///
/// # Panics
/// At the first broken rule.
pub fn conforms(make: impl Fn() -> Arc<dyn Policy>) {
    let (policy, other) = (make(), make());
    let tools = every_tool();
    let decisions = decide_all(&*policy, &tools);
    assert_eq!(decisions, decide_all(&*policy, &tools), "asked twice");
    assert_eq!(decisions, decide_all(&*other, &tools), "asked elsewhere");
    let backwards: Vec<Decision> = pairs(&tools)
        .into_iter()
        .rev()
        .map(|(subject, tool)| policy.decide(&subject, tool))
        .collect();
    let expected: Vec<Decision> = decisions.iter().rev().cloned().collect();
    assert_eq!(expected, backwards, "the order of questions matters");
    thread::scope(|scope| {
        let ask = || decide_all(&*policy, &tools);
        for task in [scope.spawn(ask), scope.spawn(ask)] {
            let said = task.join().expect("because deciding must not panic");
            assert_eq!(decisions, said, "asked at once");
        }
    });
    let distinct: BTreeSet<&Decision> = decisions.iter().collect();
    reasons_are_told(&distinct);
    together_they_narrow(&distinct);
    let listed: Vec<&ToolDescriptor> = tools.entries().iter().map(|tool| &**tool).collect();
    for subject in subjects() {
        for listed in [&listed[..], &[]] {
            let fault = policy.check(&subject, listed);
            assert_eq!(fault, policy.check(&subject, listed), "checked twice");
        }
    }
}

/// Holds a policy to never allowing what a wider one does not, for every subject and tool.
///
/// # Panics
/// At the first decision that is looser.
pub fn narrows(wide: &dyn Policy, narrow: &dyn Policy) {
    let tools = every_tool();
    for (subject, tool) in pairs(&tools) {
        let (before, after) = (wide.decide(&subject, tool), narrow.decide(&subject, tool));
        assert!(
            strictness(&after) >= strictness(&before),
            "{} for {subject:?}: {before:?} became {after:?}",
            tool.id
        );
        let both = before.clone().and(after.clone());
        assert_eq!(
            strictness(&both),
            strictness(&after),
            "{before:?} and {after:?} together"
        );
    }
}

fn every_tool() -> Catalog {
    let mut tools = hostile_catalog().entries().to_vec();
    tools.extend(office().entries().iter().cloned());
    tools.into_iter().collect()
}

fn pairs(tools: &Catalog) -> Vec<(Subject, &ToolDescriptor)> {
    let tools = || tools.entries().iter().map(|tool| &**tool);
    subjects()
        .into_iter()
        .flat_map(|subject| tools().map(move |tool| (subject.clone(), tool)))
        .collect()
}

fn decide_all(policy: &dyn Policy, tools: &Catalog) -> Vec<Decision> {
    pairs(tools)
        .into_iter()
        .map(|(subject, tool)| policy.decide(&subject, tool))
        .collect()
}

fn reasons_are_told(decisions: &BTreeSet<&Decision>) {
    for decision in decisions {
        if let Decision::Ask(reason) | Decision::Deny(reason) = decision {
            let told = !reason.layer.is_empty() && !reason.rule.is_empty();
            assert!(told, "a decision names its layer and rule: {decision:?}");
        }
    }
}

fn together_they_narrow(decisions: &BTreeSet<&Decision>) {
    for &a in decisions {
        for &b in decisions {
            let both = a.clone().and(b.clone());
            assert_eq!(both, b.clone().and(a.clone()), "{a:?} and {b:?} commute");
            assert_eq!(
                strictness(&both),
                strictness(a).max(strictness(b)),
                "{a:?} and {b:?} give the stricter"
            );
        }
    }
}

fn strictness(decision: &Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask(_) => 1,
        Decision::Deny(_) => 2,
    }
}
