//! Laws: words are the floor whatever the embedder does, equal things give equal answers, and an answer
//! says what was left out.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use proptest::prelude::*;
use serde_json::json;
use toolsearch_catalog::{Catalog, Source, ToolDescriptor};
use toolsearch_search::{
    EmbedError, Embedder, EmptyReason, Index, LeftOutReason, NoEmbedder, Ranker, SearchRequest,
    SearchResponse, TextRole,
};
use toolsearch_search_bm25::Bm25;
use toolsearch_search_hybrid::{Hybrid, Options};
use toolsearch_testing::catalog::office;
use toolsearch_testing::embedder::{HashedWords, embedder_fn};
use toolsearch_testing::{block_on, ranker};

/// Making an index waits until all vectors are there.
fn patient() -> Options {
    let mut options = Options::default();
    options.index_wait = Duration::from_secs(60);
    options.query_timeout = Duration::from_secs(30);
    options
}

fn hybrid(embedder: Arc<dyn Embedder>, options: Options) -> Hybrid {
    Hybrid::new(Arc::new(Bm25::default()), embedder, options)
}

async fn ask(index: &dyn Index, query: &str, limit: usize) -> SearchResponse {
    let mut request = SearchRequest::new(query, limit);
    request.explain = true;
    index.search(&request).await.unwrap()
}

async fn ask_words(catalog: &Catalog, query: &str, limit: usize) -> SearchResponse {
    ask(&Bm25::default().build(catalog, None), query, limit).await
}

fn ids(response: &SearchResponse) -> Vec<&str> {
    response.hits.iter().map(|hit| hit.id.as_str()).collect()
}

fn tool(owner: &str, name: &str, description: &str) -> ToolDescriptor {
    let mut tool = ToolDescriptor::new(Source::Mcp, owner, name, json!({})).unwrap();
    tool.description = description.to_owned();
    tool
}

/// Enough tools that a near one stands out from the rest.
fn shop() -> Catalog {
    let words = [
        "invoice", "parcel", "customer", "coupon", "refund", "stock", "price", "label", "order",
        "basket", "return", "voucher", "supplier", "shelf", "barcode", "receipt",
    ];
    let others = words.iter().flat_map(|word| {
        ["list", "print", "archive"].map(|verb| {
            tool(
                "shop",
                &format!("{verb}_{word}"),
                &format!("{verb} one {word}."),
            )
        })
    });
    let forecast = tool("meteo", "forecast", "Weather, city.");
    others.chain([forecast]).collect()
}

#[test]
fn it_conforms_as_a_ranker() {
    block_on(async {
        let words = || Arc::new(HashedWords::default());
        ranker::conforms(|| Arc::new(hybrid(words(), patient()))).await;
        ranker::finds(|| Arc::new(hybrid(words(), patient()))).await;
        let error = EmbedError::Misconfigured("no model".to_owned());
        ranker::conforms(|| Arc::new(hybrid(Arc::new(NoEmbedder(error.clone())), patient()))).await;
    });
}

#[test]
fn meaning_finds_what_no_word_says() {
    block_on(async {
        let same = [("qwopsi", "weather"), ("zubrik", "city")];
        let hybrid = hybrid(Arc::new(HashedWords::with(same)), patient());
        let index = hybrid.index(&shop(), None).await.unwrap();
        let query = "qwopsi zubrik";
        assert!(ask_words(&shop(), query, 5).await.hits.is_empty());
        let response = ask(&*index, query, 5).await;
        assert_eq!(ids(&response)[0], "mcp:meteo:forecast");
        assert_eq!(response.left_out, None);
        let evidence = &response.hits[0].evidence[0];
        let found = (evidence.field.as_str(), evidence.term.as_str());
        assert_eq!(found, ("meaning", "hashed-words"));
    });
}

#[test]
fn nothing_near_is_still_nothing() {
    block_on(async {
        let hybrid = hybrid(Arc::new(HashedWords::default()), patient());
        let index = hybrid.index(&shop(), None).await.unwrap();
        let response = ask(&*index, "xylophone quasar", 8).await;
        assert_eq!(
            response.reason,
            Some(EmptyReason::NoMatch),
            "{:?}",
            response.hits
        );
        let response = ask(&*index, "?!", 8).await;
        assert_eq!(response.reason, Some(EmptyReason::NoTerms));
    });
}

/// Knows what words of another script mean, and says so or not.
#[derive(Debug)]
struct Reader {
    words: HashedWords,
    is_multilingual: bool,
}

