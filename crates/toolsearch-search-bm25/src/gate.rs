//! Whether an answer would only fill a list. Not here: the order of an answer.

use crate::document::Field;
use crate::index::Bm25Index;
use crate::options::Gate;
use crate::query::{Group, Origin, Query};
use crate::top::Scored;

/// The best tools that are asked whether one of them is meant.
const ASKED: usize = 3;

/// Whether what matches is too little to be what was meant.
pub(crate) fn refuses(index: &Bm25Index, query: &Query, ranked: &[Scored]) -> bool {
    let Some(gate) = index.parts.options.gate else {
        return false;
    };
    let counted = || query.groups.iter().filter(|group| counts(group));
    let sure = counted().all(|group| matches!(group.origin, Origin::Known | Origin::Foreign));
    if sure || counted().count() > gate.longest {
        return false;
    }
    let asked: f32 = counted().map(|group| expected(index, group)).sum();
    let mut best = ranked.iter().take(ASKED);
    !best.any(|scored| is_meant(index, query, scored.tool as usize, asked, gate))
}

fn is_meant(index: &Bm25Index, query: &Query, tool: usize, asked: f32, gate: Gate) -> bool {
    let mut covered = 0.0;
    let mut words = 0;
    for group in query.groups.iter().filter(|group| counts(group)) {
        let found = group.alternatives.iter().find_map(|one| {
            let fields = index.fields(tool, one.term);
            (!fields.is_empty()).then_some((one, fields))
        });
        let Some((one, fields)) = found else {
            continue;
        };
        let stands_in = |wanted: &[Field]| fields.iter().any(|(field, _)| wanted.contains(field));
        let share = if stands_in(&[Field::Name, Field::Title, Field::Owner]) {
            1.0
        } else if stands_in(&[Field::Description, Field::Tail]) {
            gate.description
        } else {
            gate.parameters
        };
        covered += expected(index, group) * one.weight * share;
        if group.origin != Origin::Guessed && one.weight >= 0.5 {
            words += 1;
            let rare = index.rarity(one.term) >= gate.owner * index.rarity_of(1);
            if words >= gate.words || (rare && stands_in(&[Field::Owner])) {
                return true;
            }
        }
    }
    covered >= gate.coverage * asked
}

/// Values of arguments and helpers of the order say nothing about what is meant.
fn counts(group: &Group) -> bool {
    group.mass > 0.0
}

/// A guess is as rare as the word that it was made for.
fn expected(index: &Bm25Index, group: &Group) -> f32 {
    match group.origin {
        Origin::Like | Origin::Guessed | Origin::Unknown => index.rarity_of(0),
        Origin::Known | Origin::Foreign => group.mass,
    }
}
