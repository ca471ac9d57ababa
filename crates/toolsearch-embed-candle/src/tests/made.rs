//! A small encoder with weights that a formula gives, as published files and as a packed one.

use std::collections::HashMap;

use candle_core::{Device, Tensor};
use half::f16;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::error::Fault;
use crate::weights::{Sizes, Weights, Words};

pub(super) fn sizes() -> Sizes {
    Sizes {
        hidden: 32,
        layers: 2,
        heads: 4,
        inner: 64,
        vocabulary: 40,
        positions: 32,
        types: 2,
        epsilon: f64::from(1e-12_f32),
        first_position: 0,
    }
}

/// All tensors in the order in which the formula counts them.
fn names() -> Vec<(String, Vec<usize>)> {
    let Sizes {
        hidden,
        inner,
        layers,
        ..
    } = sizes();
    let mut names: Vec<(String, Vec<usize>)> = [
        ("embeddings.word_embeddings.weight", vec![40, hidden]),
        ("embeddings.position_embeddings.weight", vec![32, hidden]),
        ("embeddings.token_type_embeddings.weight", vec![2, hidden]),
        ("embeddings.LayerNorm.weight", vec![hidden]),
        ("embeddings.LayerNorm.bias", vec![hidden]),
    ]
    .map(|(name, shape)| (name.to_owned(), shape))
    .into();
    for layer in 0..layers {
        for (part, to, from) in [
            ("attention.self.query", hidden, hidden),
            ("attention.self.key", hidden, hidden),
            ("attention.self.value", hidden, hidden),
            ("attention.output.dense", hidden, hidden),
            ("attention.output.LayerNorm", hidden, 0),
            ("intermediate.dense", inner, hidden),
            ("output.dense", hidden, inner),
            ("output.LayerNorm", hidden, 0),
        ] {
            let weight = if from == 0 { vec![to] } else { vec![to, from] };
            let name = format!("encoder.layer.{layer}.{part}");
            names.push((format!("{name}.weight"), weight));
            names.push((format!("{name}.bias"), vec![to]));
        }
    }
    names
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "small numbers"
)]
fn numbers(name: &str) -> (Vec<f32>, Vec<usize>) {
    let names = names();
    let at = names.iter().position(|(other, _)| other == name);
    let at = at.expect("a name of the encoder");
    let shape = names[at].1.clone();
    let is_norm = name.ends_with("LayerNorm.weight");
    let base = if is_norm { 1.0 } else { 0.0 };
    let count: usize = shape.iter().product();
    let number = |i: usize| ((i + 1) as f64 * 0.7 + at as f64).sin() * 0.3 + base;
    ((0..count).map(|i| number(i) as f32).collect(), shape)
}

/// Gives the weights of the formula, or what is left of them after packing.
#[derive(Debug, Default)]
pub(super) struct Small {
    pub(super) is_packed: bool,
}

impl Small {
    fn get(&self, name: &str) -> Tensor {
        let (mut numbers, shape) = numbers(name);
        let is_large = shape.len() == 2 && name.ends_with("weight");
        if self.is_packed && is_large && !name.contains("position") && !name.contains("type") {
            numbers = numbers
                .chunks(32)
                .flat_map(|block| unpacked(&packed(block)))
                .collect();
        }
        Tensor::from_vec(numbers, shape, &Device::Cpu).expect("a tensor")
    }
}

impl Weights for Small {
    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, Fault> {
        let tensor = self.get(name);
        assert_eq!(tensor.dims(), shape, "{name}");
        Ok(tensor)
    }

    fn words(&mut self, _: &Sizes) -> Result<Words, Fault> {
        Ok(Words::Table(self.get("embeddings.word_embeddings.weight")))
    }
}

