//! Texts become tokens, at most as many as fit.

use tokenizers::Tokenizer;

use crate::error::Fault;
use crate::unigram::Unigram;

/// How a model cuts texts.
#[derive(Debug)]
pub(crate) enum Tokens {
    /// A `tokenizer.json`.
    Published(Box<Tokenizer>),
    /// The table of a packed model.
    Packed(Unigram),
}

impl Tokens {
    pub(crate) fn published(bytes: &[u8]) -> Result<Self, Fault> {
        let mut tokenizer = Tokenizer::from_bytes(bytes)
            .map_err(|error| Fault::form(format!("no tokenizer: {error}")))?;
        tokenizer.with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| Fault::form(error.to_string()))?;
        Ok(Self::Published(Box::new(tokenizer)))
    }

    /// At least one token and at most `most`, which is at least 3. Of a longer text the beginning
    /// counts; its end mark stays.
    pub(crate) fn of(&self, text: &str, most: usize) -> Result<Vec<u32>, Fault> {
        let mut tokens = match self {
            Self::Published(tokenizer) => tokenizer
                .encode_fast(text, true)
                .map_err(|error| Fault::form(format!("a text cannot be read: {error}")))?
                .get_ids()
                .to_vec(),
            Self::Packed(unigram) => unigram.tokens(text),
        };
        if tokens.len() > most {
            let end = tokens.last().copied();
            tokens.truncate(most - 1);
            tokens.extend(end);
        }
        if tokens.is_empty() {
            return Err(Fault::form("the tokenizer gives no tokens"));
        }
        Ok(tokens)
    }
}
