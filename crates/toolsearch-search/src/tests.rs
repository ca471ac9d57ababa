//! Tests of the exact-name pass and of the null ranker.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use toolsearch_catalog::{Catalog, Source, ToolDescriptor};

use crate::{
    EmbedError, Embedder, EmptyReason, ExactFirst, Hit, Index, LeftOut, LeftOutReason, MAX_BATCH,
    NoEmbedder, NoRanker, Ranker, SearchError, SearchRequest, SearchResponse, TextRole,
};

fn catalog() -> Catalog {
    [
        ("code", "find_symbol"),
        ("code", "find_file"),
        ("git", "log"),
        ("images", "image_generation"),
        ("x", "ask_codex"),
        ("svn", "log"),
    ]
    .map(|(owner, name)| ToolDescriptor::new(Source::Mcp, owner, name, json!({})).expect("legal"))
    .into_iter()
    .collect()
}

/// Ranks every tool, in catalog order.
#[derive(Debug)]
struct Everything;

#[derive(Debug)]
struct All(Catalog);

#[async_trait]
impl Ranker for Everything {
    fn name(&self) -> &str {
        "everything"
    }

    async fn index(
        &self,
        catalog: &Catalog,
        _: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError> {
        Ok(Arc::new(All(catalog.clone())))
    }
}

#[async_trait]
impl Index for All {
    async fn search(&self, request: &SearchRequest) -> Result<SearchResponse, SearchError> {
        let tools = self.0.entries().iter().enumerate();
        let hits = tools.map(|(at, tool)| Hit::new(at, tool.id.clone(), 1.0));
        Ok(SearchResponse::of(hits.take(request.limit).collect()))
    }
}

async fn search(ranker: impl Ranker, query: &str, limit: usize) -> SearchResponse {
    let index = ExactFirst(ranker)
        .index(&catalog(), None)
        .await
        .expect("an index");
    let mut request = SearchRequest::new(query, limit);
    request.explain = true;
    index.search(&request).await.expect("an answer")
}

fn ids(response: &SearchResponse) -> Vec<&str> {
    response.hits.iter().map(|hit| hit.id.as_str()).collect()
}

#[tokio::test]
async fn a_named_tool_comes_first_in_every_spelling() {
    for query in [
        "find_symbol",
        "find symbol",
        "findSymbol",
        "FIND-SYMBOL",
        "mcp__code__find_symbol",
    ] {
        let response = search(Everything, query, 3).await;
        assert_eq!(ids(&response)[0], "mcp:code:find_symbol", "{query}");
        assert!(response.hits[0].exact && !response.hits[1].exact);
        assert_eq!(response.hits.len(), 3);
    }
}

#[tokio::test]
async fn every_name_that_a_query_spells_out_is_returned_even_beyond_the_limit() {
    let query = "use find_symbol, find_file and ask_codex, then imageGeneration";
    let response = search(NoRanker, query, 2).await;
    let expected = [
        "mcp:code:find_file",
        "mcp:code:find_symbol",
        "mcp:images:image_generation",
        "mcp:x:ask_codex",
    ];
    assert_eq!(ids(&response), expected);
}

#[tokio::test]
async fn a_shared_name_gives_all_its_tools() {
    assert_eq!(
        ids(&search(NoRanker, "log", 8).await),
        ["mcp:git:log", "mcp:svn:log"]
    );
    assert_eq!(ids(&search(NoRanker, "git.log", 8).await), ["mcp:git:log"]);
}

#[tokio::test]
async fn prose_is_not_taken_for_names() {
    let response = search(NoRanker, "please log what happened", 8).await;
    assert_eq!(response.reason, Some(EmptyReason::NoMatch));
}

#[tokio::test]
async fn an_empty_answer_names_what_is_near_in_writing() {
    let response = search(NoRanker, "find_symbl", 8).await;
    assert!(response.hits.is_empty());
    assert_eq!(response.nearest[0].as_str(), "mcp:code:find_symbol");
}

/// Ranks nothing and says that meaning did not count.
#[derive(Debug)]
struct WordsOnly;

#[async_trait]
impl Ranker for WordsOnly {
    fn name(&self) -> &str {
        "words only"
    }

    async fn index(
        &self,
        _: &Catalog,
        _: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError> {
        Ok(Arc::new(Self))
    }
}

#[async_trait]
impl Index for WordsOnly {
    async fn search(&self, _: &SearchRequest) -> Result<SearchResponse, SearchError> {
        let mut response = SearchResponse::of(Vec::new());
        response.left_out = Some(LeftOut::new(LeftOutReason::Slow, "too slow"));
        Ok(response)
    }
}

#[tokio::test]
async fn what_was_left_out_is_told_beside_exact_names_as_well() {
    for query in ["find_symbol", "git.log and find_symbol", "nothing like it"] {
        let response = search(WordsOnly, query, 8).await;
        let left_out = response.left_out.expect("a note");
        assert_eq!(left_out.reason.as_str(), "slow", "{query}");
    }
}

#[tokio::test]
async fn an_embedder_works_as_an_object_and_none_gives_its_reason() {
    let error = EmbedError::Misconfigured("no model".to_owned());
    let embedder: Arc<dyn Embedder> = Arc::new(Box::new(NoEmbedder(error.clone())));
    assert_eq!((embedder.name(), embedder.space()), ("none", "none"));
    assert!((1..=MAX_BATCH).contains(&embedder.batch()));
    let texts = ["x".to_owned()];
    let answer = embedder.embed(TextRole::Query, &texts).await;
    assert_eq!(answer, Err(error));
}

#[tokio::test]
async fn traits_work_as_objects() {
    let ranker: Arc<dyn Ranker> = Arc::new(Box::new(NoRanker));
    assert_eq!(ranker.name(), "none");
    let index = ranker
        .index(&Catalog::empty(), None)
        .await
        .expect("an index");
    let response = index
        .search(&SearchRequest::new("x", 0))
        .await
        .expect("an answer");
    assert_eq!(response.reason, Some(EmptyReason::NoMatch));
}
