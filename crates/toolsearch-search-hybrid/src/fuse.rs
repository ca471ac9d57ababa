//! Two lists become one: arithmetic alone.

use crate::options::Fusion;

/// Tools that meaning may lift.
pub(crate) const NEAREST: usize = 100;
/// Hits by words that are weighed against meaning.
pub(crate) const DEPTH: usize = 200;

/// A hit by words.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ByWords {
    pub(crate) position: usize,
    pub(crate) score: f32,
}

/// A hit of the one list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fused {
    pub(crate) position: usize,
    pub(crate) score: f32,
    /// What meaning has given of the score.
    pub(crate) meaning: f32,
    /// The place among the hits by words.
    pub(crate) by_words: Option<usize>,
}

/// The tools that are nearest by meaning, the nearest first.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Nearest {
    pub(crate) tools: Vec<Near>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Near {
    /// The place in the catalog.
    pub(crate) position: usize,
    pub(crate) cosine: f32,
    /// What it gains, from 0 to 1.
    pub(crate) gain: f32,
    /// How far it is above the average, in standard deviations over the catalog.
    pub(crate) above: f32,
}

impl Nearest {
    /// The nearest of all tools; a tool without a vector is near to nothing.
    #[expect(clippy::cast_precision_loss, reason = "counts of tools")]
    pub(crate) fn of(cosines: &[Option<f32>]) -> Self {
        let mut near: Vec<(usize, f32)> = cosines
            .iter()
            .enumerate()
            .filter_map(|(position, cosine)| Some((position, (*cosine)?)))
            .collect();
        let count = near.len().max(1) as f64;
        let mean = near
            .iter()
            .map(|(_, cosine)| f64::from(*cosine))
            .sum::<f64>()
            / count;
        let square = |cosine: f32| (f64::from(cosine) - mean).powi(2);
        let spread = near.iter().map(|(_, cosine)| square(*cosine)).sum::<f64>() / count;
        let spread = spread.sqrt().max(1e-6);
        let order =
            |a: &(usize, f32), b: &(usize, f32)| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0));
        if near.len() > NEAREST {
            near.select_nth_unstable_by(NEAREST - 1, order);
            near.truncate(NEAREST);
        }
        near.sort_by(order);
        let most = near.first().map_or(0.0, |near| near.1);
        let least = near.last().map_or(0.0, |near| near.1);
        let range = most - least;
        let gain = |cosine: f32| {
            if range > 0.0 {
                (cosine - least) / range
            } else {
                1.0
            }
        };
        #[expect(clippy::cast_possible_truncation, reason = "a few standard deviations")]
        let above = |cosine: f32| ((f64::from(cosine) - mean) / spread) as f32;
        let tools = near.iter().map(|(position, cosine)| Near {
            position: *position,
            cosine: *cosine,
            gain: gain(*cosine),
            above: above(*cosine),
        });
        Self {
            tools: tools.collect(),
        }
    }
}

/// One list of both, best first. Hits by words are at most [`DEPTH`], best first, all above zero. Equal
/// scores go by position. No hit by words is lost.
pub(crate) fn fuse(words: &[ByWords], nearest: &Nearest, fusion: &Fusion) -> Vec<Fused> {
    let best = words.first().map_or(1.0, |hit| hit.score);
    let mut fused: Vec<Fused> = Vec::with_capacity(words.len() + NEAREST);
    for (place, hit) in words.iter().enumerate() {
        fused.push(Fused {
            position: hit.position,
            score: hit.score / best,
            meaning: 0.0,
            by_words: Some(place),
        });
    }
    // Where the nearest tool is not near enough, those behind it only fill up the list.
    let is_found = nearest
        .tools
        .first()
        .is_some_and(|near| match words.is_empty() {
            true => near.above >= fusion.alone && near.cosine >= fusion.alone_cosine,
            false => near.above >= fusion.beside,
        });
    for near in &nearest.tools {
        let gain = fusion.weight * near.gain;
        match fused.iter_mut().find(|hit| hit.position == near.position) {
            Some(hit) => {
                hit.score += gain;
                hit.meaning = gain;
            }
            None if is_found && gain > 0.0 && near.above >= fusion.beside => fused.push(Fused {
                position: near.position,
                score: gain,
                meaning: gain,
                by_words: None,
            }),
            None => {}
        }
    }
    let order = |a: &Fused, b: &Fused| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.position.cmp(&b.position))
    };
    fused.sort_by(order);
    raise(&mut fused, fusion.floor);
    fused
}

/// The furthest place at which the hit by words of a place may stand, both counted from zero: two thirds of
/// every beginning of an answer are safe.
pub(crate) const fn lowest(place: usize) -> usize {
    place + 1 + place / 2
}

/// Lifts hits by words to the place that they must not fall below, in their order: lifting one moves only
/// what stands behind the safe places of those before it.
fn raise(fused: &mut [Fused], floor: usize) {
    for place in 0..floor {
        let Some(at) = fused.iter().position(|hit| hit.by_words == Some(place)) else {
            break;
        };
        let to = lowest(place);
        if at > to {
            fused[to..=at].rotate_right(1);
        }
    }
    // A list goes by score and then by position, so what was lifted scores a little more than what it
    // stands before.
    for at in (1..fused.len()).rev() {
        let (before, after) = (fused[at - 1], fused[at]);
        let is_in_order = before.score > after.score
            || (before.score >= after.score && before.position < after.position);
        if !is_in_order {
            fused[at - 1].score = after.score.next_up();
        }
    }
}
