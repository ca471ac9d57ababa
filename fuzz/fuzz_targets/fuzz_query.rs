//! What a model asks: any text is answered, twice alike, with hits or a reason, and near names exist.
#![no_main]

use std::sync::{Arc, LazyLock};

use futures::executor::block_on;
use toolsearch_catalog::{Catalog, Source, ToolDescriptor};
use toolsearch_search::{ExactFirst, Index, Ranker, SearchRequest};
use toolsearch_search_bm25::Bm25;

const TOOLS: [(&str, &str, &str); 6] = [
    ("forge", "create_issue", "Open a new issue in a project"),
    ("forge", "mergePullRequest", "Merge a pull request"),
    ("rail", "query_tickets", "查询两个城市之间的高铁余票"),
    ("desk", "найти_письмо", "Поиск писем по теме"),
    ("home", "TurnLightOn", ""),
    (
        "belediye",
        "otopark_bul",
        "Yakındaki boş otoparkları gösterir",
    ),
];

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let tool = |(owner, name, text): (&str, &str, &str)| {
        let schema = serde_json::json!({ "properties": { name: { "description": text } } });
        let mut tool = ToolDescriptor::new(Source::Mcp, owner, name, schema).expect("a legal name");
        tool.description = text.to_owned();
        tool
    };
    TOOLS.map(tool).into_iter().collect()
});

static INDEX: LazyLock<Arc<dyn Index>> = LazyLock::new(|| {
    block_on(ExactFirst(Bm25::default()).index(&CATALOG, None)).expect("an index")
});

libfuzzer_sys::fuzz_target!(|input: (u8, &str)| {
    let (limit, query) = input;
    let mut request = SearchRequest::new(query, usize::from(limit));
    request.explain = true;
    let answer = block_on(INDEX.search(&request)).expect("an answer");
    assert_eq!(answer.hits.is_empty(), answer.reason.is_some());
    for hit in &answer.hits {
        assert!(hit.score > 0.0 && hit.score.is_finite());
        assert!(!hit.evidence.is_empty());
        assert_eq!(CATALOG.entries()[hit.position].id, hit.id);
    }
    assert!(
        answer
            .nearest
            .iter()
            .all(|id| CATALOG.position(id).is_some())
    );
    assert_eq!(block_on(INDEX.search(&request)).expect("an answer"), answer);
});
