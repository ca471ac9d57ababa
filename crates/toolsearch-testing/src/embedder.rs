//! `Embedder`: [`HashedWords`] makes vectors of words, [`embedder_fn`] does what a test says, [`conforms`]
//! holds an embedder to its contract.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use toolsearch_search::{
    EmbedError, Embedder, MAX_BATCH, MAX_DIMENSIONS, MAX_TEXT_BYTES, TextRole,
};

use crate::wait::in_time;

/// Calls at once.
const AT_ONCE: usize = 6;
/// Vectors of one text may differ by this much, since arithmetic goes by batch.
const ALIKE: f32 = 0.999;

/// A small honest embedder: every word adds one to a dimension that depends on it, words that stand for the
/// same in `same` to the same one. Texts that share words are near.
#[derive(Debug, Clone, Default)]
pub struct HashedWords {
    /// Words, each with the word that it is taken for.
    pub same: Vec<(String, String)>,
}

/// Dimensions of [`HashedWords`].
const DIMENSIONS: usize = 512;

impl HashedWords {
    /// With words that mean the same.
    #[must_use]
    pub fn with<const N: usize>(same: [(&str, &str); N]) -> Self {
        Self {
            same: same.map(|(a, b)| (a.to_owned(), b.to_owned())).into(),
        }
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0; DIMENSIONS];
        // Also a text without words has a direction.
        vector[0] = 0.1;
        let lower = text.to_lowercase();
        for word in lower.split(|c: char| !c.is_alphanumeric()) {
            let same = self.same.iter().find(|(a, _)| a == word);
            let word = same.map_or(word, |(_, b)| b);
            if !word.is_empty() {
                let sum = word.bytes().fold(5381_usize, |sum, byte| {
                    sum.wrapping_mul(33).wrapping_add(usize::from(byte))
                });
                vector[1 + sum % (DIMENSIONS - 1)] += 1.0;
            }
        }
        vector
    }
}

#[async_trait]
impl Embedder for HashedWords {
    fn name(&self) -> &str {
        "hashed-words"
    }

    fn space(&self) -> &str {
        "hashed-words/1"
    }

    async fn embed(&self, _: TextRole, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }
}

/// What a test's embedder gives.
pub type Embedding = BoxFuture<'static, Result<Vec<Vec<f32>>, EmbedError>>;

/// An embedder that does what a function says, also what no embedder may do.
pub fn embedder_fn(
    answer: impl Fn(TextRole, Vec<String>) -> Embedding + Send + Sync + 'static,
) -> Arc<dyn Embedder> {
    Arc::new(EmbedderFn(Box::new(answer)))
}

type Answer = dyn Fn(TextRole, Vec<String>) -> Embedding + Send + Sync;

struct EmbedderFn(Box<Answer>);

impl fmt::Debug for EmbedderFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmbedderFn")
    }
}

#[async_trait]
impl Embedder for EmbedderFn {
    fn name(&self) -> &str {
        "scripted"
    }

    fn space(&self) -> &str {
        "scripted"
    }

    fn batch(&self) -> usize {
        4
    }

    async fn embed(&self, role: TextRole, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        (self.0)(role, texts.to_vec()).await
    }
}

/// Holds an embedder that works to the rules of the contract; `make` gives an equal one each time.
///
/// # Panics
/// At the first broken rule.
pub async fn conforms(make: impl Fn() -> Arc<dyn Embedder>) {
    let (embedder, again) = (make(), make());
    assert!(!embedder.name().is_empty(), "an embedder has a name");
    assert!(!embedder.space().is_empty(), "an embedder has a space");
    let spaces = (embedder.space(), again.space());
    assert_eq!(spaces.0, spaces.1, "equal embedders share a space");
    let batch = embedder.batch();
    assert!((1..=MAX_BATCH).contains(&batch), "a batch of {batch}");
    let warm = in_time("an embedder gets ready", embedder.warm()).await;
    warm.unwrap_or_else(|error| panic!("an embedder that works gets ready: {error}"));
    let none = embed(&*embedder, TextRole::Query, &[]).await;
    assert!(none.is_empty(), "no texts, no vectors");
    any_text_has_a_vector(&*embedder).await;
    a_text_does_not_depend_on_others(&*embedder, &*again).await;
    meaning_is_direction(&*embedder).await;
    calls_run_at_once(&embedder).await;
    a_dropped_call_costs_nothing(&*embedder).await;
}

