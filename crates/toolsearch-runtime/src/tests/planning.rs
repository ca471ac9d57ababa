//! Policy, placement, sharing by fingerprint, surfaces.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use toolsearch_catalog::{CatalogMode, Source, ToolDescriptor};
use toolsearch_invoke::{Listing, Outage, OutageKind};
use toolsearch_mode::{Mode, Response, Role};
use toolsearch_mode_code::CodeMode;
use toolsearch_mode_directory::DirectoryMode;
use toolsearch_mode_tools::ToolsMode;
use toolsearch_policy::{Glob, Layer, LayerRules, Rules, Subject};
use toolsearch_telemetry::Event;

use super::fixtures::{call, directory, listings, office, request, rules, tool};
use crate::{Compaction, OpenError, OpenRequest};

#[tokio::test]
async fn visible_tools_stay_out_of_the_catalog_and_the_rest_goes_in() {
    let office = office(|_, _| {});
    let session = office.open().await;
    let declared: Vec<&str> = session
        .surface()
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(
        declared,
        ["tool_search", "tool_describe", "tool_call", "ask_user"]
    );
    assert!(session.catalog().resolve("native:core:ask_user").is_err());
    assert!(
        session
            .catalog()
            .resolve("client:client:pick_colour")
            .is_ok()
    );
    let sizes = session.sizes();
    assert_eq!((sizes.tools, sizes.direct_tools), (4, 11));
}

#[tokio::test]
async fn client_tools_stay_visible_in_directory_mode() {
    let office = office(|parts, _| directory(parts));
    let session = office.open().await;
    let role = session.surface().role("pick_colour");
    assert!(matches!(role, Some(Role::Direct(id)) if id.source() == Source::Client));
    assert!(session.catalog().resolve("pick_colour").is_err());
}

