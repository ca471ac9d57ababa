//! The embedder: reads its model at the first text, works on threads for blocking work, and stops
//! between two layers when nobody waits any more.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use toolsearch_search::{EmbedError, Embedder, MAX_BATCH, MAX_TEXT_BYTES, TextRole};

use crate::encoder::Encoder;
use crate::error::{Fault, OpenError};
use crate::folder::Folder;
use crate::tokens::Tokens;

/// Texts that one call takes: few, so that a query never waits long behind them.
const BATCH: usize = 8;
/// Queries that are worked on at once, beside one call of documents.
const QUERIES_AT_ONCE: usize = 2;
/// Threads that work on documents at most.
const MAX_THREADS: usize = 8;
/// Longest message, in characters.
const MAX_MESSAGE_CHARS: usize = 300;

/// What may be set beside the folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// The name in logs and evidence; not set: `local`.
    pub name: Option<String>,
    /// Put before every query; not set: as the model says, or nothing.
    pub query_prefix: Option<String>,
    /// Put before every document; not set: as the model says, or nothing.
    pub document_prefix: Option<String>,
    /// Whether it understands many languages; not set: by the size of its vocabulary.
    pub multilingual: Option<bool>,
}

/// A sentence encoder of a folder. Cheap to clone; clones share the model.
///
/// Opening looks at the files and reads none of the weights. The first text reads them, some hundred
/// megabytes at most for the models that are known to work. Needs a tokio runtime.
#[derive(Debug, Clone)]
pub struct LocalModel {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    name: String,
    space: String,
    folder: Folder,
    loaded: OnceLock<Result<Arc<Loaded>, EmbedError>>,
    documents: Arc<Semaphore>,
    queries: Arc<Semaphore>,
}

#[derive(Debug)]
struct Loaded {
    encoder: Encoder,
    tokens: Tokens,
    /// Threads on which texts are worked on. A query is so little work that a second thread would only
    /// wait for the first; documents leave half of the machine to others.
    query_threads: ThreadPool,
    document_threads: ThreadPool,
}

impl LocalModel {
    /// Looks for a model in a folder, or takes one packed file.
    ///
    /// # Errors
    /// [`OpenError`] when there is none or it is of a kind that is not supported.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        let mut folder = Folder::open(path)?;
        let Options {
            name,
            query_prefix,
            document_prefix,
            multilingual,
        } = options;
        folder.query_prefix = query_prefix.unwrap_or(folder.query_prefix);
        folder.document_prefix = document_prefix.unwrap_or(folder.document_prefix);
        folder.is_multilingual = multilingual.unwrap_or(folder.is_multilingual);
        let space = format!(
            "local/{}/{}/{:?}/{:?}",
            folder.fingerprint, folder.most_tokens, folder.query_prefix, folder.document_prefix
        );
        Ok(Self {
            shared: Arc::new(Shared {
                name: name.unwrap_or_else(|| "local".to_owned()),
                space,
                folder,
                loaded: OnceLock::new(),
                documents: Arc::new(Semaphore::new(1)),
                queries: Arc::new(Semaphore::new(QUERIES_AT_ONCE)),
            }),
        })
    }

    /// The model. Whoever comes first reads it, on a thread for blocking work that goes on when nobody
    /// waits any more: what was read is read for all.
    async fn loaded(&self) -> Result<Arc<Loaded>, EmbedError> {
        if let Some(loaded) = self.shared.loaded.get() {
            return loaded.clone();
        }
        let shared = Arc::clone(&self.shared);
        let read = spawn_blocking(move || shared.loaded.get_or_init(|| shared.read()).clone());
        read.await
            .unwrap_or_else(|_| Err(misconfigured("the files of the model cannot be read")))
    }
}

impl Shared {
    fn read(&self) -> Result<Arc<Loaded>, EmbedError> {
        let (encoder, tokens) = self
            .folder
            .load()
            .map_err(|error| misconfigured(&told(&error)))?;
        let threads = |count: usize| {
            let named = ThreadPoolBuilder::new().thread_name(|at| format!("embed-{at}"));
            let pool = named.num_threads(count).build();
            pool.map_err(|error| misconfigured(&format!("no threads can be started: {error}")))
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Arc::new(Loaded {
            encoder,
            tokens,
            query_threads: threads(1)?,
            document_threads: threads((cores / 2).clamp(1, MAX_THREADS))?,
        }))
    }
}

#[async_trait]
impl Embedder for LocalModel {
    fn name(&self) -> &str {
        &self.shared.name
    }

    fn space(&self) -> &str {
        &self.shared.space
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn is_multilingual(&self) -> bool {
        self.shared.folder.is_multilingual
    }

    async fn warm(&self) -> Result<(), EmbedError> {
        self.loaded().await.map(drop)
    }

    async fn embed(&self, role: TextRole, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        if texts.len() > MAX_BATCH {
            return Err(EmbedError::Unavailable(format!(
                "{} texts at once, over {MAX_BATCH}",
                texts.len()
            )));
        }
        let folder = &self.shared.folder;
        let (prefix, permits) = match role {
            TextRole::Query => (&folder.query_prefix, &self.shared.queries),
            TextRole::Document => (&folder.document_prefix, &self.shared.documents),
        };
        let texts: Vec<String> = texts
            .iter()
            .map(|text| format!("{prefix}{}", beginning(text)))
            .collect();
        let most = folder.most_tokens;
        let loaded = self.loaded().await?;
        let permit = Arc::clone(permits).acquire_owned().await;
        let permit = permit.map_err(|_| unavailable("the model is being closed"))?;
        let stop = StopOnDrop::default();
        let cancelled = Arc::clone(&stop.0);
        let work = spawn_blocking(move || {
            let _until_done = permit;
            let threads = match role {
                TextRole::Query => &loaded.query_threads,
                TextRole::Document => &loaded.document_threads,
            };
            threads.install(|| loaded.embed(&texts, most, &cancelled))
        });
        match work.await {
            Ok(Ok(vectors)) => Ok(vectors),
            Ok(Err(fault)) => Err(unavailable(&fault.to_string())),
            Err(_) => Err(unavailable("the model cannot read this text")),
        }
    }
}

impl Loaded {
    /// A batch goes through at once; what a text gets does not depend on the others.
    fn embed(
        &self,
        texts: &[String],
        most: usize,
        cancelled: &AtomicBool,
    ) -> Result<Vec<Vec<f32>>, Fault> {
        let most = most.min(self.encoder.sizes().longest());
        let mut vectors = Vec::with_capacity(texts.len());
        for some in texts.chunks(BATCH) {
            let tokens = some.iter().map(|text| self.tokens.of(text, most));
            let tokens = tokens.collect::<Result<Vec<_>, _>>()?;
            vectors.extend(self.encoder.encode(&tokens, cancelled)?);
        }
        Ok(vectors)
    }
}

/// Tells the work that nobody waits for it.
#[derive(Debug, Default)]
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// As much of a text as is allowed.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}

fn unavailable(text: &str) -> EmbedError {
    EmbedError::Unavailable(bounded(text))
}

fn misconfigured(text: &str) -> EmbedError {
    EmbedError::Misconfigured(bounded(text))
}

/// An error with its cause.
fn told(error: &OpenError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn bounded(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    printable.take(MAX_MESSAGE_CHARS).collect()
}
