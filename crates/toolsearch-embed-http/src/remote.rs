//! The embedder.

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolsearch_search::{
    EmbedError, Embedder, MAX_BATCH, MAX_DIMENSIONS, MAX_TEXT_BYTES, TextRole,
};

use crate::answer;
use crate::endpoint::{BadAddress, Endpoint};

/// Texts of one request.
const BATCH: usize = 32;
/// Longest name of a model.
const MAX_MODEL_BYTES: usize = 200;

/// What may be set beside the address and the model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Options {
    /// Asks for vectors of this size, from models that can shorten theirs.
    pub dimensions: Option<usize>,
    /// Put before every query.
    pub query_prefix: String,
    /// Put before every document.
    pub document_prefix: String,
    /// Whether the model understands many languages. A server does not say.
    pub multilingual: bool,
}

/// A model behind an address.
#[derive(Debug, Clone)]
pub struct RemoteModel {
    endpoint: Endpoint,
    model: String,
    space: String,
    options: Options,
}

impl RemoteModel {
    /// `base` is the address before `/embeddings`, such as `https://api.example.com/v1`. The key goes out as
    /// a bearer token.
    ///
    /// # Errors
    /// [`BadAddress`] when no request can be sent with these.
    pub fn new(
        base: &str,
        key: Option<&str>,
        model: &str,
        options: Options,
    ) -> Result<Self, BadAddress> {
        if model.is_empty() || model.len() > MAX_MODEL_BYTES {
            return Err(BadAddress::Model);
        }
        if options
            .dimensions
            .is_some_and(|number| !(1..=MAX_DIMENSIONS).contains(&number))
        {
            return Err(BadAddress::Dimensions);
        }
        let endpoint = Endpoint::new(base, &["embeddings"], key)?;
        let Options {
            dimensions,
            query_prefix,
            document_prefix,
            multilingual: _,
        } = &options;
        let space = format!(
            "remote/{}/{model}/{dimensions:?}/{query_prefix:?}/{document_prefix:?}",
            endpoint.place()
        );
        Ok(Self {
            endpoint,
            model: model.to_owned(),
            space,
            options,
        })
    }

    fn body(&self, role: TextRole, texts: &[String]) -> Vec<u8> {
        let prefix = match role {
            TextRole::Query => &self.options.query_prefix,
            TextRole::Document => &self.options.document_prefix,
        };
        // Servers refuse empty texts.
        let text = |text: &String| {
            let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
            let rest = if text.trim().is_empty() { "-" } else { text };
            Value::String(format!("{prefix}{rest}"))
        };
        let mut body = Map::new();
        body.insert("model".to_owned(), json!(self.model));
        body.insert("input".to_owned(), texts.iter().map(text).collect());
        body.insert("encoding_format".to_owned(), json!("float"));
        if let Some(dimensions) = self.options.dimensions {
            body.insert("dimensions".to_owned(), json!(dimensions));
        }
        Value::Object(body).to_string().into_bytes()
    }
}

#[async_trait]
impl Embedder for RemoteModel {
    fn name(&self) -> &str {
        &self.model
    }

    fn space(&self) -> &str {
        &self.space
    }

    fn batch(&self) -> usize {
        BATCH
    }

    fn is_multilingual(&self) -> bool {
        self.options.multilingual
    }

    async fn embed(&self, role: TextRole, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        if texts.len() > MAX_BATCH {
            let what = format!("{} texts at once, over {MAX_BATCH}", texts.len());
            return Err(EmbedError::Unavailable(what));
        }
        let bytes = self.endpoint.post(self.body(role, texts)).await?;
        answer::read(&bytes, texts.len()).map_err(EmbedError::Unavailable)
    }
}