/// A block of 32 numbers in 18 bytes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to 15"
)]
fn packed(block: &[f32]) -> Vec<u8> {
    let largest = block
        .iter()
        .fold(0.0_f32, |most, number| most.max(number.abs()));
    let scale = f16::from_f32(largest / 7.0);
    let four = |number: f32| ((number / scale.to_f32()).round() + 8.0).clamp(0.0, 15.0) as u8;
    let mut bytes = scale.to_le_bytes().to_vec();
    bytes.extend((0..16).map(|at| four(block[at]) | (four(block[at + 16]) << 4)));
    bytes
}

/// The same by another road than the product's.
fn unpacked(bytes: &[u8]) -> Vec<f32> {
    let scale = f16::from_bits(u16::from(bytes[0]) | (u16::from(bytes[1]) << 8)).to_f32();
    let number = |at: usize| {
        let byte = bytes[2 + at % 16];
        let four = if at < 16 { byte % 16 } else { byte / 16 };
        (f32::from(four) - 8.0) * scale
    };
    (0..32).map(number).collect()
}

const PIECES: [(&str, f32); 40] = {
    let mut pieces = [("", -20.0); 40];
    let letters = [
        "<s>",
        "<pad>",
        "</s>",
        "<unk>",
        "\u{2581}",
        "a",
        "b",
        "c",
        "d",
        "e",
        "f",
        "g",
        "h",
        "i",
        "j",
        "k",
        "l",
        "m",
        "n",
        "o",
        "p",
        "q",
        "r",
        "s",
        "t",
        "u",
        "v",
        "w",
        "x",
        "y",
        "z",
        "\u{2581}create",
        "\u{2581}an",
        "\u{2581}issue",
        "\u{2581}weather",
        "\u{2581}of",
        "city",
        "file",
        "er",
        "-",
    ];
    let mut at = 0;
    while at < letters.len() {
        pieces[at] = (letters[at], -3.0);
        at += 1;
    }
    pieces
};

/// A packed model of the formula's weights.
pub(super) fn packed_file() -> Vec<u8> {
    let mut file = b"E5S1".to_vec();
    let number = |file: &mut Vec<u8>, number: usize| {
        let number = u32::try_from(number).expect("a small number");
        file.extend(number.to_le_bytes());
    };
    let long = |file: &mut Vec<u8>, number: usize| file.extend((number as u64).to_le_bytes());
    let s = sizes();
    for size in [
        1,
        s.hidden,
        s.layers,
        s.heads,
        s.inner,
        s.vocabulary,
        s.positions,
        s.types,
    ] {
        number(&mut file, size);
    }
    file.extend(1e-12_f32.to_le_bytes());
    number(&mut file, 32);
    for mark in [PIECES.len(), 0, 2, 1, 3] {
        number(&mut file, mark);
    }
    let text: String = PIECES.map(|(piece, _)| piece).concat();
    long(&mut file, text.len());
    let mut start = 0;
    for (piece, _) in PIECES {
        number(&mut file, start);
        start += piece.len();
    }
    number(&mut file, start);
    PIECES
        .iter()
        .for_each(|(_, score)| file.extend(score.to_le_bytes()));
    file.extend(text.bytes());
    // One character is rewritten: a tab becomes a space.
    number(&mut file, 1);
    number(&mut file, 9);
    number(&mut file, 9);
    file.push(1);
    number(&mut file, 32);
    let names = names();
    number(&mut file, names.len());
    let directory: usize = names
        .iter()
        .map(|(name, _)| 2 + short(name).len() + 21)
        .sum();
    let mut data = Vec::new();
    let begin = file.len() + directory;
    for (name, _) in &names {
        let (values, shape) = numbers(name);
        let is_packed = shape.len() == 2 && !name.contains("position") && !name.contains("type");
        let bytes: Vec<u8> = if is_packed {
            values.chunks(32).flat_map(packed).collect()
        } else {
            values
                .iter()
                .flat_map(|value| value.to_le_bytes())
                .collect()
        };
        let short = short(name);
        file.extend(
            u16::try_from(short.len())
                .expect("a short name")
                .to_le_bytes(),
        );
        file.extend(short.bytes());
        file.push(u8::from(is_packed));
        number(&mut file, values.len());
        long(&mut file, begin + data.len());
        long(&mut file, bytes.len());
        data.extend(bytes);
    }
    file.extend(data);
    file
}

