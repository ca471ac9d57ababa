//! Laws that hold for every catalog and every query.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use futures::executor::block_on;
use proptest::prelude::*;
use serde_json::json;
use toolsearch_catalog::{Catalog, Source, ToolDescriptor};
use toolsearch_search::{EmptyReason, ExactFirst, Index, Ranker, SearchRequest, SearchResponse};
use toolsearch_search_bm25::{Bm25, Options};

fn tool(owner: &str, name: &str, description: &str) -> ToolDescriptor {
    let schema = json!({ "properties": { name: { "description": description } } });
    let mut tool = ToolDescriptor::new(Source::Mcp, owner, name, schema).unwrap();
    tool.description = description.to_owned();
    tool
}

/// Few words, so that tools share them, in several scripts.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "create",
        "issue",
        "delete",
        "searchFiles",
        "İstanbul",
        "天气预报",
        "pull_request",
        "the",
        "ß",
        "mail",
    ]);
    prop::collection::vec(word, 1..6).prop_map(|words| words.join(" "))
}

fn tools() -> impl Strategy<Value = Vec<ToolDescriptor>> {
    let one = (
        prop::sample::select(vec!["forge", "desk", "天"]),
        words(),
        words(),
    );
    prop::collection::vec(one, 0..12).prop_map(|rows| {
        let tools = rows
            .iter()
            .map(|(owner, name, text)| tool(owner, name, text));
        tools.collect()
    })
}

fn ask(index: &dyn Index, query: &str) -> SearchResponse {
    let mut request = SearchRequest::new(query, 5);
    request.explain = true;
    block_on(index.search(&request)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_a_query_and_a_tool(query in any::<String>(), name in ".+", text in any::<String>()) {
        let catalog: Catalog = [tool("o", &name, &text), tool("p", "other", &query)].into_iter().collect();
        let answer = Bm25::default().build(&catalog, None).answer(&SearchRequest::new(query, 3));
        prop_assert_eq!(answer.hits.is_empty(), answer.reason.is_some());
        prop_assert!(answer.hits.iter().all(|hit| hit.score > 0.0 && hit.score.is_finite()));
    }

    #[test]
    fn order_of_arrival_changes_nothing(tools in tools(), query in words(), turn in 0usize..12) {
        // Of equal ids the first tool stays, so both orders must see the same one first.
        let mut distinct: Vec<ToolDescriptor> = Vec::new();
        for tool in tools {
            if distinct.iter().all(|other| other.id != tool.id) {
                distinct.push(tool);
            }
        }
        let mut turned = distinct.clone();
        turned.reverse();
        let middle = turn.min(turned.len());
        turned.rotate_left(middle);
        let ranker = Bm25::default();
        let (one, two): (Catalog, Catalog) = (distinct.into_iter().collect(), turned.into_iter().collect());
        prop_assert_eq!(ask(&ranker.build(&one, None), &query), ask(&ranker.build(&two, None), &query));
    }

    #[test]
    fn an_older_index_changes_nothing(old in tools(), new in tools(), query in words()) {
        let ranker = Bm25::default();
        let (old, new): (Catalog, Catalog) = (old.into_iter().collect(), new.into_iter().collect());
        let older = ranker.build(&old, None);
        let reused = ranker.build(&new, Some(&older));
        prop_assert_eq!(ask(&reused, &query), ask(&ranker.build(&new, None), &query));
    }

    #[test]
    fn order_is_by_score_and_then_by_id(tools in tools(), query in words()) {
        let catalog: Catalog = tools.into_iter().collect();
        let hits = ask(&Bm25::default().build(&catalog, None), &query).hits;
        for two in hits.windows(2) {
            prop_assert!(two[0].score > two[1].score || (two[0].score == two[1].score && two[0].id < two[1].id));
        }
        for hit in &hits {
            prop_assert_eq!(&catalog.entries()[hit.position].id, &hit.id);
            let sum: f32 = hit.evidence.iter().map(|piece| piece.weight).sum();
            let all = hit.evidence.len() < 16;
            prop_assert!(sum <= hit.score * 1.01 && !hit.evidence.is_empty());
            prop_assert!(!all || sum >= hit.score * 0.99, "{} {}", sum, hit.score);
        }
    }

    #[test]
    fn a_shorter_list_is_the_beginning_of_a_longer_one(tools in tools(), query in words()) {
        let catalog: Catalog = tools.into_iter().collect();
        let index = Bm25::default().build(&catalog, None);
        let all = index.answer(&SearchRequest::new(query.as_str(), 100)).hits;
        let few = index.answer(&SearchRequest::new(query.as_str(), 2)).hits;
        prop_assert_eq!(&all[..few.len()], &few[..]);
        prop_assert_eq!(few.len(), all.len().min(2));
    }
}

/// Names of two to four words.
fn name_words() -> impl Strategy<Value = Vec<&'static str>> {
    let word = prop::sample::select(vec![
        "create", "find", "symbol", "issue", "merge", "list", "branch", "file", "graph", "label",
    ]);
    prop::collection::vec(word, 2..5)
}

