//! The files of a model: which layout a folder has, what its settings say, and what tells one model from
//! another. Reading the weights waits until the first text.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::encoder::{Encoder, Pooling};
use crate::error::{Fault, OpenError};
use crate::packed;
use crate::tokens::Tokens;
use crate::weights::{Published, Sizes};

/// Largest file of weights.
const MAX_WEIGHTS_BYTES: u64 = 4 << 30;
/// Largest settings file.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;
/// Largest tokenizer.
const MAX_TOKENIZER_BYTES: u64 = 64 << 20;
/// Files of a folder that are looked at.
const MAX_ENTRIES: usize = 1000;
/// A large file is told from another by so many samples of this size, beside its length.
const SAMPLES: u64 = 32;
const SAMPLE_BYTES: u64 = 16 << 10;
/// Tokens that are read of a text where the model does not say, and at most.
const USUAL_TOKENS: usize = 256;
/// A model with so many pieces of words was made for many languages: one language needs 30,000 to 50,000.
const MANY_PIECES: usize = 100_000;

/// The files of a model.
#[derive(Debug, Clone)]
pub(crate) struct Folder {
    layout: Layout,
    pub(crate) query_prefix: String,
    pub(crate) document_prefix: String,
    pub(crate) most_tokens: usize,
    pub(crate) is_multilingual: bool,
    /// Tells this model from every other one.
    pub(crate) fingerprint: String,
}

#[derive(Debug, Clone)]
enum Layout {
    Published {
        weights: PathBuf,
        tokenizer: PathBuf,
        sizes: Sizes,
        pooling: Pooling,
    },
    Packed(PathBuf),
}

/// `config.json`.
#[derive(Debug, Deserialize)]
struct Config {
    model_type: String,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    vocab_size: usize,
    max_position_embeddings: usize,
    #[serde(default = "one_type")]
    type_vocab_size: usize,
    #[serde(default = "usual_epsilon")]
    layer_norm_eps: f64,
    #[serde(default)]
    pad_token_id: Option<usize>,
    #[serde(default)]
    hidden_act: Option<String>,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

const fn one_type() -> usize {
    1
}

const fn usual_epsilon() -> f64 {
    1e-12
}

/// `1_Pooling/config.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct PoolingConfig {
    pooling_mode_cls_token: bool,
    pooling_mode_mean_tokens: bool,
}

/// `config_sentence_transformers.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SentenceConfig {
    prompts: std::collections::BTreeMap<String, String>,
}

/// `sentence_bert_config.json`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct LengthConfig {
    max_seq_length: Option<usize>,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        if path.join("config.json").is_file() {
            return Self::published(path);
        }
        match packed_file(path)? {
            Some(file) => Self::packed(file),
            None => Err(OpenError::NoModel(path.to_owned())),
        }
    }

    fn published(path: &Path) -> Result<Self, OpenError> {
        let settings = path.join("config.json");
        let config: Config = json(&settings)?;
        let sizes = config
            .sizes()
            .map_err(|fault| OpenError::form(&settings, fault.to_string()))?;
        let pooling = path.join("1_Pooling").join("config.json");
        let pooling = optional::<PoolingConfig>(&pooling)?.pooling(&pooling)?;
        let mut prompts =
            optional::<SentenceConfig>(&path.join("config_sentence_transformers.json"))?.prompts;
        let length = optional::<LengthConfig>(&path.join("sentence_bert_config.json"))?;
        let most = length.max_seq_length.unwrap_or(USUAL_TOKENS);
        let weights = path.join("model.safetensors");
        let tokenizer = path.join("tokenizer.json");
        if !weights.is_file() || !tokenizer.is_file() {
            return Err(OpenError::NoModel(path.to_owned()));
        }
        let fingerprint = fingerprint(&[&settings, &tokenizer, &weights])?;
        let mut prompt = |names: [&str; 3]| {
            let found = names.iter().find_map(|name| prompts.remove(*name));
            found.unwrap_or_default()
        };
        Ok(Self {
            query_prefix: prompt(["query", "search_query", "s2p_query"]),
            document_prefix: prompt(["document", "passage", "search_document"]),
            most_tokens: most.clamp(3, sizes.longest().min(USUAL_TOKENS)),
            is_multilingual: sizes.vocabulary >= MANY_PIECES,
            layout: Layout::Published {
                weights,
                tokenizer,
                sizes,
                pooling,
            },
            fingerprint,
        })
    }

    /// Packed files hold models of one family, which is trained with these prefixes on many languages.
    fn packed(file: PathBuf) -> Result<Self, OpenError> {
        Ok(Self {
            query_prefix: "query: ".to_owned(),
            document_prefix: "passage: ".to_owned(),
            most_tokens: USUAL_TOKENS,
            is_multilingual: true,
            fingerprint: fingerprint(&[&file])?,
            layout: Layout::Packed(file),
        })
    }

    /// Reads everything. Takes a while.
    pub(crate) fn load(&self) -> Result<(Encoder, Tokens), OpenError> {
        match &self.layout {
            Layout::Published {
                weights,
                tokenizer,
                sizes,
                pooling,
            } => {
                let in_tokenizer = |fault: Fault| OpenError::form(tokenizer, fault.to_string());
                let in_weights = |fault: Fault| OpenError::form(weights, fault.to_string());
                let tokens = Tokens::published(&bytes(tokenizer, MAX_TOKENIZER_BYTES)?)
                    .map_err(in_tokenizer)?;
                let file = bytes(weights, MAX_WEIGHTS_BYTES)?;
                let mut published = Published::read(&file).map_err(in_weights)?;
                drop(file);
                let encoder =
                    Encoder::read(&mut published, *sizes, *pooling).map_err(in_weights)?;
                Ok((encoder, tokens))
            }
            Layout::Packed(file) => {
                let whole = bytes(file, MAX_WEIGHTS_BYTES)?;
                let in_file = |fault: Fault| OpenError::form(file, fault.to_string());
                let (header, mut weights) = packed::read(&whole).map_err(in_file)?;
                let encoder =
                    Encoder::read(&mut weights, header.sizes, Pooling::Mean).map_err(in_file)?;
                Ok((encoder, Tokens::Packed(header.unigram)))
            }
        }
    }
}