#[async_trait]
impl Embedder for Reader {
    fn name(&self) -> &'static str {
        "reader"
    }

    fn space(&self) -> &'static str {
        "reader"
    }

    fn is_multilingual(&self) -> bool {
        self.is_multilingual
    }

    async fn embed(&self, role: TextRole, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        self.words.embed(role, texts).await
    }
}

#[test]
fn a_script_that_no_tool_has_is_read_by_a_model_of_many_languages_alone() {
    block_on(async {
        let found = async |query: &str, is_multilingual: bool| {
            let same = [("날씨", "weather"), ("도시", "city"), ("세금", "tax")];
            let words = HashedWords::with(same);
            let reader = Reader {
                words,
                is_multilingual,
            };
            let hybrid = hybrid(Arc::new(reader), patient());
            let index = hybrid.index(&shop(), None).await.unwrap();
            ask(&*index, query, 5).await
        };
        let response = found("도시 날씨", true).await;
        assert_eq!(ids(&response)[0], "mcp:meteo:forecast");
        let unread = found("도시 날씨", false).await;
        assert_eq!(unread.reason, Some(EmptyReason::NoMatch));
        assert_eq!(
            (unread.foreign_script, unread.left_out),
            (Some("Korean"), None)
        );
        let nothing_fits = found("세금", true).await;
        assert_eq!(
            nothing_fits.reason,
            Some(EmptyReason::NoMatch),
            "{nothing_fits:?}"
        );
    });
}

#[test]
fn an_embedder_is_tried_out_before_it_is_believed() {
    block_on(async {
        let tried = hybrid(Arc::new(HashedWords::default()), patient())
            .try_out()
            .await;
        let tried = tried.unwrap();
        assert_eq!(
            (tried.name.as_str(), tried.dimensions),
            ("hashed-words", 512)
        );
        let constant = embedder_fn(|_, texts| {
            let vectors = vec![vec![1.0, 2.0]; texts.len()];
            async move { Ok(vectors) }.boxed()
        });
        let useless = hybrid(constant, patient()).try_out().await.unwrap_err();
        assert_eq!(useless.reason, LeftOutReason::Failed);
        assert!(useless.detail.contains("same vector"), "{useless:?}");
    });
}

#[tokio::test(start_paused = true)]
async fn who_tries_an_embedder_out_is_told_what_a_search_would_be_told() {
    for (what, embedder, reason) in useless() {
        let mut options = patient();
        options.batch_timeout = Duration::from_secs(5);
        let useless = hybrid(embedder, options).try_out().await;
        assert_eq!(useless.unwrap_err().reason, reason, "{what}");
    }
}

/// Every way in which an embedder can be of no use, and how that is told.
fn useless() -> Vec<(&'static str, Arc<dyn Embedder>, LeftOutReason)> {
    let vectors = |vector: fn(usize) -> Vec<f32>| {
        embedder_fn(move |_, texts| {
            let vectors = (0..texts.len()).map(vector).collect();
            async move { Ok(vectors) }.boxed()
        })
    };
    let error = |error: EmbedError| -> Arc<dyn Embedder> { Arc::new(NoEmbedder(error)) };
    let down = EmbedError::Unavailable("the server is down".to_owned());
    let missing = EmbedError::Misconfigured("no such folder".to_owned());
    vec![
        ("fails", error(down), LeftOutReason::Failed),
        (
            "misconfigured",
            error(missing),
            LeftOutReason::Misconfigured,
        ),
        (
            "numbers that are none",
            vectors(|_| vec![f32::NAN; 4]),
            LeftOutReason::Failed,
        ),
        (
            "infinite",
            vectors(|_| vec![f32::INFINITY, 1.0]),
            LeftOutReason::Failed,
        ),
        ("zero", vectors(|_| vec![0.0; 4]), LeftOutReason::Failed),
        ("empty", vectors(|_| Vec::new()), LeftOutReason::Failed),
        (
            "other sizes",
            vectors(|at| vec![1.0; at + 1]),
            LeftOutReason::Failed,
        ),
        (
            "too few",
            embedder_fn(|_, _| async { Ok(Vec::new()) }.boxed()),
            LeftOutReason::Failed,
        ),
        (
            "never",
            embedder_fn(|_, _| std::future::pending().boxed()),
            LeftOutReason::Slow,
        ),
        (
            "documents alone",
            embedder_fn(|role, texts| match role {
                TextRole::Query => std::future::pending().boxed(),
                TextRole::Document => {
                    async move { HashedWords::default().embed(role, &texts).await }.boxed()
                }
            }),
            LeftOutReason::Slow,
        ),
        (
            "queries of another size",
            embedder_fn(|role, texts| {
                let size = if role == TextRole::Query { 3 } else { 5 };
                async move { Ok(vec![vec![1.0; size]; texts.len()]) }.boxed()
            }),
            LeftOutReason::Failed,
        ),
    ]
}

