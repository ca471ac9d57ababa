//! The encoder: tokens in, one vector for each text out. The texts of a call stand one after the other in
//! one matrix; only attention looks at them apart, so that nothing is padded and no text sees another.

use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::{D, Device, Tensor};
use candle_nn::ops::{layer_norm, softmax_last_dim};

use crate::error::Fault;
use crate::weights::{Sizes, Weights, Words};

/// How the vectors of tokens become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    Mean,
    First,
}

#[derive(Debug)]
struct Linear {
    /// Already transposed.
    weight: Tensor,
    bias: Tensor,
}

impl Linear {
    fn read(
        weights: &mut dyn Weights,
        name: &str,
        (from, to): (usize, usize),
    ) -> Result<Self, Fault> {
        let weight = weights.tensor(&format!("{name}.weight"), &[to, from])?;
        Ok(Self {
            weight: weight.t()?,
            bias: weights.tensor(&format!("{name}.bias"), &[to])?,
        })
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor, Fault> {
        Ok(x.matmul(&self.weight)?.broadcast_add(&self.bias)?)
    }
}

#[derive(Debug)]
struct Norm {
    weight: Tensor,
    bias: Tensor,
    epsilon: f32,
}

impl Norm {
    #[expect(clippy::cast_possible_truncation, reason = "a small positive number")]
    fn read(weights: &mut dyn Weights, name: &str, sizes: &Sizes) -> Result<Self, Fault> {
        Ok(Self {
            weight: weights.tensor(&format!("{name}.weight"), &[sizes.hidden])?,
            bias: weights.tensor(&format!("{name}.bias"), &[sizes.hidden])?,
            epsilon: sizes.epsilon as f32,
        })
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor, Fault> {
        Ok(layer_norm(x, &self.weight, &self.bias, self.epsilon)?)
    }
}

#[derive(Debug)]
struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    joined: Linear,
    after_attention: Norm,
    inner: Linear,
    outer: Linear,
    after_inner: Norm,
}

impl Layer {
    fn read(weights: &mut dyn Weights, at: usize, sizes: &Sizes) -> Result<Self, Fault> {
        let name = |part: &str| format!("encoder.layer.{at}.{part}");
        let square = (sizes.hidden, sizes.hidden);
        Ok(Self {
            query: Linear::read(weights, &name("attention.self.query"), square)?,
            key: Linear::read(weights, &name("attention.self.key"), square)?,
            value: Linear::read(weights, &name("attention.self.value"), square)?,
            joined: Linear::read(weights, &name("attention.output.dense"), square)?,
            after_attention: Norm::read(weights, &name("attention.output.LayerNorm"), sizes)?,
            inner: Linear::read(
                weights,
                &name("intermediate.dense"),
                (sizes.hidden, sizes.inner),
            )?,
            outer: Linear::read(weights, &name("output.dense"), (sizes.inner, sizes.hidden))?,
            after_inner: Norm::read(weights, &name("output.LayerNorm"), sizes)?,
        })
    }