impl Config {
    fn sizes(&self) -> Result<Sizes, Fault> {
        let first_position = match self.model_type.as_str() {
            "bert" => 0,
            // These count from behind the number of the padding token.
            "roberta" | "xlm-roberta" | "camembert" => self.pad_token_id.unwrap_or(1) + 1,
            other => {
                let other: String = other.chars().take(40).collect();
                let what = format!("models of the type `{other}` are not supported, only BERT");
                return Err(Fault::form(what));
            }
        };
        let activation = self.hidden_act.as_deref().unwrap_or("gelu");
        let positions = self.position_embedding_type.as_deref();
        if activation != "gelu" || positions.is_some_and(|kind| kind != "absolute") {
            return Err(Fault::form(
                "its activation or its positions are of a kind that is not supported",
            ));
        }
        let sizes = Sizes {
            hidden: self.hidden_size,
            layers: self.num_hidden_layers,
            heads: self.num_attention_heads,
            inner: self.intermediate_size,
            vocabulary: self.vocab_size,
            positions: self.max_position_embeddings,
            types: self.type_vocab_size,
            epsilon: self.layer_norm_eps,
            first_position,
        };
        sizes.check()?;
        Ok(sizes)
    }
}

impl PoolingConfig {
    fn pooling(&self, path: &Path) -> Result<Pooling, OpenError> {
        match (self.pooling_mode_mean_tokens, self.pooling_mode_cls_token) {
            (true, false) => Ok(Pooling::Mean),
            (false, true) => Ok(Pooling::First),
            (false, false) if !path.is_file() => Ok(Pooling::Mean),
            _ => Err(OpenError::form(
                path,
                "this way of pooling is not supported",
            )),
        }
    }
}

/// The one packed file of a folder. Which of several is meant, nobody can tell.
fn packed_file(path: &Path) -> Result<Option<PathBuf>, OpenError> {
    if path.is_file() {
        return Ok(is_packed(path).then(|| path.to_owned()));
    }
    let failed = |source| OpenError::File {
        path: path.to_owned(),
        source,
    };
    let entries = std::fs::read_dir(path).map_err(failed)?.take(MAX_ENTRIES);
    let entries: std::io::Result<Vec<_>> = entries.map(|entry| entry.map(|e| e.path())).collect();
    let mut files = entries.map_err(failed)?;
    files.sort();
    let is_binary = |file: &&PathBuf| file.extension().is_some_and(|ending| ending == "bin");
    let packed: Vec<&PathBuf> = files
        .iter()
        .filter(is_binary)
        .filter(|file| is_packed(file))
        .collect();
    match packed[..] {
        [] => Ok(None),
        [file] => Ok(Some(file.clone())),
        [one, other, ..] => Err(OpenError::form(
            one,
            format!(
                "there is also {}; name the file that is meant",
                other.display()
            ),
        )),
    }
}

fn is_packed(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut start));
    read.is_ok() && start == *packed::MAGIC
}

fn bytes(path: &Path, most: u64) -> Result<Vec<u8>, OpenError> {
    let failed = |source| OpenError::File {
        path: path.to_owned(),
        source,
    };
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    let read = file
        .take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    if read as u64 > most {
        return Err(OpenError::form(
            path,
            format!("it is larger than {most} bytes"),
        ));
    }
    Ok(bytes)
}

fn json<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, OpenError> {
    let text = bytes(path, MAX_SETTINGS_BYTES)?;
    serde_json::from_slice(&text).map_err(|error| OpenError::form(path, error.to_string()))
}

fn optional<T: for<'de> Deserialize<'de> + Default>(path: &Path) -> Result<T, OpenError> {
    if path.is_file() {
        json(path)
    } else {
        Ok(T::default())
    }
}

/// A hash over the lengths of files and samples of them: reading hundreds of megabytes at every start
/// would take longer than a search.
fn fingerprint(paths: &[&PathBuf]) -> Result<String, OpenError> {
    let mut hash = Sha256::new();
    for path in paths {
        let sampled = samples(path, &mut hash);
        sampled.map_err(|source| OpenError::File {
            path: (*path).clone(),
            source,
        })?;
    }
    Ok(HEXLOWER.encode(&hash.finalize()[..16]))
}

fn samples(path: &Path, hash: &mut Sha256) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    hash.update(length.to_le_bytes());
    let step = (length / SAMPLES).max(SAMPLE_BYTES);
    let mut at = 0;
    let mut sample = Vec::new();
    while at < length {
        file.seek(SeekFrom::Start(at))?;
        sample.clear();
        Read::by_ref(&mut file)
            .take(SAMPLE_BYTES)
            .read_to_end(&mut sample)?;
        hash.update(&sample);
        at += step;
    }
    Ok(())
}