#[tokio::test(start_paused = true)]
async fn an_embedder_of_no_use_costs_nothing_and_is_told() {
    for (what, embedder, reason) in useless() {
        let mut options = patient();
        options.batch_timeout = Duration::from_secs(5);
        let index = hybrid(embedder, options)
            .index(&office(), None)
            .await
            .unwrap();
        for query in [
            "create issue",
            "send a message to a person",
            "xylophone",
            "the of",
        ] {
            for limit in [1, 3, 8, 50] {
                let mut words = ask_words(&office(), query, limit).await;
                let mut response = ask(&*index, query, limit).await;
                let left_out = response.left_out.take();
                words.left_out = None;
                assert_eq!(response, words, "{what}: `{query}`");
                if words.reason == Some(EmptyReason::NoTerms) {
                    continue;
                }
                let left_out = left_out.unwrap_or_else(|| panic!("{what}: not told"));
                assert_eq!(left_out.reason, reason, "{what}: {left_out:?}");
                assert!(left_out.detail.len() < 400 && !left_out.detail.is_empty());
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_is_left_alone_for_a_while_and_then_asked_again() {
    let asked = Arc::new(AtomicUsize::new(0));
    let works = Arc::new(AtomicBool::new(false));
    let (count, switch) = (Arc::clone(&asked), Arc::clone(&works));
    let embedder = embedder_fn(move |role, texts| {
        let is_up = switch.load(Ordering::SeqCst) || role == TextRole::Document;
        count.fetch_add(usize::from(role == TextRole::Query), Ordering::SeqCst);
        async move {
            let down = EmbedError::Unavailable("down".to_owned());
            if is_up {
                HashedWords::default().embed(role, &texts).await
            } else {
                Err(down)
            }
        }
        .boxed()
    });
    let index = hybrid(embedder, patient())
        .index(&office(), None)
        .await
        .unwrap();
    for at in 0..20 {
        let response = ask(&*index, &format!("create issue {at}"), 5).await;
        assert_eq!(response.left_out.unwrap().reason, LeftOutReason::Failed);
    }
    let before = asked.load(Ordering::SeqCst);
    assert!(before <= 3, "asked {before} times");
    works.store(true, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(ask(&*index, "create issue", 5).await.left_out, None);
    let before = asked.load(Ordering::SeqCst);
    assert_eq!(ask(&*index, "create issue", 5).await.left_out, None);
    assert_eq!(
        asked.load(Ordering::SeqCst),
        before,
        "a known query is not asked again"
    );
}

#[tokio::test(start_paused = true)]
async fn searches_go_on_while_vectors_are_made_and_a_failure_is_tried_again() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let embedder = embedder_fn(move |role, texts| {
        let call = count.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::time::sleep(Duration::from_millis(400)).await;
            match call {
                0..3 => Err(EmbedError::Unavailable("busy".to_owned())),
                _ => HashedWords::default().embed(role, &texts).await,
            }
        }
        .boxed()
    });
    let mut options = patient();
    options.index_wait = Duration::ZERO;
    let index = hybrid(embedder, options)
        .build(&office(), None)
        .await
        .unwrap();
    let response = ask(&*index, "create issue", 5).await;
    assert_eq!(response.left_out.unwrap().reason, LeftOutReason::Indexing);
    assert!(!response.hits.is_empty());
    index.settle(Duration::from_secs(1)).await;
    let trouble = index.coverage().trouble.unwrap();
    assert!(trouble.detail.contains("busy"), "{trouble:?}");
    tokio::time::sleep(Duration::from_secs(600)).await;
    let coverage = index.coverage();
    assert!(
        coverage.is_done && coverage.trouble.is_none(),
        "{coverage:?}"
    );
    assert_eq!(coverage.present, coverage.tools);
    assert_eq!(ask(&*index, "create issue", 5).await.left_out, None);
}

#[tokio::test(start_paused = true)]
async fn an_index_that_is_gone_makes_no_more_vectors() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let embedder = embedder_fn(move |role, texts| {
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            HashedWords::default().embed(role, &texts).await
        }
        .boxed()
    });
    let mut options = patient();
    options.index_wait = Duration::from_millis(1_500);
    let index = hybrid(embedder, options)
        .index(&office(), None)
        .await
        .unwrap();
    let before = calls.load(Ordering::SeqCst);
    assert!(before >= 1);
    drop(index);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(calls.load(Ordering::SeqCst) <= before + 1);
}

#[test]
fn kept_vectors_are_not_made_again_and_answer_the_same() {
    block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let made = Arc::new(AtomicUsize::new(0));
        let start = || {
            let count = Arc::clone(&made);
            let embedder = embedder_fn(move |role, texts| {
                let documents = if role == TextRole::Document {
                    texts.len()
                } else {
                    0
                };
                count.fetch_add(documents, Ordering::SeqCst);
                async move { HashedWords::default().embed(role, &texts).await }.boxed()
            });
            let mut options = patient();
            options.folder = Some(folder.path().to_owned());
            hybrid(embedder, options)
        };
        let index = start().index(&shop(), None).await.unwrap();
        let first = ask(&*index, "weather in a city", 8).await;
        let texts = made.load(Ordering::SeqCst);
        assert_eq!(texts, 2 * shop().len());
        assert_eq!(start().kept(&shop()).await, shop().len());
        let again = start();
        let index = again.index(&shop(), None).await.unwrap();
        assert_eq!(ask(&*index, "weather in a city", 8).await, first);
        assert_eq!(made.load(Ordering::SeqCst), texts, "all were known");
        let mut grown = shop().entries().to_vec();
        grown.push(Arc::new(tool("meteo", "tides", "High and low water.")));
        let grown: Catalog = grown.into_iter().collect();
        again.index(&grown, Some(&index)).await.unwrap();
        assert_eq!(made.load(Ordering::SeqCst), texts + 2, "one tool is new");
        assert_eq!(again.kept(&grown).await, grown.len());
    });
}

fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "create", "issue", "delete", "search", "file", "pull", "request", "mail", "calendar",
        "天气",
    ]);
    prop::collection::vec(word, 1..5).prop_map(|words| words.join(" "))
}

fn tools() -> impl Strategy<Value = Catalog> {
    let one = (
        prop::sample::select(vec!["forge", "desk", "post"]),
        words(),
        words(),
    );
    prop::collection::vec(one, 1..40).prop_map(|rows| {
        let tools = rows
            .iter()
            .map(|(owner, name, text)| tool(owner, name, text));
        tools.collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Vectors of any directions: two thirds of an answer are what words alone would give first.
    #[test]
    fn most_of_every_answer_is_that_of_the_words(
        catalog in tools(),
        query in words(),
        limit in 1usize..20,
        seed in any::<u32>(),
    ) {
        let embedder = embedder_fn(move |_, texts| {
            let vectors = texts.iter().map(|text| {
                let mut sum = seed;
                let number = |byte: u32| {
                    sum = sum.wrapping_mul(1_664_525).wrapping_add(byte + 1_013_904_223);
                    f32::from(i16::from_ne_bytes([(sum >> 16) as u8, (sum >> 24) as u8]))
                };
                let bytes = text.bytes().cycle().take(text.len().max(8) + 8).map(u32::from);
                let numbers: Vec<f32> = bytes.map(number).collect();
                numbers[numbers.len() - 8..].to_vec()
            });
            let vectors = vectors.collect();
            async move { Ok(vectors) }.boxed()
        });
        block_on(async {
            let index = hybrid(Arc::clone(&embedder), patient()).index(&catalog, None).await.unwrap();
            let words = ask_words(&catalog, &query, limit).await;
            let response = ask(&*index, &query, limit).await;
            assert_eq!(response.left_out, None);
            assert!(response.hits.len() >= words.hits.len().min(limit));
            for (place, hit) in words.hits.iter().enumerate() {
                let lowest = place + 1 + place / 2;
                let at = response.hits.iter().position(|other| other.id == hit.id);
                assert!(lowest >= limit || at.is_some_and(|at| at <= lowest), "{} at {at:?}", hit.id);
            }
            let other = hybrid(embedder, patient()).index(&catalog, None).await.unwrap();
            assert_eq!(ask(&*other, &query, limit).await, response, "made afresh");
        });
    }
}
