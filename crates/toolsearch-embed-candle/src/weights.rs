//! Where an encoder takes its numbers from, by their published names.

use std::collections::HashMap;

use candle_core::safetensors::load_buffer;
use candle_core::{DType, Device, Tensor};

use crate::error::Fault;

/// The sizes of an encoder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sizes {
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) inner: usize,
    pub(crate) vocabulary: usize,
    pub(crate) positions: usize,
    pub(crate) types: usize,
    pub(crate) epsilon: f64,
    /// The position of the first token.
    pub(crate) first_position: usize,
}

/// What no published small encoder exceeds.
const MAX_HIDDEN: usize = 2048;
const MAX_LAYERS: usize = 48;
const MAX_INNER: usize = 8192;
const MAX_VOCABULARY: usize = 1 << 20;
const MAX_POSITIONS: usize = 1 << 16;

impl Sizes {
    pub(crate) fn check(&self) -> Result<(), Fault> {
        let within = [
            ("hidden_size", self.hidden, MAX_HIDDEN),
            ("num_hidden_layers", self.layers, MAX_LAYERS),
            ("num_attention_heads", self.heads, self.hidden),
            ("intermediate_size", self.inner, MAX_INNER),
            ("vocab_size", self.vocabulary, MAX_VOCABULARY),
            ("max_position_embeddings", self.positions, MAX_POSITIONS),
            ("type_vocab_size", self.types, 16),
        ];
        for (name, value, most) in within {
            if value == 0 || value > most {
                return Err(Fault::form(format!("`{name}` is {value}, not 1 to {most}")));
            }
        }
        if !self.hidden.is_multiple_of(self.heads) {
            return Err(Fault::form("the heads do not divide the hidden size"));
        }
        if self.first_position + 3 > self.positions {
            return Err(Fault::form("there is no room for a text"));
        }
        Ok(())
    }

    /// Tokens that fit into one text.
    pub(crate) fn longest(&self) -> usize {
        self.positions - self.first_position
    }
}

/// Gives the tensors of an encoder.
pub(crate) trait Weights {
    /// A tensor of that shape; another shape is a fault.
    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, Fault>;

    /// The vectors of tokens.
    fn words(&mut self, sizes: &Sizes) -> Result<Words, Fault>;
}

/// The vectors of tokens.
#[derive(Debug)]
pub(crate) enum Words {
    /// All of them as numbers.
    Table(Tensor),
    /// Packed; a row is unpacked when it is needed.
    Packed(crate::packed::Rows),
}

impl Words {
    pub(crate) fn rows(&self, tokens: &[u32], device: &Device) -> Result<Tensor, Fault> {
        match self {
            Self::Table(table) => {
                let tokens = Tensor::new(tokens, device)?;
                Ok(table.index_select(&tokens, 0)?)
            }
            Self::Packed(rows) => rows.get(tokens, device),
        }
    }
}

/// The tensors of a safetensors file.
#[derive(Debug)]
pub(crate) struct Published {
    tensors: HashMap<String, Tensor>,
}

impl Published {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Fault> {
        Ok(Self {
            tensors: load_buffer(bytes, &Device::Cpu)?,
        })
    }

    /// Some files put the name of the architecture before all names; old ones call the parameters of
    /// a layer norm gamma and beta.
    fn find(&mut self, name: &str) -> Option<Tensor> {
        let older = name
            .replace("LayerNorm.weight", "LayerNorm.gamma")
            .replace("LayerNorm.bias", "LayerNorm.beta");
        ["", "bert.", "roberta.", "0.auto_model."]
            .iter()
            .flat_map(|prefix| [format!("{prefix}{name}"), format!("{prefix}{older}")])
            .find_map(|name| self.tensors.remove(&name))
    }
}

impl Weights for Published {
    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, Fault> {
        let tensor = self
            .find(name)
            .ok_or_else(|| Fault::form(format!("there is no `{name}`")))?;
        if tensor.dims() != shape {
            let found = tensor.dims();
            let what = format!("`{name}` has the shape {found:?}, not {shape:?}");
            return Err(Fault::form(what));
        }
        Ok(tensor.to_dtype(DType::F32)?)
    }

    fn words(&mut self, sizes: &Sizes) -> Result<Words, Fault> {
        let shape = [sizes.vocabulary, sizes.hidden];
        let table = self.tensor("embeddings.word_embeddings.weight", &shape)?;
        Ok(Words::Table(table))
    }
}
