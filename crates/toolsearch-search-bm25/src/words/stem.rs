//! English stems by the Snowball rules. Only words of lower-case ASCII letters come here.

use rust_stemmers::{Algorithm, Stemmer};

pub(crate) struct English {
    stemmer: Stemmer,
}

impl English {
    pub(crate) fn new() -> Self {
        Self {
            stemmer: Stemmer::create(Algorithm::English),
        }
    }

    pub(crate) fn stem(&self, word: &str) -> String {
        self.stemmer.stem(word).into_owned()
    }
}
