//! Published models, from a folder as `toolsearch model get` fills it. Set `TOOLSEARCH_TEST_MODELS` to that
//! folder and run with `--run-ignored all`.

use std::path::PathBuf;

use toolsearch_search::{Embedder, TextRole};

use crate::{LocalModel, Options};

const TEXTS: [&str; 7] = [
    "create an issue in a repository",
    "open a new ticket for a bug",
    "what is the weather in Paris tomorrow",
    "Return the forecast of a city for the coming days.",
    "delete a calendar event",
    "wie wird das Wetter morgen in Berlin",
    "yarın hava nasıl olacak",
];

fn model(name: &str) -> LocalModel {
    let folder = std::env::var_os("TOOLSEARCH_TEST_MODELS");
    let folder = PathBuf::from(folder.expect("TOOLSEARCH_TEST_MODELS names a folder of models"));
    LocalModel::open(&folder.join(name), Options::default()).expect("a model")
}

async fn embed(model: &LocalModel, role: TextRole) -> Vec<Vec<f32>> {
    let vectors = model.embed(role, &TEXTS.map(str::to_owned)).await;
    vectors.expect("vectors")
}

fn compare(a: &[Vec<f32>], b: &[Vec<f32>], pairs: &[(usize, usize, f32)], within: f32) {
    for (one, other, expected) in pairs {
        let cosine: f32 = a[*one].iter().zip(&b[*other]).map(|(a, b)| a * b).sum();
        let (one, other) = (TEXTS[*one], TEXTS[*other]);
        let off = (cosine - expected).abs();
        assert!(off < within, "`{one}`, `{other}`: {cosine}, not {expected}");
    }
}

/// Cosines of the same weights in another program, in double precision.
#[tokio::test]
#[ignore = "needs TOOLSEARCH_TEST_MODELS"]
async fn all_minilm_l6_v2_gives_known_cosines() {
    let model = model("all-minilm-l6-v2");
    let vectors = embed(&model, TextRole::Document).await;
    let pairs = [
        (0, 1, 0.3271),
        (0, 2, -0.0107),
        (1, 4, 0.1682),
        (2, 3, 0.4309),
        (3, 4, 0.1692),
        (2, 5, 0.2006),
        (5, 6, 0.1776),
        (2, 6, -0.0452),
    ];
    compare(&vectors, &vectors, &pairs, 3e-4);
    let first = [
        -0.049535, 0.002975, -0.056584, 0.035244, -0.044664, -0.02192,
    ];
    for (found, expected) in vectors[0].iter().zip(first) {
        assert!((found - expected).abs() < 2e-5, "{found}, not {expected}");
    }
}

/// Cosines of the same packed file in the engine that it was made for, which rounds activations as well.
#[tokio::test]
#[ignore = "needs TOOLSEARCH_TEST_MODELS"]
async fn multilingual_e5_small_gives_known_cosines() {
    let model = model("multilingual-e5-small");
    let queries = embed(&model, TextRole::Query).await;
    let documents = embed(&model, TextRole::Document).await;
    let pairs = [
        (0, 0, 0.9509),
        (0, 1, 0.8134),
        (0, 2, 0.7261),
        (2, 3, 0.8170),
        (5, 3, 0.8179),
        (6, 3, 0.8442),
        (5, 2, 0.8456),
        (6, 2, 0.8756),
        (6, 5, 0.8974),
        (5, 4, 0.7447),
    ];
    compare(&queries, &documents, &pairs, 0.01);
}
