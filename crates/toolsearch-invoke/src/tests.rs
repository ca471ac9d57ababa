//! Tests of the invoker table and the null objects.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, json};
use toolsearch_catalog::{Source, ToolDescriptor};

use crate::{
    CallId, Hook, HookCall, HookDecision, Invocation, InvokeError, Invoker, Invokers, NoHook,
    NoInvoker, NoProvider, Provider,
};

fn tool(source: Source, owner: &str) -> Arc<ToolDescriptor> {
    Arc::new(ToolDescriptor::new(source, owner, "t", json!({})).expect("legal"))
}

#[test]
fn a_tool_is_run_by_its_own_owner_only() {
    let table = Invokers::new().bind(Source::Mcp, "git", Arc::new(NoInvoker));
    assert!(table.of(&tool(Source::Mcp, "git")).is_some());
    assert!(table.of(&tool(Source::Native, "git")).is_none());
    assert!(table.of(&tool(Source::Mcp, "svn")).is_none());
    let merged = Invokers::new().merge(&table);
    assert!(merged.of(&tool(Source::Mcp, "git")).is_some());
}

#[tokio::test]
async fn null_objects_do_nothing_and_say_so() {
    let call = Invocation::new(
        tool(Source::Mcp, "git"),
        Map::new(),
        CallId::outer(1),
        Duration::from_secs(1),
    );
    let invoker: Arc<dyn Invoker> = Arc::new(Box::new(NoInvoker));
    let error = invoker.invoke(call).await.expect_err("nothing runs");
    assert!(matches!(error, InvokeError::Unavailable { .. }));

    let provider: Arc<dyn Provider> = Arc::new(Box::new(NoProvider));
    assert!(provider.list().await.tools.is_empty());

    let hook: Arc<dyn Hook> = Arc::new(Arc::new(NoHook));
    let call = HookCall::new(
        tool(Source::Mcp, "git"),
        Map::new(),
        CallId::outer(1).nested(2),
        None,
        crate::Caller::new("s", None),
    );
    assert_eq!(call.id.as_str(), "c1.2");
    assert_eq!(hook.before(&call).await, Ok(HookDecision::Continue));
}

#[test]
fn the_name_of_a_call_is_read_as_it_is_written() {
    let call = CallId::outer(12).nested(3);
    assert_eq!(CallId::parse(call.as_str()), Some(call.clone()));
    assert_eq!(call.outermost(), Some(12));
    for bad in [
        "",
        "c",
        "12",
        "c1.",
        "c1..2",
        "cx",
        "c-1",
        "c1.2.3.4.5.6.7.8.9",
        "c١",
    ] {
        assert_eq!(CallId::parse(bad), None, "{bad}");
    }
}
