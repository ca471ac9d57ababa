//! Search: a tiny ranker, and the rules that every ranker keeps.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use toolsearch_catalog::{Catalog, MAX_SUGGESTIONS, ToolDescriptor};
use toolsearch_search::{
    EmptyReason, Evidence, Hit, Index, NoRanker, Ranker, SearchError, SearchRequest, SearchResponse,
};

use crate::catalog::{catalog, hostile_catalog, office, orders, tool_with};
use crate::wait::in_time;

/// Names that a query spells out may go beyond its limit, up to this number.
const MAX_EXACT: usize = 16;

/// Searches that run at once.
const AT_ONCE: usize = 8;

/// A ranker for small catalogs in tests: a tool scores two for every word of the query in its name
/// and one for every word in its description.
#[derive(Debug, Clone, Copy, Default)]
pub struct WordOverlap;

#[derive(Debug)]
struct WordIndex(Vec<(Arc<ToolDescriptor>, BTreeSet<String>, BTreeSet<String>)>);

#[async_trait]
impl Ranker for WordOverlap {
    fn name(&self) -> &str {
        "word-overlap"
    }

    async fn index(
        &self,
        catalog: &Catalog,
        _: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError> {
        let tools = catalog.entries().iter();
        Ok(Arc::new(WordIndex(
            tools
                .map(|tool| {
                    (
                        Arc::clone(tool),
                        words(&tool.name),
                        words(&tool.description),
                    )
                })
                .collect(),
        )))
    }
}

#[async_trait]
impl Index for WordIndex {
    async fn search(&self, request: &SearchRequest) -> Result<SearchResponse, SearchError> {
        let query = words(&request.query);
        if query.is_empty() {
            return Ok(SearchResponse::empty(EmptyReason::NoTerms, Vec::new()));
        }
        let mut hits: Vec<Hit> = Vec::new();
        for (position, (tool, name, description)) in self.0.iter().enumerate() {
            let fields = [("name", name, 2.0), ("description", description, 1.0)];
            let evidence: Vec<Evidence> = fields
                .iter()
                .flat_map(|(field, has, weight)| {
                    has.intersection(&query)
                        .map(|word| Evidence::new(*field, word.as_str(), *weight))
                })
                .collect();
            let score: f32 = evidence.iter().map(|part| part.weight).sum();
            if score > 0.0 {
                let mut hit = Hit::new(position, tool.id.clone(), score);
                hit.evidence = if request.explain {
                    evidence
                } else {
                    Vec::new()
                };
                hits.push(hit);
            }
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        hits.truncate(request.limit);
        Ok(SearchResponse::of(hits))
    }
}

fn words(text: &str) -> BTreeSet<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// Holds a ranker to the rules of the contract; `make` gives a fresh one each time.
///
/// # Panics
/// At the first broken rule.
pub async fn conforms(make: impl Fn() -> Arc<dyn Ranker>) {
    let mut every = hostile_catalog().entries().to_vec();
    every.extend(office().entries().iter().cloned());
    let every: Catalog = every.into_iter().collect();
    for catalog in [Catalog::empty(), catalog(["mcp:git:log"]), office(), every] {
        answers_are_sound(&make, &catalog).await;
        order_of_insertion_does_not_matter(&make, &catalog).await;
    }
    limits_hold(&make).await;
    an_index_knows_its_catalog_only(&make).await;
    reuse_changes_nothing(&make).await;
    searches_run_at_once(&make).await;
}

/// Holds a ranker to finding, in first place, a tool of which the query gives name and purpose. Not
/// a rule of the contract: [`NoRanker`] finds nothing.
///
/// # Panics
/// When it finds another or none.
pub async fn finds(make: impl Fn() -> Arc<dyn Ranker>) {
    let office = office();
    let index = index(&*make(), &office, None).await;
    for (query, expected) in [
        ("create issue in repository", "mcp:github:create_issue"),
        ("merge pull request", "mcp:github:merge_pull_request"),
        ("remove event from calendar", "mcp:calendar:delete_event"),
        ("weather forecast of a city", "plugin:weather:forecast"),
        ("send message to a person", "native:core:send_message"),
    ] {
        let response = ask(&*index, &SearchRequest::new(query, 5)).await;
        let first = response.hits.first().map(|hit| hit.id.as_str());
        assert_eq!(first, Some(expected), "`{query}` finds {:?}", response.hits);
    }
}

async fn answers_are_sound(make: &impl Fn() -> Arc<dyn Ranker>, catalog: &Catalog) {
    let (ranker, again) = (make(), make());
    assert!(!ranker.name().is_empty(), "a ranker has a name");
    let first = index(&*ranker, catalog, None).await;
    let second = index(&*again, catalog, None).await;
    for query in short_queries().into_iter().chain(long_queries()) {
        for limit in [1, 20] {
            let mut request = SearchRequest::new(query.as_str(), limit);
            let response = ask(&*first, &request).await;
            check(catalog, &request, &response);
            let repeated = ask(&*first, &request).await;
            assert_eq!(response, repeated, "{}: asked twice", shown(&query));
            let elsewhere = ask(&*second, &request).await;
            assert_eq!(response, elsewhere, "{}: asked elsewhere", shown(&query));
            request.explain = true;
            let explained = ask(&*first, &request).await;
            check(catalog, &request, &explained);
            assert_eq!(
                places(&response),
                places(&explained),
                "{}: evidence changes the answer",
                shown(&query)
            );
        }
    }
}

async fn order_of_insertion_does_not_matter(
    make: &impl Fn() -> Arc<dyn Ranker>,
    catalog: &Catalog,
) {
    let mut expected: Option<Vec<SearchResponse>> = None;
    for order in orders(catalog) {
        let other: Catalog = order.into_iter().collect();
        let index = index(&*make(), &other, None).await;
        let answers = ask_all(&*index, 10).await;
        match &expected {
            None => expected = Some(answers),
            Some(expected) => {
                assert_eq!(expected, &answers, "equal catalogs in another order");
            }
        }
    }
}

async fn limits_hold(make: &impl Fn() -> Arc<dyn Ranker>) {
    let many: Catalog = (0..60)
        .map(|at| {
            tool_with(
                &format!("mcp:many:list_{at}"),
                "List the issues.",
                serde_json::json!({}),
            )
        })
        .collect();
    let index = index(&*make(), &many, None).await;
    let mut longest = Vec::new();
    for limit in [1, 2, 7, 50, 500, usize::MAX] {
        let request = SearchRequest::new("list the issues", limit);
        let response = ask(&*index, &request).await;
        check(&many, &request, &response);
        let shorter = longest.len().min(response.hits.len());
        assert_eq!(
            places(&response)[..shorter],
            longest[..shorter],
            "a larger limit changes what comes first"
        );
        longest = places(&response);
    }
}

async fn an_index_knows_its_catalog_only(make: &impl Fn() -> Arc<dyn Ranker>) {
    let ranker = make();
    let office = office();
    let whole = index(&*ranker, &office, None).await;
    let narrow = office.restrict(|tool| tool.owner != "github");
    for previous in [None, Some(&whole)] {
        let index = index(&*ranker, &narrow, previous).await;
        for query in [
            "create issue",
            "create_issue",
            "github",
            "mcp:github:create_issue",
        ] {
            let request = SearchRequest::new(query, 20);
            check(&narrow, &request, &ask(&*index, &request).await);
        }
    }
}

async fn reuse_changes_nothing(make: &impl Fn() -> Arc<dyn Ranker>) {
    let ranker = make();
    let start = office();
    let mut changed: Vec<ToolDescriptor> = start
        .entries()
        .iter()
        .map(|tool| ToolDescriptor::clone(tool))
        .collect();
    changed[0].description = "Something else altogether about bananas.".to_owned();
    changed[3].input_schema = Arc::new(serde_json::json!({"properties": {"banana": {}}}));
    let mut grown = start.entries().to_vec();
    grown.extend(hostile_catalog().entries().iter().cloned());
    let steps = [
        start.clone(),
        start.restrict(|tool| tool.owner != "calendar"),
        start.clone(),
        changed.into_iter().collect(),
        grown.into_iter().collect(),
        Catalog::empty(),
        start,
    ];
    let foreign = index(&NoRanker, &office(), None).await;
    let mut previous = foreign;
    for (at, catalog) in steps.iter().enumerate() {
        let reused = index(&*ranker, catalog, Some(&previous)).await;
        let fresh = index(&*make(), catalog, None).await;
        assert_eq!(
            ask_all(&*reused, 10).await,
            ask_all(&*fresh, 10).await,
            "step {at}: an index made from an older one answers like a fresh one"
        );
        previous = reused;
    }
}

async fn searches_run_at_once(make: &impl Fn() -> Arc<dyn Ranker>) {
    let office = office();
    let index = index(&*make(), &office, None).await;
    let expected = ask_all(&*index, 5).await;
    let mut tasks = Vec::new();
    for _ in 0..AT_ONCE {
        let index = Arc::clone(&index);
        tasks.push(tokio::spawn(async move { ask_all(&*index, 5).await }));
    }
    for task in tasks {
        let answers = task.await.expect("because a search must not panic");
        assert_eq!(answers, expected, "searches at once answer like one alone");
    }
}

async fn index(
    ranker: &dyn Ranker,
    catalog: &Catalog,
    previous: Option<&Arc<dyn Index>>,
) -> Arc<dyn Index> {
    in_time("an index is made", ranker.index(catalog, previous))
        .await
        .unwrap_or_else(|error| panic!("{} tools are indexed: {error}", catalog.len()))
}

async fn ask(index: &dyn Index, request: &SearchRequest) -> SearchResponse {
    in_time("a search is answered", index.search(request))
        .await
        .unwrap_or_else(|error| panic!("{}: any text is valid: {error}", shown(&request.query)))
}

async fn ask_all(index: &dyn Index, limit: usize) -> Vec<SearchResponse> {
    let mut answers = Vec::new();
    for query in short_queries() {
        answers.push(ask(index, &SearchRequest::new(query, limit)).await);
    }
    answers
}

/// The rules of one answer.
fn check(catalog: &Catalog, request: &SearchRequest, response: &SearchResponse) {
    let query = shown(&request.query);
    let hits = &response.hits;
    assert_eq!(
        hits.is_empty(),
        response.reason.is_some(),
        "{query}: a reason is given exactly when there are no hits"
    );
    let exact = hits.iter().filter(|hit| hit.exact).count();
    assert!(exact <= MAX_EXACT, "{query}: {exact} exact hits");
    assert!(
        hits.len() <= request.limit.max(exact),
        "{query}: {} hits for a limit of {}",
        hits.len(),
        request.limit
    );
    for hit in hits {
        assert!(
            hit.score > 0.0 && hit.score.is_finite(),
            "{query}: {} has the score {}",
            hit.id,
            hit.score
        );
        let at = catalog.entries().get(hit.position).map(|tool| &tool.id);
        assert_eq!(at, Some(&hit.id), "{query}: position {}", hit.position);
        let weights = hit.evidence.iter().all(|part| part.weight.is_finite());
        assert!(weights, "{query}: {:?}", hit.evidence);
        assert!(
            request.explain || hit.evidence.is_empty(),
            "{query}: evidence that nobody asked for"
        );
    }
    for pair in hits.windows(2) {
        let falls = pair[0].score > pair[1].score;
        let tie = pair[0].score == pair[1].score && pair[0].id < pair[1].id;
        assert!(falls || tie, "{query}: by score, then by id: {pair:?}");
    }
    let ids: BTreeSet<_> = hits.iter().map(|hit| &hit.id).collect();
    assert_eq!(ids.len(), hits.len(), "{query}: a tool is found once");
    assert!(
        response.nearest.len() <= MAX_SUGGESTIONS
            && (hits.is_empty() || response.nearest.is_empty()),
        "{query}: up to {MAX_SUGGESTIONS} near ids, and only without hits: {:?}",
        response.nearest
    );
    for id in &response.nearest {
        assert!(
            catalog.get(id).is_some(),
            "{query}: {id} is not in the catalog"
        );
    }
}

fn places(response: &SearchResponse) -> Vec<(usize, u32)> {
    let hits = response.hits.iter();
    hits.map(|hit| (hit.position, hit.score.to_bits()))
        .collect()
}

fn shown(query: &str) -> String {
    query
        .chars()
        .take(40)
        .flat_map(char::escape_debug)
        .collect()
}

fn short_queries() -> Vec<String> {
    [
        "",
        "   \t\n",
        "\0",
        "\u{202e}\u{200b}\u{feff}",
        "the of and",
        "how do I",
        "🚀🔥👩‍👩‍👧",
        "!?…*.*[a-z]+($^\\",
        "a",
        "create issue",
        "CREATE_ISSUE",
        "createIssue",
        "mcp:github:create_issue",
        "query",
        "weather in 北京",
        "获取天气",
        "بحث عن",
        "поиск",
        "-1 NaN null",
        "list the issues of a repository and then write them to a file",
        crate::catalog::MARKER,
    ]
    .map(str::to_owned)
    .into()
}

fn long_queries() -> Vec<String> {
    vec![
        "x".repeat(20_000),
        "issue ".repeat(3_400),
        (0..2_000).map(|at| format!("w{at} ")).collect(),
        "\u{301}".repeat(10_000),
    ]
}
