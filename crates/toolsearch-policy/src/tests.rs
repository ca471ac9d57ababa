//! Tests of decisions, rules, globs and approvals.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use toolsearch_catalog::{Source, ToolDescriptor};

use crate::{
    AllowAll, ApprovalRequest, Approver, Decision, Glob, Layer, LayerRules, NoApprover, Policy,
    Reason, RuleFault, Rules, Subject, Verdict,
};

fn tool(source: Source, owner: &str, name: &str) -> ToolDescriptor {
    ToolDescriptor::new(source, owner, name, serde_json::json!({})).expect("a legal tool")
}

fn lists(allow: Option<&[&str]>, deny: &[&str], ask: &[&str]) -> LayerRules {
    let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
    LayerRules {
        allow: allow.map(owned),
        deny: owned(deny),
        ask: owned(ask),
    }
}

fn groups() -> BTreeMap<String, Vec<String>> {
    [
        ("group:tickets", vec!["mcp:github:*issue*"]),
        ("group:all", vec!["group:tickets", "read"]),
    ]
    .into_iter()
    .map(|(name, list)| {
        (
            name.to_owned(),
            list.into_iter().map(str::to_owned).collect(),
        )
    })
    .collect()
}

fn rules(layers: &[(Layer, LayerRules)]) -> Rules {
    layers.iter().fold(Rules::new(), |rules, (layer, lists)| {
        rules
            .layer(layer.clone(), lists, &groups())
            .expect("known groups")
    })
}

#[test]
fn globs_match_ids_owned_names_and_names() {
    let issue = tool(Source::Mcp, "github", "create_issue");
    for (pattern, covers) in [
        ("mcp:github:create_issue", true),
        ("mcp:*:create_*", true),
        ("github:create_issue", true),
        ("create_issue", true),
        ("create_*", true),
        ("*", true),
        ("create_issu?", true),
        ("create", false),
        ("native:*", false),
        ("mcp:gitlab:*", false),
        ("issue", false),
    ] {
        assert_eq!(Glob::new(pattern).covers(&issue), covers, "{pattern}");
    }
}

#[test]
fn layers_only_narrow_and_deny_wins() {
    let support = Layer::Agent("support".to_owned());
    let rules = rules(&[
        (
            Layer::Global,
            lists(None, &["mcp:*:delete_*"], &["mcp:*:update_*"]),
        ),
        (
            support,
            lists(Some(&["group:all", "mcp:github:delete_issue"]), &[], &[]),
        ),
    ]);
    let agent = Subject::agent("support");
    let says = |subject: &Subject, owner: &str, name: &str| {
        rules.decide(subject, &tool(Source::Mcp, owner, name))
    };
    assert_eq!(says(&agent, "github", "create_issue"), Decision::Allow);
    assert!(
        says(&agent, "github", "delete_issue").is_deny(),
        "a later allow does not lift a deny"
    );
    assert!(says(&agent, "github", "create_pull").is_deny());
    assert_eq!(
        says(&Subject::anyone(), "github", "create_pull"),
        Decision::Allow
    );
    assert!(matches!(
        says(&Subject::anyone(), "github", "update_issue"),
        Decision::Ask(_)
    ));
    assert_eq!(
        rules
            .explain(&agent, &tool(Source::Mcp, "github", "delete_issue"))
            .len(),
        2
    );
}

#[test]
fn a_provider_layer_covers_its_models() {
    let rules = rules(&[(
        Layer::Provider("openai".to_owned()),
        lists(None, &["read"], &[]),
    )]);
    let read = tool(Source::Native, "core", "read");
    let mut subject = Subject::anyone();
    assert_eq!(rules.decide(&subject, &read), Decision::Allow);
    subject.provider = Some("openai/gpt-5".to_owned());
    assert!(rules.decide(&subject, &read).is_deny());
}

#[test]
fn misspelt_rules_are_loud() {
    let unknown = Rules::new().layer(
        Layer::Global,
        &lists(Some(&["group:nope"]), &[], &[]),
        &groups(),
    );
    assert!(matches!(unknown, Err(RuleFault::UnknownGroup { .. })));

    let mut circle = groups();
    circle.insert("group:a".to_owned(), vec!["group:a".to_owned()]);
    let circle = Rules::new().layer(Layer::Global, &lists(None, &["group:a"], &[]), &circle);
    assert!(matches!(circle, Err(RuleFault::GroupDepth { .. })));

    let rules = rules(&[(Layer::Global, lists(Some(&["mcp:githbu:*"]), &[], &[]))]);
    let listed = tool(Source::Mcp, "github", "create_issue");
    let fault = rules
        .check(&Subject::anyone(), &[&listed])
        .expect_err("nothing is covered");
    assert!(fault.to_string().contains("mcp:githbu:*"), "{fault}");
    assert_eq!(rules.check(&Subject::anyone(), &[]), Ok(()));
}

#[tokio::test]
async fn nobody_to_ask_means_no() {
    let id = tool(Source::Mcp, "a", "b").id;
    let request = ApprovalRequest::new(
        id,
        serde_json::Map::new(),
        "s",
        "because",
        Duration::from_secs(1),
    );
    let approvers: Vec<Arc<dyn Approver>> =
        vec![Arc::new(NoApprover), Arc::new(Box::new(NoApprover))];
    for approver in approvers {
        assert!(matches!(
            approver.review(request.clone()).await,
            Verdict::Denied(_)
        ));
    }
    let policy: Box<dyn Policy> = Box::new(AllowAll);
    assert_eq!(
        policy.decide(&Subject::anyone(), &tool(Source::Mcp, "a", "b")),
        Decision::Allow
    );
}

fn decision() -> impl Strategy<Value = Decision> {
    let reason = ("[ab]", "[ab]").prop_map(|(layer, rule)| Reason::new(layer, rule));
    prop_oneof![
        Just(Decision::Allow),
        reason.clone().prop_map(Decision::Ask),
        reason.prop_map(Decision::Deny),
    ]
}

proptest! {
    #[test]
    fn and_is_commutative_associative_and_idempotent(a in decision(), b in decision(), c in decision()) {
        prop_assert_eq!(a.clone().and(b.clone()), b.clone().and(a.clone()));
        prop_assert_eq!(a.clone().and(b.clone()).and(c.clone()), a.clone().and(b.clone().and(c)));
        prop_assert_eq!(a.clone().and(a.clone()), a.clone());
        prop_assert_eq!(a.is_deny() || b.is_deny(), a.and(b).is_deny());
    }

    #[test]
    fn another_layer_never_widens(
        allow in proptest::option::of(proptest::collection::vec("[a-c*]{1,3}", 0..3)),
        deny in proptest::collection::vec("[a-c*]{1,3}", 0..3),
        name in "[a-c]{1,3}",
    ) {
        let first = rules(&[(Layer::Global, lists(Some(&["a*", "b"]), &["ab"], &[]))]);
        let more = first.clone().layer(
            Layer::Global,
            &LayerRules { allow, deny, ask: Vec::new() },
            &groups(),
        ).expect("no groups");
        let tool = tool(Source::Mcp, "s", &name);
        let (before, after) =
            (first.decide(&Subject::anyone(), &tool), more.decide(&Subject::anyone(), &tool));
        prop_assert!(!before.is_deny() || after.is_deny());
    }

    #[test]
    fn matching_is_total(pattern in "[a*?:]{0,20}", text in "[ab:]{0,30}") {
        let _ = Glob::new(pattern).matches(&text);
    }
}
