//! Small models that are made here, and the real ones where they are.

mod made;
mod real;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::json;
use toolsearch_search::{EmbedError, Embedder, TextRole};
use toolsearch_testing::embedder::conforms;

use crate::encoder::{Encoder, Pooling};
use crate::packed;
use crate::weights::Published;
use crate::{LocalModel, OpenError, Options};

use self::made::{Small, packed_file, published_folder};

fn check(tokens: &[u32], first_position: usize, pooling: Pooling, expected: &[f32]) {
    let mut sizes = made::sizes();
    sizes.first_position = first_position;
    let encoder = Encoder::read(&mut Small::default(), sizes, pooling).expect("an encoder");
    let short = vec![2, 3];
    let texts = [short.clone(), tokens.to_vec(), short];
    let vectors = encoder.encode(&texts, &AtomicBool::new(false));
    let vector = &vectors.expect("vectors")[1];
    for (found, expected) in vector.iter().zip(expected) {
        assert!((found - expected).abs() < 2e-5, "{tokens:?}: {vector:?}");
    }
    let length: f32 = vector.iter().map(|number| number * number).sum();
    assert!((length - 1.0).abs() < 1e-4, "{length}");
}

/// The numbers were worked out apart from this program, in double precision, with loops over the same weights.
#[test]
fn the_encoder_gives_known_numbers() {
    let mean = [0.02801, -0.09222, -0.178, -0.10474, -0.12671, 0.3001];
    check(&[2, 5, 7, 3], 0, Pooling::Mean, &mean);
    let first = [0.07997, -0.05551, -0.1728, -0.15769, -0.21561, 0.22148];
    check(&[2, 5, 7, 3], 0, Pooling::First, &first);
    let later = [0.0664, -0.05702, -0.1344, -0.06407, -0.2122, 0.28279];
    check(&[2, 5, 7, 3], 2, Pooling::Mean, &later);
    let short = [0.05056, -0.05279, -0.18016, -0.15902, -0.16792, 0.20338];
    check(&[2, 3], 0, Pooling::Mean, &short);
}

#[test]
fn work_that_nobody_waits_for_ends() {
    let encoder = Encoder::read(&mut Small::default(), made::sizes(), Pooling::Mean);
    let done = encoder
        .expect("an encoder")
        .encode(&[vec![2, 3]], &AtomicBool::new(true));
    assert!(done.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_published_model_conforms() {
    let folder = published_folder(&json!({}));
    let open = || LocalModel::open(folder.path(), Options::default()).expect("a model");
    conforms(|| Arc::new(open())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_packed_model_conforms() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("small.bin"), packed_file()).expect("written");
    // Weights that nobody trained do not know what prefixes are for.
    let mut options = Options::default();
    options.query_prefix = Some(String::new());
    options.document_prefix = Some(String::new());
    let open = || LocalModel::open(folder.path(), options.clone()).expect("a model");
    conforms(|| Arc::new(open())).await;
}

#[test]
fn packed_weights_are_those_that_were_packed() {
    let file = packed_file();
    let (header, mut weights) = packed::read(&file).expect("a packed model");
    assert_eq!(header.sizes, made::sizes());
    let packed = Encoder::read(&mut weights, header.sizes, Pooling::Mean).expect("an encoder");
    let small = &mut Small { is_packed: true };
    let plain = Encoder::read(small, made::sizes(), Pooling::Mean).expect("an encoder");
    let texts = [vec![2, 5, 7, 3], vec![2, 39, 3]];
    let never = AtomicBool::new(false);
    let (packed, plain) = (packed.encode(&texts, &never), plain.encode(&texts, &never));
    for (a, b) in packed.expect("vectors").iter().zip(plain.expect("vectors")) {
        let dot: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        assert!(dot > 0.9999, "{dot}");
    }
}

/// Every beginning of the file, and the file with bytes changed here and there.
#[test]
fn a_packed_file_of_any_bytes_is_refused_or_read() {
    let file = packed_file();
    let tried = |bytes: &[u8]| {
        let Ok((header, mut weights)) = packed::read(bytes) else {
            return false;
        };
        Encoder::read(&mut weights, header.sizes, Pooling::Mean).is_ok()
    };
    assert!(tried(&file));
    let head = file.len().min(1_500);
    for end in (0..head).chain((head..file.len()).step_by(97)) {
        assert!(!tried(&file[..end]), "cut at {end}");
    }
    let mut seed = 7_u64;
    let mut next = |most: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(seed >> 33).unwrap_or(0) % most
    };
    for _ in 0..300 {
        let mut bytes = file.clone();
        for _ in 0..=next(3) {
            let at = next(head);
            bytes[at] = u8::try_from(next(256)).unwrap_or(0);
        }
        tried(&bytes);
    }
}

fn refused(path: &Path) -> OpenError {
    LocalModel::open(path, Options::default()).expect_err("no model")
}

#[test]
fn a_folder_without_a_model_says_what_is_expected() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(matches!(refused(folder.path()), OpenError::NoModel(_)));
    std::fs::write(folder.path().join("x.bin"), b"E5").expect("written");
    let text = refused(folder.path()).to_string();
    assert!(text.contains("model.safetensors"), "{text}");
    let nowhere = refused(&folder.path().join("nowhere"));
    assert!(matches!(nowhere, OpenError::File { .. }), "{nowhere}");
}

