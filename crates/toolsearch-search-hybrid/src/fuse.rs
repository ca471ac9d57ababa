//! Two lists become one: arithmetic alone.

use crate::options::Fusion;

/// Tools that meaning may lift.
pub(crate) const NEAREST: usize = 100;
/// Fewer tools do not tell what is usual among them.
const FEW: usize = 8;
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
    /// What words have given of the score.
    pub(crate) words: f32,
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
    /// Of its nearest text.
    pub(crate) cosine: f32,
    /// How near it is among the nearest, from 0 to 1.
    pub(crate) nearness: f32,
    /// How far it stands out from all other tools, in their standard deviations.
    pub(crate) above: f32,
}

impl Nearest {
    /// The nearest of all tools. Takes the cosines of all texts of all tools for the query and then for each of
    /// its sentences. A tool is as near as the pair of a text and a sentence that stands out most among its
    /// kind: names are nearer to everything than descriptions are. One without a vector is near to nothing.
    pub(crate) fn of<const N: usize>(sentences: &[Vec<[Option<f32>; N]>]) -> Self {
        let kinds: Vec<[Kind; N]> = sentences
            .iter()
            .map(|tools| {
                std::array::from_fn(|at| Kind::of(tools.iter().filter_map(|tool| tool[at])))
            })
            .collect();
        let nearest = |position: usize| {
            let pairs = sentences.iter().zip(&kinds).flat_map(|(tools, kinds)| {
                let texts = tools[position].iter().zip(kinds);
                texts.filter_map(|(cosine, kind)| Some((kind.above((*cosine)?), (*cosine)?)))
            });
            let (above, cosine) = pairs.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))?;
            Some(Near {
                position,
                cosine,
                nearness: 1.0,
                above,
            })
        };
        let tools = sentences.iter().map(Vec::len).min().unwrap_or(0);
        let near = (0..tools).filter_map(nearest);
        let mut tools: Vec<Near> = near.collect();
        let count = tools.len();
        let order = |a: &Near, b: &Near| {
            let nearest = b.above.total_cmp(&a.above);
            nearest.then_with(|| a.position.cmp(&b.position))
        };
        if tools.len() > NEAREST {
            tools.select_nth_unstable_by(NEAREST - 1, order);
            tools.truncate(NEAREST);
        }
        tools.sort_by(order);
        let most = tools.first().map_or(0.0, |near| near.above);
        let least = tools.last().map_or(0.0, |near| near.above);
        if most > least {
            for near in &mut tools {
                near.nearness = (near.above - least) / (most - least);
            }
        }
        for near in &mut tools {
            near.above = beside_others(near.above, count);
        }
        Self { tools }
    }
}

/// How near texts of one kind are on average, and how much that varies.
#[derive(Debug, Clone, Copy)]
struct Kind {
    mean: f64,
    spread: f64,
}

impl Kind {
    #[expect(clippy::cast_precision_loss, reason = "counts of tools")]
    fn of(cosines: impl Iterator<Item = f32> + Clone) -> Self {
        let count = cosines.clone().count().max(1) as f64;
        let mean = cosines.clone().map(f64::from).sum::<f64>() / count;
        let squares = cosines.map(|cosine| (f64::from(cosine) - mean).powi(2));
        let spread = (squares.sum::<f64>() / count).sqrt().max(1e-6);
        Self { mean, spread }
    }

    #[expect(clippy::cast_possible_truncation, reason = "a few standard deviations")]
    fn above(self, cosine: f32) -> f32 {
        ((f64::from(cosine) - self.mean) / self.spread) as f32
    }
}

/// From how far a tool is above the average of all, in standard deviations of all, to the same over all
/// others. One of ten tools can be no more than 3 above an average that it is part of.
#[expect(clippy::cast_precision_loss, reason = "counts of tools")]
fn beside_others(above: f32, count: usize) -> f32 {
    if count < FEW || above <= 0.0 {
        return above;
    }
    let (all, others) = (count as f32, count as f32 - 1.0);
    // What all others vary by; rounding can bring it below zero.
    let left = (1.0 - above * above / others).max(1.0e-3);
    above * (all / others / left).sqrt()
}

/// One list of both, best first. Hits by words are at most [`DEPTH`], best first, all above zero. Equal
/// scores go by position. No hit by words is lost. `unread`: no tool has a word in the script of the query, so
/// that none was found says nothing.
pub(crate) fn fuse(
    words: &[ByWords],
    nearest: &Nearest,
    fusion: &Fusion,
    unread: bool,
) -> Vec<Fused> {
    let best = words.first().map_or(1.0, |hit| hit.score);
    let mut fused: Vec<Fused> = Vec::with_capacity(words.len() + NEAREST);
    for (place, hit) in words.iter().enumerate() {
        let share = fusion.share(place, hit.score / best);
        fused.push(Fused {
            position: hit.position,
            score: share,
            words: share,
            meaning: 0.0,
            by_words: Some(place),
        });
    }
    // Where the nearest tool is not near enough, those behind it only fill up the list.
    let is_found = nearest
        .tools
        .first()
        .is_some_and(|near| match words.is_empty() {
            true if unread => near.above >= fusion.unread && near.cosine >= fusion.unread_cosine,
            true => near.above >= fusion.alone && near.cosine >= fusion.alone_cosine,
            false => near.above >= fusion.beside,
        });
    for (place, near) in nearest.tools.iter().enumerate() {
        let gain = fusion.weight * fusion.share(place, near.nearness);
        match fused.iter_mut().find(|hit| hit.position == near.position) {
            Some(hit) => {
                hit.score += gain;
                hit.meaning = gain;
            }
            None if is_found && gain > 0.0 && near.above >= fusion.beside => fused.push(Fused {
                position: near.position,
                score: gain,
                words: 0.0,
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