/// A word with its first letter in upper case.
fn capital(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_name_in_any_form_comes_first(names in prop::collection::btree_set(name_words(), 1..12), pick in 0usize..12) {
        let names: Vec<Vec<&str>> = names.into_iter().collect();
        let wanted = &names[pick % names.len()];
        let tools = names.iter().map(|words| tool("o", &words.join("_"), "Does what its name says"));
        let catalog: Catalog = tools.collect();
        let ranker = ExactFirst(Bm25::default());
        let index = block_on(ranker.index(&catalog, None)).unwrap();
        let camel: String = wanted.iter().map(|word| capital(word)).collect();
        let forms = [
            wanted.join(" "),
            wanted.join("_"),
            wanted.join("-"),
            camel,
            wanted.join(" ").to_uppercase(),
            format!("o {}", wanted.join(" ")),
            format!("mcp__o__{}", wanted.join("_")),
        ];
        for form in forms {
            let hits = ask(&*index, &form).hits;
            prop_assert_eq!(&hits[0].id.name(), &wanted.join("_"), "{}", form);
        }
    }

    #[test]
    fn a_plural_finds_the_same_first_as_the_name(words in name_words()) {
        let last = words.len() - 1;
        let catalog: Catalog = [tool("o", &words.join("_"), ""), tool("o", "archive_song", ""), tool("p", "send_mail", "")]
            .into_iter()
            .collect();
        let index = Bm25::default().build(&catalog, None);
        let mut plural: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        plural[last] = if plural[last].ends_with("ch") { plural[last].clone() + "es" } else { plural[last].clone() + "s" };
        let hits = ask(&index, &plural.join(" ")).hits;
        prop_assert_eq!(&hits[0].id.name(), &words.join("_"));
    }
}

#[test]
fn copies_of_a_tool_stand_behind_what_else_fits() {
    let copy = |owner: &str| tool(owner, "set_variable", "Sets a variable");
    let mut tools = vec![tool("rail", "set_variables_in_bulk", "Sets many variables")];
    tools.extend(["a", "b", "c", "d", "e", "f", "g"].map(copy));
    let catalog: Catalog = tools.into_iter().collect();
    let place = |options: Options| {
        let index = Bm25::new(options).build(&catalog, None);
        let hits = index.answer(&SearchRequest::new("set variable", 8)).hits;
        hits.iter()
            .position(|hit| hit.id.owner() == "rail")
            .unwrap()
    };
    let mut as_they_are = Options::default();
    as_they_are.copies = 1.0;
    assert_eq!(place(as_they_are), 7);
    assert!(place(Options::default()) < 7);
}

#[test]
fn of_tools_alike_that_of_the_plainer_owner_comes_first() {
    let of = |owner: &str| tool(owner, "merge_branch", "Merges a branch");
    let catalog: Catalog = [of("Allied Forge Server And Everything"), of("forge")]
        .into_iter()
        .collect();
    let index = Bm25::default().build(&catalog, None);
    let hits = index.answer(&SearchRequest::new("merge a branch", 2)).hits;
    assert_eq!(hits[0].id.owner(), "forge");
}

#[test]
fn a_tool_that_does_something_else_stands_behind() {
    let create = tool(
        "forge",
        "create_requests",
        "Open new requests, pull requests too",
    );
    let list = tool("forge", "list_pulls", "Pull requests");
    let catalog: Catalog = [create, list].into_iter().collect();
    let first = |options: Options| {
        let index = Bm25::new(options).build(&catalog, None);
        let answer = index.answer(&SearchRequest::new("list new open pull requests", 2));
        answer.hits[0].id.name().to_owned()
    };
    assert_eq!(first(Options::default()), "list_pulls");
    let mut blind = Options::default();
    blind.other_verb = 1.0;
    assert_eq!(first(blind), "create_requests");
}

