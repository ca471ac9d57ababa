//! Tests of ids, lookup, snapshots and outcomes.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    Catalog, CatalogBuilder, Change, LookupError, MAX_ID_BYTES, Outcome, RejectedReason, Source,
    ToolDescriptor, ToolId,
};

fn tool(source: Source, owner: &str, name: &str) -> ToolDescriptor {
    ToolDescriptor::new(source, owner, name, json!({"type": "object"})).expect("a legal tool")
}

fn sample() -> Catalog {
    [
        tool(Source::Native, "core", "read"),
        tool(Source::Native, "core", "write"),
        tool(Source::Mcp, "postgres", "query"),
        tool(Source::Mcp, "duckdb", "query"),
        tool(Source::Mcp, "backstage", "get-catalog-entity"),
        tool(Source::Mcp, "backstage", "resolve-library-id"),
        tool(Source::Mcp, "数据库", "获取天气"),
        tool(Source::Mcp, "x", "ns:action"),
        tool(Source::Client, "client", "pick_colour"),
    ]
    .into_iter()
    .collect()
}

fn resolves(asked: &str, id: &str) {
    let catalog = sample();
    let found = catalog.resolve(asked).map(|tool| tool.id.to_string());
    assert_eq!(found.as_deref(), Ok(id), "{asked}");
}

#[test]
fn every_spelling_that_names_one_tool_finds_it() {
    for (asked, id) in [
        ("native:core:read", "native:core:read"),
        ("openclaw:core:read", "native:core:read"),
        ("core:read", "native:core:read"),
        ("core__read", "native:core:read"),
        ("core.read", "native:core:read"),
        ("core/read", "native:core:read"),
        ("mcp__postgres__query", "mcp:postgres:query"),
        ("read ", "native:core:read"),
        ("Read", "native:core:read"),
        ("resolve_library_id", "mcp:backstage:resolve-library-id"),
        ("getCatalogEntity", "mcp:backstage:get-catalog-entity"),
        ("获取天气", "mcp:数据库:获取天气"),
        ("ns:action", "mcp:x:ns:action"),
        ("pick colour", "client:client:pick_colour"),
    ] {
        resolves(asked, id);
    }
}

/// An alias is found even where it is as long as what it stands for.
#[test]
fn every_provider_alias_finds_its_tool() {
    let pairs = [
        ("办公室", "🚀deploy"),
        ("办公室", "发送消息"),
        ("erp", "team.members.list"),
        ("a__b", "c"),
        ("a b", "c"),
        ("long", "x".repeat(80).as_str()),
    ]
    .map(|(owner, name)| (owner, name.to_owned()));
    let mut builder = CatalogBuilder::new();
    for (owner, name) in &pairs {
        let tool = ToolDescriptor::new(Source::Mcp, owner, name, json!({})).expect("legal");
        builder.add(Arc::new(tool));
    }
    let (catalog, _) = builder.build();
    for (owner, name) in &pairs {
        let alias = toolsearch_schema::names::provider_name(owner, name);
        let found = catalog.resolve(&alias).expect("the alias names a tool");
        assert_eq!((&*found.owner, &found.name), (*owner, name), "{alias}");
    }
}

#[test]
fn a_shared_name_lists_the_exact_ids() {
    let error = sample()
        .resolve("query")
        .expect_err("two tools have this name");
    let LookupError::Ambiguous { candidates, .. } = error else {
        panic!("{error}")
    };
    let ids: Vec<&str> = candidates.iter().map(ToolId::as_str).collect();
    assert_eq!(ids, ["mcp:duckdb:query", "mcp:postgres:query"]);
}

