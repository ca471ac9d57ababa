//! What may be set.

use std::path::PathBuf;
use std::time::Duration;

/// What may be set. Defaults suit a model on this machine.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// How words and meaning become one list.
    pub fusion: Fusion,
    /// How long a search waits for the vector of its query.
    pub query_timeout: Duration,
    /// How long the embedder is given for one batch of tools.
    pub batch_timeout: Duration,
    /// How long making an index waits for vectors; the rest is made while searches go on.
    pub index_wait: Duration,
    /// The folder in which vectors are kept from one start to the next; none: in memory alone.
    pub folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            fusion: Fusion::default(),
            query_timeout: Duration::from_millis(1_000),
            batch_timeout: Duration::from_secs(60),
            index_wait: Duration::from_millis(2_000),
            folder: None,
        }
    }
}

/// How words and meaning become one list. The defaults are what was measured best; see the README.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Fusion {
    /// What the nearest tool by meaning gains, where the best tool by words has 1.
    pub weight: f32,
    /// How much of a gain goes by the place in a list, from 0 to 1; the rest goes by the score. A list of
    /// which the first score stands alone says as little as one of which all are alike.
    pub by_place: f32,
    /// The place, counted from zero, at which what goes by the place is half of that of the first.
    pub half: f32,
    /// So many of the first hits by words never fall far below their place, whatever meaning says: the
    /// first stays among the first two, an answer of eight holds at least the first five.
    pub floor: usize,
    /// How far above the average of all others a tool must be to be found by meaning alone beside hits by words,
    /// in standard deviations of the others.
    pub beside: f32,
    /// The same where words find nothing.
    pub alone: f32,
    /// The same where no tool has a word in the script of the query. Only a model of many languages is asked.
    pub unread: f32,
    /// The least cosine there: where all tools are alike far, the first of them stands out by nothing.
    pub unread_cosine: f32,
    /// The least cosine of a tool that is found where words find nothing. Some models give high ones to
    /// everything; for them `alone` decides.
    pub alone_cosine: f32,
}

impl Default for Fusion {
    fn default() -> Self {
        Self {
            weight: 1.0,
            by_place: 0.5,
            half: 3.0,
            floor: 25,
            beside: 2.5,
            alone: 5.5,
            unread: 3.75,
            unread_cosine: 0.3,
            alone_cosine: 0.62,
        }
    }
}

impl Fusion {
    /// What a hit has of a list in which it stands at a place with a score from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a place of some hundred")]
    pub(crate) fn share(&self, place: usize, score: f32) -> f32 {
        let half = self.half.max(f32::MIN_POSITIVE);
        self.by_place * (half / (half + place as f32)) + (1.0 - self.by_place) * score
    }
}