#[tokio::test]
async fn client_names_must_not_collide_where_both_can_be_called_by_name() {
    let office = office(|parts, _| directory(parts));
    let mut all = listings();
    let clash = tool(Source::Client, "client", "create_issue", "");
    all[2].tools.push(Arc::new(clash));
    let error = office
        .runtime
        .open(OpenRequest::new(Subject::anyone(), all))
        .await;
    let Err(OpenError::NameCollision { client, other }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(client.as_str(), "client:client:create_issue");
    assert_eq!(other.as_str(), "mcp:github:create_issue");
}

#[tokio::test]
async fn always_visible_tools_are_declared_and_searchable_and_never_granted() {
    let office = office(|parts, options| {
        options.always_visible = vec![Glob::new("mcp:github:*")];
        parts.policy = rules(None, &["delete_issue"], &[]);
    });
    let session = office.open().await;
    let declared: Vec<&str> = session
        .surface()
        .tools
        .iter()
        .skip(3)
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(declared, ["create_issue", "search", "ask_user"]);
    assert!(session.catalog().resolve("mcp:github:create_issue").is_ok());
}

#[tokio::test]
async fn a_mode_that_cannot_run_becomes_the_fallback_before_anything_is_hidden() {
    let office = office(|parts, _| parts.mode = Arc::new(CodeMode));
    let session = office.open().await;
    assert_eq!(session.mode().name(), "tools");
    let declared: Vec<&str> = session
        .surface()
        .tools
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(declared[..3], ["tool_search", "tool_describe", "tool_call"]);
    assert_eq!(
        session.fallback().map(|fallback| fallback.from.as_str()),
        Some("code")
    );
    let events = office.recorder.events();
    let Event::Opened(opened) = &events[0].event else {
        panic!("{events:?}")
    };
    assert!(opened.fallback.is_some() && opened.engine.is_none());
}

#[tokio::test]
async fn small_catalogs_are_shown_directly_when_asked_to_decide() {
    let above = |tools, bytes| Compaction::Above { tools, bytes };
    for (compaction, mode) in [
        (Compaction::Always, "tools"),
        (Compaction::Never, "direct"),
        (above(11, 100_000), "direct"),
        (above(10, 100_000), "tools"),
        (above(11, 100), "tools"),
    ] {
        let office = office(|_, options| options.compaction = compaction);
        let session = office.open().await;
        assert_eq!(session.mode().name(), mode, "{compaction:?}");
        if mode == "direct" {
            assert_eq!(session.surface().tools.len(), 11);
            assert!(
                !call(&session, "create_issue", json!({"title": "t"}))
                    .await
                    .is_error
            );
        }
    }
}

#[tokio::test]
async fn equal_tools_share_one_snapshot_and_a_closed_session_leaves_nothing() {
    let office = office(|_, _| {});
    let first = office.open().await;
    let second = office.open().await;
    let snapshots = |session: &crate::Session| Arc::downgrade(&session.core_plan().snapshot);
    assert!(
        snapshots(&first).ptr_eq(&snapshots(&second)),
        "fresh descriptors, equal content"
    );
    let weak = snapshots(&first);
    drop(first);
    assert!(weak.upgrade().is_some());
    drop(second);
    assert!(
        weak.upgrade().is_none(),
        "nothing is kept for closed sessions"
    );
}

#[tokio::test]
async fn a_closed_session_holds_no_tool() {
    let office = office(|_, _| {});
    let all = listings();
    let tool = Arc::clone(&all[0].tools[0]);
    let open = OpenRequest::new(Subject::anyone(), all);
    let session = office.runtime.open(open).await.expect("a session");
    assert!(Arc::strong_count(&tool) > 1);
    drop(session);
    assert_eq!(Arc::strong_count(&tool), 1, "only this test still has it");
}

#[tokio::test]
async fn the_very_same_tools_reuse_the_whole_plan() {
    let office = office(|_, _| {});
    let all = listings();
    let open = || {
        office
            .runtime
            .open(OpenRequest::new(Subject::anyone(), all.clone()))
    };
    let first = open().await.expect("a session");
    let second = open().await.expect("a session");
    assert!(Arc::ptr_eq(first.core_plan(), second.core_plan()));
    let reused = |events: &[toolsearch_telemetry::Stamped]| {
        events
            .iter()
            .any(|event| matches!(&event.event, Event::Opened(opened) if opened.reused))
    };
    assert!(reused(&office.recorder.events()));
    let agent = OpenRequest::new(Subject::agent("other"), all.clone());
    let third = office.runtime.open(agent).await.expect("a session");
    assert!(
        !Arc::ptr_eq(first.core_plan(), third.core_plan()),
        "another subject, another plan"
    );
}

#[tokio::test]
async fn an_allow_list_that_covers_nothing_is_an_error_and_not_an_empty_catalog() {
    let office = office(|parts, _| parts.policy = rules(Some(&["mcp:gitlab:*"]), &[], &[]));
    let error = office
        .runtime
        .open(OpenRequest::new(Subject::anyone(), listings()))
        .await;
    let error = error.expect_err("nothing would be left").to_string();
    assert!(error.contains("mcp:gitlab:*"), "{error}");
}

#[tokio::test]
async fn likely_schemas_come_from_the_first_message_and_required_names() {
    let office = office(|parts, _| directory(parts));
    let mut open = OpenRequest::new(Subject::anyone(), listings());
    open.first_message = Some("please create an issue about the crash".to_owned());
    open.required = vec!["delete_issue".to_owned(), "search".to_owned()];
    let session = office.runtime.open(open).await.expect("a session");
    let likely: Vec<&str> = session
        .surface()
        .tools
        .iter()
        .filter(|tool| matches!(tool.role, Role::Likely(_)))
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(
        likely[..2],
        ["delete_issue", "create_issue"],
        "ambiguous `search` is left out"
    );
    assert!(likely.len() <= 4);
}

fn with_outages(policy_allows: Option<&[&str]>) -> impl Future<Output = Response> {
    let office = office(|parts, _| {
        if policy_allows.is_some() {
            parts.policy = rules(policy_allows, &[], &[]);
        }
    });
    let mut all = listings();
    for (owner, kind) in [
        ("slack", OutageKind::Failed),
        ("jira", OutageKind::Starting),
    ] {
        let outage = Outage::new(owner, kind, "exited (3)\nsecond line");
        all.push(Listing::outage(Source::Mcp, outage));
    }
    let outage = Outage::new("paint", OutageKind::Failed, "its manifest is torn");
    all.push(Listing::outage(Source::Plugin, outage));
    async move {
        let open = OpenRequest::new(Subject::anyone(), all);
        let session = office.runtime.open(open).await.expect("a session");
        let decoded = toolsearch_mode::read::search(
            &super::fixtures::object(json!({"query": "zzz qqq"})),
            &office.runtime.options().search,
        );
        request(&session, decoded.expect("readable")).await
    }
}

#[tokio::test]
async fn an_empty_answer_names_servers_in_trouble_that_the_subject_may_know() {
    let Response::Search(reply) = with_outages(None).await else {
        panic!("no search")
    };
    assert_eq!(reply.groups[0].reason, Some("still_connecting"));
    let names: Vec<&str> = reply
        .outages
        .iter()
        .map(|outage| outage.server.as_str())
        .collect();
    assert_eq!(names, ["jira", "paint", "slack"]);
    assert!(!reply.outages[0].reason.contains('\n'));

    let servers = with_outages(Some(&["mcp:*", "native:*"])).await;
    let Response::Search(reply) = servers else {
        panic!("no search")
    };
    let names: Vec<&str> = reply
        .outages
        .iter()
        .map(|outage| outage.server.as_str())
        .collect();
    assert_eq!(names, ["jira", "slack"], "a plugin is judged as a plugin");

    let hidden = with_outages(Some(&["mcp:github:*", "native:*"])).await;
    let Response::Search(reply) = hidden else {
        panic!("no search")
    };
    assert_eq!(reply.groups[0].reason, Some("no_match"));
    assert!(
        reply.outages.is_empty(),
        "an owner outside policy stays unmentioned"
    );
}

#[tokio::test]
async fn what_direct_exposure_would_send_is_what_it_sends() {
    let office = office(|_, _| {});
    let sizes = async |compaction| {
        let named = |name| tool(Source::Native, "core", name, "Does what it is for");
        let mut shown = named("shown");
        shown.catalog_mode = CatalogMode::DirectOnly;
        let tools = [named("one"), named("two"), shown].map(Arc::new).to_vec();
        let listing = Listing::new(Source::Native, "core", tools);
        let mut open = OpenRequest::new(Subject::anyone(), vec![listing]);
        open.compaction = Some(compaction);
        office.runtime.open(open).await.expect("a session").sizes()
    };
    let compact = sizes(Compaction::Always).await;
    let direct = sizes(Compaction::Never).await;
    assert_eq!(direct.tools, 3);
    for sizes in [compact, direct] {
        assert_eq!(sizes.direct_tools, direct.tools);
        assert_eq!(sizes.direct_tool_bytes, direct.tool_bytes);
    }
    assert!(compact.tools != direct.tools);
}

#[tokio::test]
async fn a_denied_tool_shows_nowhere() {
    let hidden = LayerRules {
        deny: vec!["delete_*".to_owned()],
        ..LayerRules::default()
    };
    let layer = Layer::Agent("support".to_owned());
    let policy = Rules::new()
        .layer(layer, &hidden, &Default::default())
        .expect("no groups");
    for mode in [
        Arc::new(ToolsMode) as Arc<dyn Mode>,
        Arc::new(DirectoryMode::default()),
    ] {
        let office = office(|parts, _| {
            parts.policy = Arc::new(policy.clone());
            parts.mode = Arc::clone(&mode);
        });
        let session = office.open_for(Subject::agent("support")).await;
        let mut seen = session.surface().to_json().to_string() + &session.surface().prompt;
        for (name, arguments) in [
            ("tool_search", json!({"query": "delete issue for good"})),
            ("tool_search", json!({"query": "delete_issues"})),
            ("tool_search", json!({"query": "mcp:github:delete_issue"})),
            ("tool_describe", json!({"id": "issue"})),
            ("tool_call", json!({"id": "delete_issu", "args": {}})),
            ("delete_issues", json!({})),
        ] {
            let answer = call(&session, name, arguments).await;
            seen.push_str(
                &answer
                    .joined_text()
                    .replace("delete_issues", "")
                    .replace("delete_issu`", ""),
            );
        }
        assert!(!seen.contains("delete_issue"), "{seen}");
        assert_eq!(session.sizes().direct_tools, 10, "not counted either");
        let denied = call(
            &session,
            "tool_call",
            json!({"id": "mcp:github:delete_issue"}),
        )
        .await;
        assert_eq!(super::fixtures::code(&denied).as_deref(), Some("not_found"));
        assert!(office.bench.ran().is_empty());
        let other = office.open().await;
        assert!(
            other.catalog().resolve("delete_issue").is_ok(),
            "others still have it"
        );
    }
}

fn shuffled(names: &[String], turn: usize) -> Vec<Listing> {
    let mut owners = ["a", "b"];
    owners.rotate_left(turn % 2);
    owners
        .iter()
        .map(|owner| {
            let mut tools: Vec<Arc<ToolDescriptor>> = names
                .iter()
                .map(|name| Arc::new(tool(Source::Mcp, owner, name, "does things")))
                .collect();
            let by = turn % tools.len();
            tools.rotate_left(by);
            Listing::new(Source::Mcp, *owner, tools)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn equal_tools_in_any_order_give_identical_bytes(
        names in proptest::collection::btree_set("[a-z_]{1,8}", 1..12),
        turn in 0_usize..12,
        mode in 0_usize..3,
    ) {
        let modes: [Arc<dyn Mode>; 3] =
            [Arc::new(ToolsMode), Arc::new(DirectoryMode::default()), Arc::new(toolsearch_mode::Direct)];
        let names: Vec<String> = names.into_iter().collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let bytes = |turn: usize| {
            // A runtime of its own, so that nothing is shared.
            let office = office(|parts, _| parts.mode = Arc::clone(&modes[mode]));
            let open = OpenRequest::new(Subject::anyone(), shuffled(&names, turn));
            let session = runtime.block_on(office.runtime.open(open)).expect("a session");
            let search = toolsearch_mode::read::search(
                &super::fixtures::object(json!({"query": names[0]})),
                &office.runtime.options().search,
            ).expect("readable");
            let found = runtime.block_on(request(&session, search));
            format!("{}{}{found:?}", session.surface().to_json(), session.surface().prompt)
        };
        prop_assert_eq!(bytes(0), bytes(turn));
    }
}