#[test]
fn of_two_packed_files_one_must_be_named() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["a.bin", "b.bin"] {
        std::fs::write(folder.path().join(name), packed_file()).expect("written");
    }
    let text = refused(folder.path()).to_string();
    assert!(text.contains("a.bin") && text.contains("b.bin"), "{text}");
    let one = LocalModel::open(&folder.path().join("b.bin"), Options::default());
    assert!(one.is_ok());
}

#[test]
fn models_of_other_kinds_are_refused_by_name() {
    for (change, part) in [
        (json!({ "model_type": "modernbert" }), "modernbert"),
        (json!({ "hidden_act": "relu" }), "activation"),
        (json!({ "hidden_size": 0 }), "hidden_size"),
        (
            json!({ "num_hidden_layers": 4_000_000_000_u32 }),
            "num_hidden_layers",
        ),
        (json!({ "num_attention_heads": 5 }), "heads"),
        (json!({ "vocab_size": "many" }), "invalid type"),
    ] {
        let folder = published_folder(&change);
        let text = refused(folder.path()).to_string();
        assert!(text.contains(part), "{text}");
    }
}

#[tokio::test]
async fn weights_that_do_not_fit_are_told_at_the_first_text() {
    let texts = ["hi".to_owned()];
    for (change, part) in [
        (json!({ "intermediate_size": 32 }), "shape"),
        (json!({ "num_hidden_layers": 3 }), "layer.2"),
        (
            json!({ "model_type": "xlm-roberta", "pad_token_id": 90 }),
            "",
        ),
    ] {
        let folder = published_folder(&change);
        let model = match LocalModel::open(folder.path(), Options::default()) {
            Ok(model) => model,
            Err(error) => {
                assert!(part.is_empty(), "{error}");
                continue;
            }
        };
        for _ in 0..2 {
            let error = model
                .embed(TextRole::Query, &texts)
                .await
                .expect_err("a fault");
            assert!(matches!(&error, EmbedError::Misconfigured(_)), "{error:?}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}

#[test]
fn damaged_weights_are_refused() {
    assert!(Published::read(b"").is_err());
    assert!(Published::read(&[0xff; 64]).is_err());
    assert!(Published::read(b"\x02\0\0\0\0\0\0\0{}").is_ok());
}

#[test]
fn the_space_tells_models_and_prefixes_apart() {
    let folder = published_folder(&json!({}));
    let space = |path: &Path, prefix: Option<&str>| {
        let mut options = Options::default();
        options.query_prefix = prefix.map(str::to_owned);
        let model = LocalModel::open(path, options).expect("a model");
        model.space().to_owned()
    };
    let one = space(folder.path(), None);
    assert_eq!(one, space(published_folder(&json!({})).path(), None));
    assert_ne!(one, space(folder.path(), Some("query: ")));
    let other = published_folder(&json!({ "layer_norm_eps": 1e-5 }));
    assert_ne!(one, space(other.path(), None));
}