#[test]
fn a_near_miss_suggests_what_exists_and_never_itself() {
    for (asked, first) in [
        ("file_write", "native:core:write"),
        ("wrote", "native:core:write"),
        (
            "mcp:backstage:get-catalog-entities",
            "mcp:backstage:get-catalog-entity",
        ),
    ] {
        let error = sample().resolve(asked).expect_err("no such tool");
        let LookupError::Unknown { suggestions, .. } = error else {
            panic!("{error}")
        };
        assert_eq!(
            suggestions.first().map(ToolId::as_str),
            Some(first),
            "{asked}"
        );
        assert!(suggestions.len() <= 3);
        assert!(suggestions.iter().all(|id| id.as_str() != asked));
    }
}

#[test]
fn names_that_differ_only_in_separators_stay_apart() {
    let names = ["foo.bar", "foo_bar", "foo-bar", "Foo_Bar", "foo/bar"];
    let catalog: Catalog = names
        .map(|name| tool(Source::Mcp, "s", name))
        .into_iter()
        .collect();
    assert_eq!(catalog.len(), 5);
    for name in names {
        let found = catalog.resolve(name).expect("the exact name wins");
        assert_eq!(found.name, name);
    }
    assert!(matches!(
        catalog.resolve("fooBar"),
        Err(LookupError::Ambiguous { .. })
    ));
}

#[test]
fn hidden_characters_never_stand_in_an_id() {
    let id = ToolId::new(Source::Mcp, "a b", "x\n</tools>\u{202e}\u{200b}y").expect("escaped");
    assert_eq!(id.as_str(), "mcp:a%20b:x%0A</tools>%E2%80%AE%E2%80%8By");
    assert_eq!(ToolId::parse(id.as_str()).as_ref(), Ok(&id));
    let other = ToolId::new(Source::Mcp, "a%20b", "y").expect("escaped");
    assert_eq!(other.owner(), "a%2520b");
}

#[test]
fn long_names_are_cut_and_stay_distinct() {
    let long = "n".repeat(5_000);
    let first = ToolId::new(Source::Mcp, &long, &long).expect("cut");
    let second = ToolId::new(Source::Mcp, &long, &format!("{long}2")).expect("cut");
    assert!(first.as_str().len() <= MAX_ID_BYTES);
    assert_ne!(first, second);
}

#[test]
fn the_second_of_two_equal_ids_is_set_aside() {
    let mut builder = CatalogBuilder::new();
    let mut other = tool(Source::Mcp, "s", "a");
    other.description = "the other one".to_owned();
    builder
        .add(tool(Source::Mcp, "s", "a"))
        .add(other)
        .add(tool(Source::Mcp, "s", "b"));
    let (catalog, rejected) = builder.build();
    assert_eq!(catalog.len(), 2);
    let id = ToolId::parse("mcp:s:a").expect("valid");
    assert_eq!(rejected[0].reason, RejectedReason::DuplicateId(id.clone()));
    assert_eq!(
        catalog.get(&id).map(|tool| tool.description.as_str()),
        Some("")
    );
}

#[test]
fn a_diff_tells_every_change() {
    let older = sample();
    let mut changed = tool(Source::Native, "core", "read");
    changed.description = "reads".to_owned();
    let newer: Catalog = [
        changed,
        tool(Source::Native, "core", "delete"),
        tool(Source::Native, "core", "write"),
    ]
    .into_iter()
    .collect();
    let older = older.restrict(|tool| tool.owner == "core");
    let id = |text: &str| ToolId::parse(text).expect("valid");
    assert_eq!(
        older.diff(&newer).changes,
        [
            Change::Added(id("native:core:delete")),
            Change::Changed(id("native:core:read"))
        ]
    );
    assert!(newer.diff(&newer).is_empty());
}

#[test]
fn a_result_keeps_everything_it_came_with() {
    let raw = json!({
        "content": [{"type": "video", "url": "x", "extra": 1}, {"type": "text", "text": "a"}],
        "structuredContent": {"id": 1_917_043_659_912_705_296_u64},
        "isError": false,
        "_meta": {"k": "v"},
    });
    assert_eq!(Outcome::from_result_json(raw.clone()).to_result_json(), raw);
}