fn short(name: &str) -> String {
    let (stem, kind) = name.rsplit_once('.').expect("a kind");
    let kind = &kind[..1];
    match stem {
        "embeddings.word_embeddings" => "emb.word".to_owned(),
        "embeddings.position_embeddings" => "emb.pos".to_owned(),
        "embeddings.token_type_embeddings" => "emb.type".to_owned(),
        "embeddings.LayerNorm" => format!("emb.ln.{kind}"),
        layer => {
            let parts: Vec<&str> = layer.splitn(4, '.').collect();
            let part = match parts[3] {
                "attention.self.query" => "q",
                "attention.self.key" => "k",
                "attention.self.value" => "v",
                "attention.output.dense" => "ao",
                "attention.output.LayerNorm" => "aln",
                "intermediate.dense" => "fi",
                "output.dense" => "fo",
                _ => "oln",
            };
            format!("l{}.{part}.{kind}", parts[2])
        }
    }
}

/// A folder as sentence encoders are published; `change` goes into `config.json`.
pub(super) fn published_folder(change: &Value) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, value: &Value| {
        std::fs::write(folder.path().join(name), value.to_string()).expect("written");
    };
    let s = sizes();
    let mut config = json!({
        "model_type": "bert", "hidden_size": s.hidden, "num_hidden_layers": s.layers,
        "num_attention_heads": s.heads, "intermediate_size": s.inner, "vocab_size": s.vocabulary,
        "max_position_embeddings": s.positions, "type_vocab_size": s.types, "hidden_act": "gelu",
    });
    for (key, value) in change.as_object().into_iter().flatten() {
        config[key] = value.clone();
    }
    write("config.json", &config);
    write("tokenizer.json", &tokenizer());
    let names = names().into_iter().map(|(name, _)| name);
    let tensors: HashMap<String, Tensor> = names
        .map(|name| (format!("bert.{name}"), Small::default().get(&name)))
        .collect();
    candle_core::safetensors::save(&tensors, folder.path().join("model.safetensors"))
        .expect("written");
    folder
}

/// Words are cut into letters.
fn tokenizer() -> Value {
    let mut vocabulary = json!({ "[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3 });
    for (at, letter) in ('a'..='z').enumerate() {
        vocabulary[letter.to_string()] = json!(4 + at);
    }
    for (at, letter) in "etaoinsrhl".chars().enumerate() {
        vocabulary[format!("##{letter}")] = json!(30 + at);
    }
    let special = |id: u32, text: &str| {
        json!({ "id": id, "content": text, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true })
    };
    json!({
        "version": "1.0",
        "truncation": { "direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0 },
        "padding": { "strategy": { "Fixed": 8 }, "direction": "Right", "pad_to_multiple_of": null,
                     "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]" },
        "added_tokens": [special(0, "[PAD]"), special(1, "[UNK]"), special(2, "[CLS]"), special(3, "[SEP]")],
        "normalizer": { "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                        "strip_accents": null, "lowercase": true },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": { "type": "TemplateProcessing",
            "single": [{ "SpecialToken": { "id": "[CLS]", "type_id": 0 } },
                       { "Sequence": { "id": "A", "type_id": 0 } },
                       { "SpecialToken": { "id": "[SEP]", "type_id": 0 } }],
            "pair": [{ "Sequence": { "id": "A", "type_id": 0 } }, { "Sequence": { "id": "B", "type_id": 1 } }],
            "special_tokens": { "[CLS]": { "id": "[CLS]", "ids": [2], "tokens": ["[CLS]"] },
                                "[SEP]": { "id": "[SEP]", "ids": [3], "tokens": ["[SEP]"] } } },
        "decoder": null,
        "model": { "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                   "max_input_chars_per_word": 100, "vocab": vocabulary },
    })
}