#[test]
fn equal_catalog_and_options_give_the_same_index() {
    let make = || -> Catalog {
        [tool("o", "create_issue", "Open an issue")]
            .into_iter()
            .collect()
    };
    let ranker = Bm25::default();
    let first = block_on(ranker.index(&make(), None)).unwrap();
    let second = block_on(ranker.index(&make(), Some(&first))).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    let mut options = Options::default();
    options.weights.name = 2.0;
    let third = block_on(Bm25::new(options).index(&make(), Some(&second))).unwrap();
    assert!(!Arc::ptr_eq(&second, &third));
    let other: Catalog = [tool("o", "close_issue", "Close an issue")]
        .into_iter()
        .collect();
    let fourth = block_on(ranker.index(&other, Some(&first))).unwrap();
    assert_eq!(ask(&*fourth, "close").hits.len(), 1);
}

/// Many tools of few words, so that lists are long and scores are close.
fn many(count: usize) -> Vec<ToolDescriptor> {
    const VERBS: [&str; 7] = [
        "create", "list", "delete", "search", "update", "send", "merge",
    ];
    const NOUNS: [&str; 11] = [
        "issue", "mail", "file", "branch", "event", "alarm", "invoice", "page", "table", "song",
        "pod",
    ];
    let one = |at: usize| {
        let (verb, noun) = (VERBS[at % 7], NOUNS[at % 11]);
        let text = format!("{verb} one {noun} or {}", NOUNS[at * at % 11]);
        tool(
            &format!("server{}", at % 13),
            &format!("{verb}_{noun}_{at}"),
            &text,
        )
    };
    (0..count).map(one).collect()
}

const QUESTIONS: [&str; 9] = [
    "create issue",
    "server3 delete the mail",
    "search song",
    "list invoices and send mail",
    "merge branch into page table",
    "remove an appointment",
    "update evnet",
    "please create, list, delete, search, update and send the issue, mail, file, branch and event",
    "alarm or unheardof",
];

#[test]
fn the_best_are_the_same_however_few_are_asked_for() {
    let catalog: Catalog = many(3_000).into_iter().collect();
    let index = Bm25::default().build(&catalog, None);
    for query in QUESTIONS {
        let all = index.answer(&SearchRequest::new(query, catalog.len())).hits;
        for limit in [1, 5, 40] {
            let few = index.answer(&SearchRequest::new(query, limit)).hits;
            assert_eq!(few, all[..limit.min(all.len())], "{query} {limit}");
        }
    }
}

#[test]
fn changed_tools_stand_apart_until_they_are_too_many() {
    let ranker = Bm25::default();
    let mut tools = many(2_000);
    let mut index = ranker.build(&tools.iter().cloned().collect(), None);
    assert_eq!(index.changed_tools(), 0);
    let mut apart = Vec::new();
    for round in 0..9 {
        for at in 0..20 {
            let changed = &mut tools[(at * 97 + round * 211) % 1_500];
            changed.description = format!("{} song {round}", changed.description);
        }
        tools.pop();
        tools.push(tool("fresh", &format!("archive_song_{round}"), "Archive"));
        let catalog: Catalog = tools.iter().cloned().collect();
        index = ranker.build(&catalog, Some(&index));
        apart.push(index.changed_tools());
        let afresh = ranker.build(&catalog, None);
        for query in QUESTIONS.iter().chain(&["archive song"]) {
            assert_eq!(ask(&index, query), ask(&afresh, query), "{query} {round}");
        }
    }
    assert!(apart[0] > 0 && apart[1] > apart[0], "{apart:?}");
    assert!(apart.windows(2).any(|two| two[1] < two[0]), "{apart:?}");
}

#[test]
fn hostile_queries_end_in_an_answer() {
    let catalog: Catalog = [tool("o", "create_issue", "Open an issue")]
        .into_iter()
        .collect();
    let index = Bm25::default().build(&catalog, None);
    let long = [
        "issue ".repeat(4_000),
        "aB".repeat(10_000),
        "天".repeat(10_000),
        "\u{fdfa}".repeat(6_000),
        "e\u{301}".repeat(10_000),
        (0..5_000).map(|n| format!("issu{n} ")).collect(),
    ];
    for query in &long {
        let answer = index.answer(&SearchRequest::new(query.as_str(), usize::MAX));
        assert_eq!(answer.hits.is_empty(), answer.reason.is_some());
    }
    assert_eq!(
        index
            .answer(&SearchRequest::new(long[0].as_str(), 8))
            .hits
            .len(),
        1
    );
    for query in ["", "\0", "\u{200b}", "(", "[a-", "\\", ".*", "🚀🚀"] {
        let answer = index.answer(&SearchRequest::new(query, 8));
        assert_eq!(answer.reason, Some(EmptyReason::NoTerms), "{query:?}");
    }
    let empty = Bm25::default().build(&Catalog::empty(), None);
    let answer = empty.answer(&SearchRequest::new("issue", 8));
    assert_eq!(answer.reason, Some(EmptyReason::NoMatch));
}