    fn apply(&self, x: &Tensor, texts: &[(usize, usize)], heads: usize) -> Result<Tensor, Fault> {
        let (query, key, value) = (
            self.query.apply(x)?,
            self.key.apply(x)?,
            self.value.apply(x)?,
        );
        let mut seen = Vec::with_capacity(texts.len());
        for text in texts {
            seen.push(attention(&query, &key, &value, *text, heads)?);
        }
        let seen = self.joined.apply(&Tensor::cat(&seen, 0)?)?;
        let x = self.after_attention.apply(&(seen + x)?)?;
        let inner = self.inner.apply(&x)?.gelu_erf()?;
        self.after_inner.apply(&(self.outer.apply(&inner)? + x)?)
    }
}

/// What the tokens of one text see of each other.
#[expect(clippy::cast_precision_loss, reason = "a head has few dimensions")]
fn attention(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    (start, length): (usize, usize),
    heads: usize,
) -> Result<Tensor, Fault> {
    let hidden = query.dim(1)?;
    let width = hidden / heads;
    let by_head = |tensor: &Tensor| {
        let own = tensor.narrow(0, start, length)?;
        own.reshape((length, heads, width))?
            .transpose(0, 1)?
            .contiguous()
    };
    let (query, key, value) = (by_head(query)?, by_head(key)?, by_head(value)?);
    let scale = 1.0 / (width as f64).sqrt();
    let scores = (query.matmul(&key.transpose(1, 2)?.contiguous()?)? * scale)?;
    let seen = softmax_last_dim(&scores)?.matmul(&value)?;
    Ok(seen
        .transpose(0, 1)?
        .contiguous()?
        .reshape((length, hidden))?)
}

/// A BERT-like encoder.
#[derive(Debug)]
pub(crate) struct Encoder {
    sizes: Sizes,
    words: Words,
    positions: Tensor,
    /// The vector of the first type of text, which is added everywhere.
    kind: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
    pooling: Pooling,
}

impl Encoder {
    pub(crate) fn read(
        weights: &mut dyn Weights,
        sizes: Sizes,
        pooling: Pooling,
    ) -> Result<Self, Fault> {
        sizes.check()?;
        let position = "embeddings.position_embeddings.weight";
        let kind = "embeddings.token_type_embeddings.weight";
        let mut layers = Vec::with_capacity(sizes.layers);
        for at in 0..sizes.layers {
            layers.push(Layer::read(weights, at, &sizes)?);
        }
        Ok(Self {
            words: weights.words(&sizes)?,
            positions: weights.tensor(position, &[sizes.positions, sizes.hidden])?,
            kind: weights
                .tensor(kind, &[sizes.types, sizes.hidden])?
                .narrow(0, 0, 1)?,
            norm: Norm::read(weights, "embeddings.LayerNorm", &sizes)?,
            layers,
            pooling,
            sizes,
        })
    }

    pub(crate) fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// One vector for each text; a text has at least one token and at most [`Sizes::longest`].
    pub(crate) fn encode(
        &self,
        texts: &[Vec<u32>],
        cancelled: &AtomicBool,
    ) -> Result<Vec<Vec<f32>>, Fault> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let vocabulary = self.sizes.vocabulary;
        let tokens: Vec<u32> = texts.concat();
        if tokens.iter().any(|token| *token as usize >= vocabulary) {
            return Err(Fault::form("the tokenizer belongs to another model"));
        }
        let mut places = Vec::with_capacity(texts.len());
        let mut start = 0;
        for text in texts {
            places.push((start, text.len()));
            start += text.len();
        }
        let mut x = self.norm.apply(&self.placed(&tokens, &places)?)?;
        for layer in &self.layers {
            if cancelled.load(Ordering::Relaxed) {
                return Err(Fault::Cancelled);
            }
            x = layer.apply(&x, &places, self.sizes.heads)?;
        }
        let mut vectors = Vec::with_capacity(texts.len());
        for (start, length) in places {
            let pooled = match self.pooling {
                Pooling::Mean => x.narrow(0, start, length)?.mean(0)?,
                Pooling::First => x.narrow(0, start, 1)?.squeeze(0)?,
            };
            let norm = pooled.sqr()?.sum(D::Minus1)?.sqrt()?;
            vectors.push(pooled.broadcast_div(&norm)?.to_vec1()?);
        }
        Ok(vectors)
    }

    /// Vectors of tokens, of their positions, and of the type of text, added up.
    fn placed(&self, tokens: &[u32], places: &[(usize, usize)]) -> Result<Tensor, Fault> {
        let first = self.sizes.first_position;
        let position = |(_, length): &(usize, usize)| first..first + length;
        let numbers = places.iter().flat_map(position).map(u32::try_from);
        let numbers: Vec<u32> = numbers
            .collect::<Result<_, _>>()
            .map_err(|_| Fault::form("a position is too large"))?;
        let numbers = Tensor::new(numbers, &Device::Cpu)?;
        let positions = self.positions.index_select(&numbers, 0)?;
        let words = self.words.rows(tokens, &Device::Cpu)?;
        Ok((words + positions)?.broadcast_add(&self.kind)?)
    }
}
