//! The packed file: sizes, the table of pieces, and tensors of which the large ones hold four bits a
//! number. All numbers are little-endian.
//!
//! A block of 32 numbers is a 16-bit float and 16 bytes; the low half of byte `j` is number `j`, the high
//! half number `j + 16`; eight is zero. The file is somebody else's: every read is checked.

use std::collections::HashMap;

use candle_core::{Device, Tensor};
use half::f16;

use crate::error::Fault;
use crate::unigram::{Marks, Unigram};
use crate::weights::{Sizes, Weights, Words};

/// How a packed file begins.
pub(crate) const MAGIC: &[u8; 4] = b"E5S1";
/// Numbers of a block.
const BLOCK: usize = 32;
/// Bytes of a block.
const BLOCK_BYTES: usize = 18;
/// What no packed file exceeds.
const MAX_PIECES: usize = 1 << 20;
const MAX_REWRITTEN: usize = 1 << 20;
const MAX_TENSORS: usize = 4096;

/// What a packed file holds beside its weights.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) sizes: Sizes,
    pub(crate) unigram: Unigram,
}

/// The tensors of a packed file.
#[derive(Debug)]
pub(crate) struct Packed<'a> {
    file: &'a [u8],
    tensors: HashMap<&'a [u8], (usize, usize)>,
}

/// Reads a whole file.
pub(crate) fn read(file: &[u8]) -> Result<(Header, Packed<'_>), Fault> {
    let mut cursor = Cursor(file);
    if cursor.take(4)? != MAGIC {
        return Err(Fault::form("it is no packed model"));
    }
    let _version = cursor.u32()?;
    let sizes = sizes(&mut cursor)?;
    sizes.check()?;
    let unigram = unigram(&mut cursor)?;
    let count = cursor.count(MAX_TENSORS)?;
    let mut tensors = HashMap::with_capacity(count);
    for _ in 0..count {
        let length = usize::from(u16::from_le_bytes(cursor.array()?));
        let name = cursor.take(length)?;
        let _kind: [u8; 1] = cursor.array()?;
        let _numbers = cursor.u32()?;
        let (start, bytes) = (cursor.u64()?, cursor.u64()?);
        tensors.insert(name, (start, bytes));
    }
    Ok((Header { sizes, unigram }, Packed { file, tensors }))
}

fn sizes(cursor: &mut Cursor<'_>) -> Result<Sizes, Fault> {
    let mut number = || cursor.u32().map(|number| number as usize);
    let (hidden, layers, heads, inner) = (number()?, number()?, number()?, number()?);
    let (vocabulary, positions, types) = (number()?, number()?, number()?);
    let epsilon = f64::from(cursor.f32()?);
    if cursor.u32()? as usize != BLOCK
        || !hidden.is_multiple_of(BLOCK)
        || !inner.is_multiple_of(BLOCK)
    {
        return Err(Fault::form("its blocks are not of 32 numbers"));
    }
    Ok(Sizes {
        hidden,
        layers,
        heads,
        inner,
        vocabulary,
        positions,
        types,
        epsilon,
        first_position: 0,
    })
}

fn unigram(cursor: &mut Cursor<'_>) -> Result<Unigram, Fault> {
    let count = cursor.count(MAX_PIECES)?;
    let (begin, end, _padding, unknown) =
        (cursor.u32()?, cursor.u32()?, cursor.u32()?, cursor.u32()?);
    let length = cursor.u64()?;
    let starts = cursor.numbers(count + 1, u32::from_le_bytes)?;
    let scores = cursor.numbers(count, f32::from_le_bytes)?;
    let text = cursor.take(length)?;
    if scores.iter().any(|score| !score.is_finite()) {
        return Err(Fault::form("a piece has no score"));
    }
    let mut pieces = Vec::with_capacity(count);
    for (bounds, score) in starts.windows(2).zip(&scores) {
        let piece = text.get(bounds[0] as usize..bounds[1] as usize);
        let piece = piece.ok_or_else(|| Fault::form("a piece lies outside of its table"))?;
        pieces.push((piece, *score));
    }
    let count = cursor.count(MAX_REWRITTEN)?;
    let length = cursor.u32()? as usize;
    let mut inner = Cursor(cursor.take(length)?);
    let mut rewritten = HashMap::with_capacity(count);
    for _ in 0..count {
        let from = inner.char()?;
        let [others] = inner.array()?;
        let to: Result<Box<[char]>, Fault> = (0..others).map(|_| inner.char()).collect();
        rewritten.insert(from, to?);
    }
    let marks = Marks {
        begin,
        end,
        unknown,
    };
    Ok(Unigram::new(pieces.into_iter(), rewritten, marks))
}

impl Packed<'_> {
    fn bytes(&self, name: &str, length: usize) -> Result<&[u8], Fault> {
        let missing = || Fault::form(format!("there is no `{name}`"));
        let (start, stated) = *self.tensors.get(name.as_bytes()).ok_or_else(missing)?;
        if stated != length {
            let what = format!("`{name}` has {stated} bytes, not {length}");
            return Err(Fault::form(what));
        }
        let end = start.checked_add(length);
        end.and_then(|end| self.file.get(start..end))
            .ok_or_else(|| Fault::form(format!("`{name}` lies outside of the file")))
    }
}