#[test]
fn the_value_of_a_result_is_the_richest_that_it_has() {
    for (raw, value) in [
        (json!({"content": [], "structuredContent": [1]}), json!([1])),
        (
            json!({"content": [{"type": "text", "text": "{\"a\":1}"}]}),
            json!({"a": 1}),
        ),
        (
            json!({"content": [{"type": "text", "text": "{not json"}]}),
            json!("{not json"),
        ),
        (
            json!({"content": [{"type": "text", "text": "12"}]}),
            json!("12"),
        ),
        (
            json!({"structuredContent": {"a": 1}, "content": [{"type": "text", "text": "t"}]}),
            json!({"a": 1}),
        ),
        (json!({}), json!("")),
        (json!("bare"), json!("bare")),
    ] {
        assert_eq!(
            Outcome::from_result_json(raw.clone()).value(),
            value,
            "{raw}"
        );
    }
}

proptest! {
    #[test]
    fn an_id_reads_back_whatever_the_parts_are(owner in ".{1,60}", name in ".{1,200}") {
        let id = ToolId::new(Source::Plugin, &owner, &name).expect("not empty");
        prop_assert!(id.as_str().chars().all(|c| !c.is_control()));
        prop_assert_eq!(ToolId::parse(id.as_str()), Ok(id.clone()));
        prop_assert!(!id.owner().contains(':'));
    }

    #[test]
    fn the_order_of_adding_changes_nothing(
        mut names in proptest::collection::btree_set("[a-z]{1,6}", 1..20),
        seed in any::<u64>(),
    ) {
        let forward: Catalog = names.iter().map(|name| tool(Source::Mcp, "s", name)).collect();
        let mut shuffled: Vec<String> = std::mem::take(&mut names).into_iter().collect();
        let turn = usize::try_from(seed).unwrap_or(0) % shuffled.len();
        shuffled.rotate_left(turn);
        let other: Catalog = shuffled.iter().map(|name| tool(Source::Mcp, "s", name)).collect();
        prop_assert_eq!(forward.fingerprint(), other.fingerprint());
        prop_assert_eq!(forward.entries(), other.entries());
    }

    #[test]
    fn looking_up_any_text_never_panics(text in ".{0,600}") {
        let _ = sample().resolve(&text);
        let _ = sample().nearest(&text, 3);
    }

    #[test]
    fn any_json_is_a_result(text in "[\\[\\]{}\":,a-z0-9]{0,60}") {
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            let _ = Outcome::from_result_json(value).value();
        }
    }
}

/// Names in every style of writing, so that the cheap look meets all of them.
fn styled(words: &[&str], style: usize) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    match style {
        0 => words.join("_"),
        1 => words.join("-"),
        2 => words.iter().map(|word| capital(word)).collect(),
        3 => {
            words[0].to_owned()
                + &words[1..]
                    .iter()
                    .map(|word| capital(word))
                    .collect::<String>()
        }
        4 => words.join("__").to_uppercase(),
        _ => words.concat() + "2",
    }
}

proptest! {
    /// A tool whose name shares a word with the text, holds it or is one edit from it is near; the cheap
    /// look before the comparison may not lose it.
    #[test]
    fn what_shares_a_word_or_is_one_edit_away_is_near(
        words in prop::collection::vec(prop::sample::select(vec!["find", "symbol", "pdf", "to", "query"]), 1..4),
        style in 0usize..6,
        other in 0usize..6,
        pick in 0usize..3,
        edit in 0usize..20,
    ) {
        let name = styled(&words, style);
        let catalog: Catalog = [tool(Source::Mcp, "o", &name)].into_iter().collect();
        if style < 5 {
            let text = format!("zzz {} q", words[pick % words.len()]);
            prop_assert_eq!(catalog.nearest(&text, 3).len(), 1, "{} {}", name, text);
        }
        let mut near = styled(&words, other);
        near.insert(edit % near.len(), 'q');
        if style < 5 && other < 5 && near.len() > 4 {
            prop_assert_eq!(catalog.nearest(&near, 3).len(), 1, "{} {}", name, near);
        }
    }
}
