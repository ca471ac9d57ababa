//! The ranker as the configuration wants it: words alone, or words and meaning. An embedder that cannot be
//! had costs no search; it gives its reason to every answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolsearch::search::{EmbedError, Embedder, ExactFirst, NoEmbedder, Ranker};
use toolsearch::search_bm25::Bm25;
use toolsearch_config::{EmbedderChoice, SearchOptions, expand};
use toolsearch_embed_http::RemoteModel;
use toolsearch_search_hybrid::{Hybrid, Options};

use super::Purpose;
use super::configuration::{Configuration, variable};
use super::indexing::InBackground;
use super::models;

/// How long a person at a terminal waits for vectors before the first answer.
const PERSON_WAITS: Duration = Duration::from_secs(5);
/// The same for a model's session, which has to be there quickly.
const MODEL_WAITS: Duration = Duration::from_millis(300);
/// The model where none is named.
const USUAL_MODEL: &str = "all-minilm-l6-v2";

/// The ranker in force.
pub(super) fn ranker(configuration: &Configuration, purpose: &Purpose) -> Arc<dyn Ranker> {
    let ranker: Arc<dyn Ranker> = match hybrid(configuration, purpose) {
        Some(hybrid) => Arc::new(ExactFirst(hybrid)),
        None => Arc::new(ExactFirst(Bm25::default())),
    };
    match purpose {
        // A client gets its list while the index is made.
        Purpose::Model => Arc::new(InBackground(ranker)),
        _ => ranker,
    }
}

/// Words and meaning, if meaning is wanted.
pub(crate) fn hybrid(configuration: &Configuration, purpose: &Purpose) -> Option<Hybrid> {
    let search = &configuration.effective.search.value;
    let embedder = match search.embedder.unwrap_or_default() {
        EmbedderChoice::Local => local(configuration, search),
        EmbedderChoice::Http => http(search),
        _ => return None,
    };
    let embedder =
        embedder.unwrap_or_else(|what| Arc::new(NoEmbedder(EmbedError::Misconfigured(what))));
    let mut options = Options::default();
    options.query_timeout = search.timeout();
    options.folder = models::vectors_folder();
    options.index_wait = match purpose {
        Purpose::Command => PERSON_WAITS,
        _ => MODEL_WAITS,
    };
    Some(Hybrid::new(Arc::new(Bm25::default()), embedder, options))
}

/// A model that was got by its name, or a folder.
fn local(
    configuration: &Configuration,
    search: &SearchOptions,
) -> Result<Arc<dyn Embedder>, String> {
    let written = search.model.as_deref().unwrap_or(USUAL_MODEL);
    let (name, folder) = match models::known(written) {
        Some(model) => {
            let folder = model.present().ok_or_else(|| {
                format!(
                    "the model {written} is not here; get it with `toolsearch model get {written}`"
                )
            })?;
            (model.name.to_owned(), folder)
        }
        None => {
            let folder = configuration.path(written);
            if !folder.exists() {
                return Err(format!(
                    "`{written}` is neither a model of `toolsearch model list` nor a folder"
                ));
            }
            let name = folder
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            (name.unwrap_or_else(|| "local".to_owned()), folder)
        }
    };
    open(name, folder, search)
}

#[cfg(feature = "semantic")]
fn open(
    name: String,
    folder: PathBuf,
    search: &SearchOptions,
) -> Result<Arc<dyn Embedder>, String> {
    let mut options = toolsearch_embed_candle::Options::default();
    options.name = Some(name);
    options.query_prefix.clone_from(&search.query_prefix);
    options.document_prefix.clone_from(&search.document_prefix);
    options.multilingual = search.multilingual;
    match toolsearch_embed_candle::LocalModel::open(&folder, options) {
        Ok(model) => Ok(Arc::new(model)),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(not(feature = "semantic"))]
fn open(_: String, _: PathBuf, _: &SearchOptions) -> Result<Arc<dyn Embedder>, String> {
    Err(
        "this build runs no local models; build toolsearch-cli with `--features semantic`, or set \
         `embedder` to \"http\""
            .to_owned(),
    )
}

/// Whether this build runs local models.
pub(crate) const fn runs_local_models() -> bool {
    cfg!(feature = "semantic")
}

fn http(search: &SearchOptions) -> Result<Arc<dyn Embedder>, String> {
    let base = search.base_url.as_deref();
    let base = base.ok_or("`search.baseUrl` is not set; it is the address before `/embeddings`")?;
    let model = search.model.as_deref();
    let model = model.ok_or("`search.model` is not set; it is what the server calls its model")?;
    let filled = |key: &str, template: &str| {
        expand(template, &variable).map_err(|unset| format!("`search.{key}`: {unset}"))
    };
    let base = filled("baseUrl", base)?;
    let key = search.api_key.as_ref();
    let key = key.map(|key| filled("apiKey", key.expose())).transpose()?;
    let mut options = toolsearch_embed_http::Options::default();
    options.dimensions = search
        .dimensions
        .and_then(|number| usize::try_from(number).ok());
    options.query_prefix = search.query_prefix.clone().unwrap_or_default();
    options.document_prefix = search.document_prefix.clone().unwrap_or_default();
    options.multilingual = search.multilingual.unwrap_or_default();
    match RemoteModel::new(&base, key.as_deref(), model, options) {
        Ok(model) => Ok(Arc::new(model)),
        Err(error) => Err(format!("`search`: {error}")),
    }
}