async fn any_text_has_a_vector(embedder: &dyn Embedder) {
    let texts: Vec<String> = [
        "",
        " ",
        "\0\u{7}\u{1b}[31m",
        "\u{202e}\u{200b}\u{feff}",
        "👩‍👩‍👧🚀",
        "create an issue",
        "天气预报 поиск بحث",
        "{\"input\": [\"x\"]}",
        "<|endoftext|> [CLS] [SEP] </s>",
    ]
    .map(str::to_owned)
    .into_iter()
    .chain([
        "x".repeat(MAX_TEXT_BYTES),
        "word ".repeat(MAX_TEXT_BYTES / 5),
    ])
    .collect();
    let mut dimensions = None;
    for role in [TextRole::Query, TextRole::Document] {
        for some in texts.chunks(embedder.batch()) {
            for vector in embed(embedder, role, some).await {
                let expected = *dimensions.get_or_insert(vector.len());
                assert_eq!(vector.len(), expected, "all vectors are of one size");
            }
        }
    }
}

async fn a_text_does_not_depend_on_others(embedder: &dyn Embedder, again: &dyn Embedder) {
    let texts = ["create an issue", "a", "weather of a city in the next days"].map(str::to_owned);
    let some = &texts[..embedder.batch().min(texts.len())];
    for role in [TextRole::Query, TextRole::Document] {
        let together = embed(embedder, role, some).await;
        let mut turned = some.to_vec();
        turned.reverse();
        let mut turned = embed(again, role, &turned).await;
        turned.reverse();
        for (at, text) in some.iter().enumerate() {
            let alone = embed(embedder, role, std::slice::from_ref(text)).await;
            for other in [&alone[0], &turned[at]] {
                let cosine = cosine(&together[at], other);
                assert!(cosine > ALIKE, "`{text}` has two vectors: {cosine}");
            }
        }
    }
}

/// Not that it is clever: a text is nearer to itself than to another one.
async fn meaning_is_direction(embedder: &dyn Embedder) {
    let ask = async |role, text: &str| {
        let mut vectors = embed(embedder, role, &[text.to_owned()]).await;
        vectors.remove(0)
    };
    let (weather, issue) = (
        "weather forecast of a city",
        "create an issue in a repository",
    );
    let query = ask(TextRole::Query, weather).await;
    let near = cosine(&query, &ask(TextRole::Document, weather).await);
    let far = cosine(&query, &ask(TextRole::Document, issue).await);
    assert!(
        near > far,
        "`{weather}`: {near} to itself, {far} to `{issue}`"
    );
}

async fn calls_run_at_once(embedder: &Arc<dyn Embedder>) {
    let texts = ["find a file".to_owned()];
    let expected = embed(&**embedder, TextRole::Document, &texts).await;
    let mut tasks = Vec::new();
    for _ in 0..AT_ONCE {
        let (embedder, texts) = (Arc::clone(embedder), texts.clone());
        tasks.push(tokio::spawn(async move {
            embed(&*embedder, TextRole::Document, &texts).await
        }));
    }
    for task in tasks {
        let vectors = task.await.expect("because an embedder must not panic");
        let cosine = cosine(&vectors[0], &expected[0]);
        assert!(
            cosine > ALIKE,
            "calls at once answer like one alone: {cosine}"
        );
    }
}

async fn a_dropped_call_costs_nothing(embedder: &dyn Embedder) {
    let texts = vec!["a text that nobody waits for".to_owned(); embedder.batch()];
    for _ in 0..AT_ONCE {
        let mut call = std::pin::pin!(embedder.embed(TextRole::Document, &texts));
        let first = futures::poll!(call.as_mut());
        drop(first);
    }
    embed(embedder, TextRole::Document, &texts).await;
}

/// Asks, and checks what every answer must be.
async fn embed(embedder: &dyn Embedder, role: TextRole, texts: &[String]) -> Vec<Vec<f32>> {
    let vectors = in_time("texts get vectors", embedder.embed(role, texts))
        .await
        .unwrap_or_else(|error| panic!("any text is valid: {error}"));
    assert_eq!(vectors.len(), texts.len(), "one vector for each text");
    for vector in &vectors {
        let size = vector.len();
        assert!((1..=MAX_DIMENSIONS).contains(&size), "{size} dimensions");
        let is_sound = vector.iter().all(|number| number.is_finite())
            && vector.iter().any(|number| *number != 0.0);
        assert!(is_sound, "a vector has a direction");
    }
    vectors
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}