impl Weights for Packed<'_> {
    fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, Fault> {
        let short = short(name).ok_or_else(|| Fault::form(format!("there is no `{name}`")))?;
        let count: usize = shape.iter().product();
        let is_packed = short.ends_with(".w") && shape.len() == 2;
        let numbers = if is_packed {
            unpack(self.bytes(&short, count / BLOCK * BLOCK_BYTES)?)
        } else {
            let bytes = self.bytes(&short, count * 4)?;
            bytes.chunks_exact(4).map(float).collect()
        };
        Ok(Tensor::from_vec(numbers, shape, &Device::Cpu)?)
    }

    fn words(&mut self, sizes: &Sizes) -> Result<Words, Fault> {
        let row = sizes.hidden / BLOCK * BLOCK_BYTES;
        let bytes = self.bytes("emb.word", sizes.vocabulary * row)?;
        Ok(Words::Packed(Rows {
            bytes: bytes.into(),
            row,
        }))
    }
}

/// The name of a tensor in a packed file.
fn short(name: &str) -> Option<String> {
    let (stem, kind) = name.rsplit_once('.')?;
    let kind = if kind == "weight" { "w" } else { "b" };
    let Some(rest) = stem.strip_prefix("encoder.layer.") else {
        return Some(match stem {
            "embeddings.position_embeddings" => "emb.pos".to_owned(),
            "embeddings.token_type_embeddings" => "emb.type".to_owned(),
            "embeddings.LayerNorm" => format!("emb.ln.{kind}"),
            _ => return None,
        });
    };
    let (layer, part) = rest.split_once('.')?;
    let part = match part {
        "attention.self.query" => "q",
        "attention.self.key" => "k",
        "attention.self.value" => "v",
        "attention.output.dense" => "ao",
        "attention.output.LayerNorm" => "aln",
        "intermediate.dense" => "fi",
        "output.dense" => "fo", // typos: keep
        "output.LayerNorm" => "oln",
        _ => return None,
    };
    Some(format!("l{layer}.{part}.{kind}"))
}

/// Vectors of tokens that stay packed until they are needed.
pub(crate) struct Rows {
    bytes: Box<[u8]>,
    row: usize,
}

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows")
            .field("rows", &(self.bytes.len() / self.row.max(1)))
            .finish_non_exhaustive()
    }
}

impl Rows {
    pub(crate) fn get(&self, tokens: &[u32], device: &Device) -> Result<Tensor, Fault> {
        let width = self.row / BLOCK_BYTES * BLOCK;
        let mut numbers = Vec::with_capacity(tokens.len() * width);
        for token in tokens {
            let start = *token as usize * self.row;
            let row = self.bytes.get(start..start + self.row);
            let row = row.ok_or_else(|| Fault::form("a token has no vector"))?;
            numbers.extend(unpack(row));
        }
        Ok(Tensor::from_vec(numbers, (tokens.len(), width), device)?)
    }
}

fn unpack(bytes: &[u8]) -> Vec<f32> {
    let mut numbers = Vec::with_capacity(bytes.len() / BLOCK_BYTES * BLOCK);
    for block in bytes.chunks_exact(BLOCK_BYTES) {
        let scale = f16::from_le_bytes([block[0], block[1]]).to_f32();
        let number = |four: u8| (f32::from(four) - 8.0) * scale;
        numbers.extend(block[2..].iter().map(|byte| number(byte & 15)));
        numbers.extend(block[2..].iter().map(|byte| number(byte >> 4)));
    }
    numbers
}

fn float(bytes: &[u8]) -> f32 {
    f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

/// What is left to read.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Fault> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or_else(|| Fault::form("it ends early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| Fault::form("it ends early"))
    }

    fn u32(&mut self) -> Result<u32, Fault> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// A place or a length, as far as this machine can address it.
    fn u64(&mut self) -> Result<usize, Fault> {
        let number = u64::from_le_bytes(self.array()?);
        usize::try_from(number).map_err(|_| Fault::form("it is too large"))
    }

    fn f32(&mut self) -> Result<f32, Fault> {
        Ok(f32::from_le_bytes(self.array()?))
    }

    fn char(&mut self) -> Result<char, Fault> {
        let number = self.u32()?;
        char::from_u32(number).ok_or_else(|| Fault::form(format!("{number} is no character")))
    }

    fn count(&mut self, most: usize) -> Result<usize, Fault> {
        let count = self.u32()? as usize;
        if count > most {
            return Err(Fault::form(format!("it has {count} entries, over {most}")));
        }
        Ok(count)
    }

    fn numbers<T>(&mut self, count: usize, read: fn([u8; 4]) -> T) -> Result<Vec<T>, Fault> {
        let bytes = self.take(count * 4)?.chunks_exact(4);
        Ok(bytes
            .map(|four| read([four[0], four[1], four[2], four[3]]))
            .collect())
    }
}
