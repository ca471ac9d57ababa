//! Whether an answer would only fill a list. Not here: the order of an answer.

use crate::document::Field;
use crate::index::{Bm25Index, Term};
use crate::options::Gate;
use crate::query::{Group, Origin, Query};
use crate::top::Scored;

/// The best tools that are asked whether one of them is meant.
pub(crate) const ASKED: usize = 3;
/// A guess at least so sure counts as a word that was said.
const SURE: f32 = 0.7;
/// Alternatives of less weight are hints and not what was said.
const SAID: f32 = 0.5;

/// Whether what matches is too little to be what was meant.
pub(crate) fn refuses(index: &Bm25Index, query: &Query, ranked: &[Scored]) -> bool {
    let Some(gate) = index.parts.options.gate else {
        return false;
    };
    let counted: Vec<&Group> = query
        .groups
        .iter()
        .filter(|group| group.mass > 0.0)
        .collect();
    let sure = |group: &&Group| matches!(group.origin, Origin::Known | Origin::Foreign);
    let is_long = counted.len() > gate.longest || query.words > gate.longest_sentence;
    if counted.iter().all(sure) || is_long || query.is_foreign {
        return false;
    }
    if gate.questions_pass && query.is_question {
        return false;
    }
    let mut best = ranked.iter().take(ASKED);
    !best.any(|scored| is_meant(index, &counted, scored.place(), gate))
}

fn is_meant(index: &Bm25Index, groups: &[&Group], place: u32, gate: Gate) -> bool {
    let one_tool = index.rarity_of(1);
    let (mut covered, mut asked, mut owner) = (0.0, 0.0, 0.0);
    let (mut said, mut meant) = (0, 0);
    for group in groups {
        let sure = confidence(group);
        let expected = sure * group.mass + (1.0 - sure) * index.rarity_of(0);
        asked += expected;
        let Some(found) = Found::of(index, group, place) else {
            continue;
        };
        let share = if found.has(&[Field::Name, Field::Title, Field::Owner]) {
            1.0
        } else if found.has(&[Field::Description, Field::Tail]) {
            gate.description
        } else {
            gate.parameters
        };
        let weight = match group.origin {
            Origin::Guessed | Origin::Like => 1.0,
            _ => found.weight.min(1.0),
        };
        covered += expected * weight * share * sure;
        let is_telling = index.rarity(found.term) >= gate.telling * one_tool;
        if found.weight >= SAID && is_telling {
            said += usize::from(sure >= SURE);
            // A word of like meaning is believed in a name, and beside it what is no mere parameter.
            let is_like = group.origin == Origin::Like && share >= 1.0;
            meant += usize::from(is_like || (sure >= SURE && share > gate.parameters));
        }
        if found.weight >= SAID && found.has(&[Field::Owner]) {
            owner += index.rarity(found.term);
        }
    }
    let enough = gate.coverage[groups.len().saturating_sub(1).clamp(1, 3) - 1];
    covered >= enough * asked
        || said.max(meant) >= gate.words
        || (owner >= gate.owner * one_tool
            && owner >= gate.owner_share * name_of_owner(index, place))
}

/// The alternative of a group that a tool has.
struct Found {
    term: Term,
    weight: f32,
    fields: Vec<Field>,
}

impl Found {
    fn of(index: &Bm25Index, group: &Group, place: u32) -> Option<Self> {
        let mut best: Option<Self> = None;
        for one in &group.alternatives {
            if best.as_ref().is_some_and(|best| best.weight >= one.weight) {
                continue;
            }
            let fields: Vec<Field> = index
                .fields(place, one.term)
                .map(|(field, _)| field)
                .collect();
            if !fields.is_empty() {
                best = Some(Self {
                    term: one.term,
                    weight: one.weight,
                    fields,
                });
            }
        }
        best
    }

    fn has(&self, wanted: &[Field]) -> bool {
        self.fields.iter().any(|field| wanted.contains(field))
    }
}

/// The rarity of all words of an owner's name.
fn name_of_owner(index: &Bm25Index, place: u32) -> f32 {
    index
        .terms_in(place, Field::Owner)
        .map(|term| index.rarity(term))
        .sum()
}

/// How sure it is that the alternatives are what was said. One wrong letter in a short word makes
/// another word, in a long one it hardly does.
fn confidence(group: &Group) -> f32 {
    match (group.origin, group.letters) {
        (Origin::Known | Origin::Foreign, _) => 1.0,
        (Origin::Like, _) => 0.65,
        (Origin::Unknown, _) => 0.0,
        (Origin::Guessed, ..=4) => 0.25,
        (Origin::Guessed, 5) => 0.5,
        (Origin::Guessed, 6) => 0.75,
        (Origin::Guessed, _) => 0.9,
    }
}
