//! Fusing as arithmetic, and the file of vectors.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use crate::fuse::{ByWords, Fused, Nearest, fuse, lowest};
use crate::options::Fusion;
use crate::row::Row;
use crate::store::{MAX_BYTES, Store, key};

fn by_words(scores: &[(usize, f32)]) -> Vec<ByWords> {
    let hit = |(position, score): &(usize, f32)| ByWords {
        position: *position,
        score: *score,
    };
    scores.iter().map(hit).collect()
}

/// How near the texts of a tool are.
type Cosines = [Option<f32>; 2];

/// Hits by words in order, and a cosine for each tool of a catalog.
fn both() -> impl Strategy<Value = (Vec<ByWords>, Vec<Cosines>)> {
    (1usize..160).prop_flat_map(|tools| {
        let cosine = || prop::option::weighted(0.9, -1.0f32..1.0);
        let cosine = (cosine(), cosine()).prop_map(|(text, name)| [text, name]);
        let scores = prop::collection::btree_map(0..tools, 0.01f32..50.0, 0..tools.min(40));
        (scores, prop::collection::vec(cosine, tools)).prop_map(|(scores, cosines)| {
            let mut scores: Vec<(usize, f32)> = scores.into_iter().collect();
            scores.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
            (by_words(&scores), cosines)
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_list_is_in_order_and_loses_no_word(
        (words, cosines) in both(),
        weight in 0.0f32..4.0,
        beside in 0.0f32..3.0,
    ) {
        let fusion = Fusion { weight, beside, ..Fusion::default() };
        let fused = fuse(&words, &Nearest::of(&[cosines]), &fusion, false);
        for pair in fused.windows(2) {
            let falls = pair[0].score > pair[1].score;
            let tie = pair[0].score >= pair[1].score && pair[0].position < pair[1].position;
            prop_assert!(falls || tie, "{:?}", pair);
        }
        prop_assert!(fused.iter().all(|hit| hit.score > 0.0 && hit.score.is_finite()));
        for (place, hit) in words.iter().enumerate() {
            let at = fused.iter().position(|one| one.position == hit.position);
            prop_assert!(at.is_some(), "{:?} is lost", hit);
            if place < fusion.floor {
                prop_assert!(at <= Some(lowest(place)), "{} stands at {:?}", place, at);
            }
        }
    }

    #[test]
    fn without_vectors_the_list_is_that_of_the_words((words, cosines) in both()) {
        let none = vec![[None; 2]; cosines.len()];
        let fused = fuse(&words, &Nearest::of(&[none]), &Fusion::default(), false);
        let order = |hits: &[Fused]| hits.iter().map(|hit| hit.position).collect::<Vec<_>>();
        let expected: Vec<usize> = words.iter().map(|hit| hit.position).collect();
        prop_assert_eq!(order(&fused), expected);
    }
}

/// The one that is found where words find nothing.
fn alone(cosines: &[Cosines], unread: bool) -> Option<usize> {
    let fused = fuse(
        &[],
        &Nearest::of(&[cosines.to_vec()]),
        &Fusion::default(),
        unread,
    );
    fused.first().map(|hit| hit.position)
}

fn crowd() -> Vec<Cosines> {
    let one = |at: u8| Some(f32::from(at % 20) / 100.0);
    (0..200).map(|at| [one(at), one(at / 2)]).collect()
}

#[test]
fn what_is_only_a_little_nearer_than_the_rest_is_not_found() {
    let mut cosines = crowd();
    assert_eq!(alone(&cosines, false), None);
    cosines[7][0] = Some(0.5);
    let far = "far above the rest, and still not near";
    assert_eq!(alone(&cosines, false), None, "{far}");
    cosines[7][0] = Some(0.8);
    assert_eq!(alone(&cosines, false), Some(7));
    assert_eq!(alone(&[], false), None);
    assert_eq!(alone(&[[Some(0.9), None]], false), None);
}

#[test]
fn what_no_tool_can_be_read_for_is_found_by_less_and_not_by_nothing() {
    let mut cosines = crowd();
    assert_eq!(alone(&cosines, true), None);
    cosines[7][0] = Some(0.35);
    assert_eq!(alone(&cosines, true), Some(7));
    assert_eq!(alone(&cosines, false), None);
}

#[test]
fn one_of_few_tools_can_stand_out_too() {
    let mut cosines = crowd()[..12].to_vec();
    assert_eq!(alone(&cosines, false), None);
    assert_eq!(alone(&cosines, true), None);
    cosines[7][0] = Some(0.8);
    assert_eq!(alone(&cosines, false), Some(7));
    assert_eq!(alone(&cosines, true), Some(7));
    assert_eq!(alone(&cosines[5..11], true), None, "too few to tell");
}

#[test]
fn how_far_a_tool_stands_out_is_measured_on_the_others() {
    let mut cosines = vec![0.2, 0.3, 0.1, 0.25, 0.15, 0.3, 0.2, 0.1, 0.2, 0.6];
    let one = |cosine: &f32| [Some(*cosine), None];
    let near = Nearest::of(&[cosines.iter().map(one).collect::<Vec<_>>()]).tools[0];
    assert_eq!(near.position, 9);
    let best = cosines.pop().expect("ten");
    let mean = cosines.iter().sum::<f32>() / 9.0;
    let spread = (cosines.iter().map(|c| (c - mean).powi(2)).sum::<f32>() / 9.0).sqrt();
    assert!(
        (near.above - (best - mean) / spread).abs() < 0.01,
        "{}",
        near.above
    );
}

fn nearest(sentences: &[Vec<Cosines>]) -> Vec<usize> {
    let nearest = Nearest::of(sentences).tools;
    nearest.iter().map(|near| near.position).collect()
}

#[test]
fn a_tool_is_as_near_as_the_text_that_stands_out_most_among_its_kind() {
    let mut cosines = crowd();
    cosines[40][1] = Some(0.99);
    assert_eq!(nearest(&[cosines.clone()])[0], 40, "by its name");
    // That names are all nearer tells nothing.
    let mut shifted = cosines.clone();
    for tool in &mut shifted {
        tool[1] = tool[1].map(|cosine| cosine / 2.0 + 0.4);
    }
    let (shifted, plain) = (nearest(&[shifted]), nearest(&[cosines.clone()]));
    assert_eq!(shifted[0], plain[0]);
    // A tool with one text is near by that one.
    let mut cosines = crowd();
    cosines[41] = [Some(0.99), None];
    assert_eq!(nearest(&[cosines])[0], 41);
}

#[test]
fn every_sentence_finds_its_tool() {
    let (mut first, mut second) = (crowd(), crowd());
    first[30][0] = Some(0.9);
    second[60][0] = Some(0.8);
    let mut found = nearest(&[crowd(), first, second])[..2].to_vec();
    found.sort_unstable();
    assert_eq!(found, [30, 60]);
    assert!(nearest(&[]).is_empty());
}

fn row(seed: u8) -> Row {
    let vector: Vec<f32> = (1..9u8)
        .map(|at| f32::from(seed.wrapping_mul(at)) - 90.0)
        .collect();
    Row::of(&vector).expect("a direction")
}

fn filled(folder: &Path, space: &str) -> Store {
    let store = Store::new(Some(folder), space);
    store.read();
    for seed in 0..20 {
        store.keep(key(&seed.to_string()), row(seed)).expect("kept");
    }
    store.save().expect("saved");
    store
}

fn opened(folder: &Path, space: &str) -> Store {
    let store = Store::new(Some(folder), space);
    store.read();
    store
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

#[test]
fn vectors_come_back_as_they_were_for_their_space_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    filled(&folder.path().join("new"), "a");
    let again = opened(&folder.path().join("new"), "a");
    for seed in 0..20 {
        let found = again.find(&key(&seed.to_string()));
        assert_eq!(found.as_deref(), Some(&row(seed)));
    }
    let other = opened(&folder.path().join("new"), "b");
    assert_eq!(other.find(&key("1")), None);
    assert_eq!(files(&folder.path().join("new")).len(), 1, "no rests");
}

#[test]
fn a_file_that_is_not_whole_is_as_good_as_none() {
    let folder = tempfile::tempdir().expect("a folder");
    filled(folder.path(), "a");
    let file = files(folder.path()).remove(0);
    let whole = fs::read(&file).expect("bytes");
    let mut damaged: Vec<Vec<u8>> = (0..whole.len())
        .step_by(13)
        .map(|end| whole[..end].to_vec())
        .collect();
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        damaged.push(bytes);
    }
    damaged.push([whole.clone(), whole.clone()].concat());
    for bytes in damaged {
        fs::write(&file, &bytes).expect("written");
        assert_eq!(opened(folder.path(), "a").find(&key("1")), None);
    }
    // It is written again by the next one that saves.
    filled(folder.path(), "a");
    assert!(opened(folder.path(), "a").find(&key("1")).is_some());
}

#[test]
fn vectors_of_another_size_are_not_mixed_in() {
    let store = Store::new(None, "a");
    store.keep(key("1"), row(1)).expect("kept");
    let other = Row::of(&[1.0, 2.0]).expect("a direction");
    assert!(store.fits(&other).is_err());
    assert!(store.keep(key("2"), other).is_err());
    assert_eq!(store.find(&key("2")), None);
}

#[test]
fn what_nobody_uses_goes_when_there_is_too_much() {
    let store = Store::new(None, "a");
    let large = |seed: u8| Row::of(&vec![f32::from(seed) + 1.0; 8192]).expect("a direction");
    let most = MAX_BYTES / 8192;
    let used = store.keep(key("used"), large(1)).expect("kept");
    for at in 1..most {
        store.keep(key(&at.to_string()), large(2)).expect("kept");
    }
    assert!(store.find(&key("1")).is_some());
    store.keep(key("one more"), large(3)).expect("kept");
    assert_eq!(store.find(&key("1")), None);
    assert_eq!(store.find(&key("used")), Some(used));
}

#[test]
fn where_nothing_can_be_written_the_error_is_told_and_searching_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let blocked = folder.path().join("a file");
    fs::write(&blocked, b"x").expect("written");
    let store = Store::new(Some(&blocked), "a");
    store.read();
    store.keep(key("1"), row(1)).expect("kept");
    assert!(store.save().is_err());
    assert!(store.find(&key("1")).is_some());
}
