//! Pictures, sound and files in the results of a program's calls.
//!
//! Their data stays on this side. The program sees a name in its place, which it may give to another call as an
//! argument, where the data comes back, or return with its value, which attaches the whole block to the
//! answer. Names cannot be guessed, so a tool can name only what it was given itself.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use serde_json::Value;
use toolsearch_catalog::Block;

/// Most blocks that are kept for one program.
const MAX_BLOCKS: usize = 32;
/// Most bytes of data that are kept for one program.
const MAX_BYTES: usize = 16 << 20;
/// Most blocks that one answer carries.
const MAX_ATTACHED: usize = 8;

/// What stands for data that is not kept.
const LEFT_OUT: &str = "[left out: the results of this program hold too much data]";

/// The blocks of one program, over all its replays.
#[derive(Debug, Clone, Default)]
pub(crate) struct Attachments {
    kept: Vec<Kept>,
    bytes: usize,
    chance: RandomState,
}

#[derive(Debug, Clone)]
struct Kept {
    name: String,
    block: Arc<Block>,
}

impl Attachments {
    /// Takes the data out of a result and leaves names.
    pub(crate) fn take(&mut self, result: &mut Value) {
        let Some(blocks) = result.get_mut("content").and_then(Value::as_array_mut) else {
            return;
        };
        for block in blocks {
            let Some(bytes) = data(block).map(|text| text.len()) else {
                continue;
            };
            let fits = self.kept.len() < MAX_BLOCKS && self.bytes + bytes <= MAX_BYTES;
            let name = if fits {
                self.keep(block.clone(), bytes)
            } else {
                LEFT_OUT.to_owned()
            };
            if let Some(data) = data(block) {
                *data = name;
            }
        }
    }

    fn keep(&mut self, block: Block, bytes: usize) -> String {
        let number = self.kept.len() + 1;
        let name = format!("attachment:{number}:{:x}", self.chance.hash_one(number));
        self.bytes += bytes;
        self.kept.push(Kept {
            name: name.clone(),
            block: Arc::new(block),
        });
        name
    }

    /// Puts data where arguments name it.
    pub(crate) fn restore(&self, arguments: &mut Value) {
        if self.kept.is_empty() {
            return;
        }
        match arguments {
            Value::String(text) => {
                if let Some(kept) = self.named(text)
                    && let Some(whole) = data(&mut Block::clone(&kept.block))
                {
                    *text = std::mem::take(whole);
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.restore(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.restore(field)),
            _ => {}
        }
    }

    /// The blocks that a value names, in its order, each once.
    pub(crate) fn named_in(&self, value: &Value) -> Vec<Block> {
        let mut found = Vec::new();
        if !self.kept.is_empty() {
            self.find(value, &mut found);
        }
        found
            .into_iter()
            .map(|kept: &Kept| Block::clone(&kept.block))
            .collect()
    }

    fn find<'a>(&'a self, value: &Value, found: &mut Vec<&'a Kept>) {
        match value {
            Value::String(text) => {
                if let Some(kept) = self.named(text)
                    && found.len() < MAX_ATTACHED
                    && !found.iter().any(|other| other.name == kept.name)
                {
                    found.push(kept);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.find(item, found)),
            Value::Object(fields) => fields.values().for_each(|field| self.find(field, found)),
            _ => {}
        }
    }

    /// The blocks with their names, for [`Attachments::restored`].
    pub(crate) fn to_json(&self) -> Value {
        let block = |kept: &Kept| serde_json::json!({ "name": kept.name, "block": *kept.block });
        self.kept.iter().map(block).collect()
    }

    /// The blocks of a program that was saved, within the same limits as ever.
    pub(crate) fn restored(blocks: Vec<(String, Block)>) -> Self {
        let mut all = Self::default();
        for (name, mut block) in blocks {
            let bytes = data(&mut block).map_or(0, |text| text.len());
            if all.kept.len() < MAX_BLOCKS && all.bytes + bytes <= MAX_BYTES {
                all.bytes += bytes;
                let block = Arc::new(block);
                all.kept.push(Kept { name, block });
            }
        }
        all
    }

    fn named(&self, text: &str) -> Option<&Kept> {
        self.kept.iter().find(|kept| kept.name == text)
    }
}

/// The data of a block that is no text.
fn data(block: &mut Block) -> Option<&mut String> {
    let place = match block.get("type").and_then(Value::as_str)? {
        "image" | "audio" => block.get_mut("data"),
        "resource" => block.get_mut("resource")?.get_mut("blob"),
        _ => None,
    };
    match place? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