#[test]
fn hostile_schemas_are_read_within_bounds() {
    let mut deep = json!({ "properties": { "bottom": {} } });
    for _ in 0..200 {
        deep =
            json!({ "properties": { "level": deep }, "anyOf": [true, null, 7, { "$ref": "#" }] });
    }
    let wide: serde_json::Map<_, _> = (0..20_000).map(|n| (format!("p{n}"), json!({}))).collect();
    let shapes = [
        deep,
        json!({ "properties": wide }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } }),
        json!([1, 2]),
        json!(null),
    ];
    for schema in shapes {
        let mut one = ToolDescriptor::new(Source::Mcp, "o", "create_issue", schema).unwrap();
        one.description = "Open an issue".to_owned();
        let catalog: Catalog = [one].into_iter().collect();
        let index = Bm25::default().build(&catalog, None);
        assert_eq!(index.answer(&SearchRequest::new("issue", 8)).hits.len(), 1);
    }
}

#[test]
fn parameters_behind_references_are_found() {
    let schema = json!({
        "properties": { "where": { "$ref": "#/$defs/place" } },
        "$defs": { "place": { "properties": { "latitude": { "enum": ["polar", "tropical"] } } } }
    });
    let one = ToolDescriptor::new(Source::Mcp, "o", "a", schema).unwrap();
    let catalog: Catalog = [one, tool("o", "b", "")].into_iter().collect();
    let index = Bm25::default().build(&catalog, None);
    for query in ["latitude", "tropical"] {
        let hits = index.answer(&SearchRequest::new(query, 8)).hits;
        assert_eq!(hits[0].id.as_str(), "mcp:o:a", "{query}");
    }
}

#[test]
fn small_catalogs_are_searched_like_large_ones() {
    let catalog: Catalog = [tool("o", "create_issue", "Open a new issue")]
        .into_iter()
        .collect();
    let index = Bm25::default().build(&catalog, None);
    for query in [
        "issue",
        "open issue",
        "please create some issue for frobnicator",
    ] {
        assert_eq!(
            index.answer(&SearchRequest::new(query, 8)).hits.len(),
            1,
            "{query}"
        );
    }
    assert!(
        index
            .answer(&SearchRequest::new("frobnicate zork", 8))
            .hits
            .is_empty()
    );
}

#[test]
fn an_empty_answer_says_when_no_tool_has_the_script_of_the_query() {
    let english: Catalog = [tool("o", "create_issue", "Open an issue")]
        .into_iter()
        .collect();
    let mixed: Catalog = [
        tool("o", "create_issue", "Open an issue"),
        tool("p", "найти", "Поиск"),
    ]
    .into_iter()
    .collect();
    let script = |catalog: &Catalog, query: &str| {
        let answer = Bm25::default()
            .build(catalog, None)
            .answer(&SearchRequest::new(query, 8));
        assert_eq!(answer.reason, Some(EmptyReason::NoMatch), "{query}");
        answer.foreign_script
    };
    assert_eq!(script(&english, "Купить билет"), Some("Cyrillic"));
    assert_eq!(script(&english, "αγορά εισιτηρίου"), Some("Greek"));
    assert_eq!(script(&english, "예약 확인"), Some("Korean"));
    assert_eq!(script(&mixed, "Купить билет"), None);
    assert_eq!(script(&english, "GitHub билет"), None);
    assert_eq!(script(&english, "frobnicate"), None);
    // The last tool of a script is gone, and an index that knew it was taken over.
    let ranker = Bm25::default();
    let changed = ranker.build(&english, Some(&ranker.build(&mixed, None)));
    let answer = changed.answer(&SearchRequest::new("Купить билет", 8));
    assert_eq!(answer.foreign_script, Some("Cyrillic"));
}
