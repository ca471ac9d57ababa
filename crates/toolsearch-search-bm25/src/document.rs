//! One tool as a bag of words per field, read within bounds. Not here: weights and statistics.

use std::sync::Arc;

use foldhash::{HashMap, HashSet};
use serde_json::Value;
use toolsearch_catalog::ToolDescriptor;

use crate::options::Options;
use crate::verbs::Deed;
use crate::words::{Kind, Shape, Words};

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Field {
    Name,
    Title,
    Owner,
    Description,
    Tail,
    ParameterName,
    ParameterText,
    OwnerText,
}

impl Field {
    pub(crate) const ALL: [Self; 8] = [
        Self::Name,
        Self::Title,
        Self::Owner,
        Self::Description,
        Self::Tail,
        Self::ParameterName,
        Self::ParameterText,
        Self::OwnerText,
    ];

    /// The word that stands in evidence.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Title => "title",
            Self::Owner => "owner",
            Self::Description | Self::Tail => "description",
            Self::ParameterName => "parameter",
            Self::ParameterText => "parameter_text",
            Self::OwnerText => "owner_description",
        }
    }
}

/// How often a term stands in a field of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) term: u32,
    pub(crate) field: Field,
    pub(crate) count: u16,
}

/// Bytes of a description that are read: this many from its start and, of a longer one, fewer from its end.
const MAX_HEAD_BYTES: usize = 48 * 1024;
const MAX_END_BYTES: usize = 16 * 1024;
/// Distinct words of the tail that are kept.
const MAX_TAIL_WORDS: usize = 2_000;
/// Words that are kept of each other field.
const MAX_FIELD_WORDS: usize = 600;
/// Words of a name whose neighbours are kept.
const MAX_NAME_PAIRS: usize = 24;
/// Words of an owner's description that are kept.
const MAX_OWNER_WORDS: usize = 60;
/// Bounds of the walk through a schema.
const MAX_SCHEMA_DEPTH: usize = 6;
const MAX_SCHEMA_NODES: usize = 600;
const MAX_ENUM_VALUES: usize = 24;
const MAX_TEXT_BYTES: usize = 2_048;

/// Gives numbers to terms. The maps are only asked, never walked, so their order reaches nothing.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    by_word: HashMap<Box<str>, u32>,
    by_term: HashMap<Box<str>, u32>,
    pub(crate) list: Vec<Box<str>>,
}

impl Terms {
    /// The number of a term.
    pub(crate) fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.by_term.get(term) {
            return *number;
        }
        let number = crate::vocabulary::as_u32(self.list.len());
        self.by_term.insert(term.into(), number);
        self.list.push(term.into());
        number
    }

    /// The number of the term of a word. Every word is stemmed once.
    fn of_word(&mut self, word: &str, words: &Words) -> u32 {
        if let Some(number) = self.by_word.get(word) {
            return *number;
        }
        let number = self.number(&words.term(word));
        self.by_word.insert(word.into(), number);
        number
    }
}

/// Reads tools into bags.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    words: &'a Words,
    options: &'a Options,
    pub(crate) terms: Terms,
    bag: Vec<(u32, Field)>,
    owner: Owner,
}

/// Words of an owner, kept for its next tool: a catalog has the tools of one after the other.
#[derive(Debug, Default)]
struct Owner {
    name: String,
    description: Option<Arc<str>>,
    bag: Vec<(u32, Field)>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(words: &'a Words, options: &'a Options) -> Self {
        Self {
            words,
            options,
            terms: Terms::default(),
            bag: Vec::new(),
            owner: Owner::default(),
        }
    }

    /// Appends what is known of one tool, sorted by term as numbered so far and field.
    pub(crate) fn read(&mut self, tool: &ToolDescriptor, entries: &mut Vec<Entry>) {
        self.bag.clear();
        self.name(&tool.name);
        if let Some(title) = &tool.title {
            self.title(title);
        }
        self.owner(tool);
        self.description(&tool.description);
        self.parameters(&tool.input_schema);
        self.bag.sort_unstable();
        for same in self.bag.chunk_by(|a, b| a == b) {
            entries.push(Entry {
                term: same[0].0,
                field: same[0].1,
                count: u16::try_from(same.len()).unwrap_or(u16::MAX),
            });
        }
    }

    fn owner(&mut self, tool: &ToolDescriptor) {
        let known = &self.owner;
        if known.name != tool.owner || known.description != tool.owner_description {
            let start = self.bag.len();
            self.add(&tool.owner, Kind::Name, Field::Owner, MAX_FIELD_WORDS);
            if let Some(text) = &tool.owner_description {
                let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
                self.add(text, Kind::Prose, Field::OwnerText, MAX_OWNER_WORDS);
            }
            self.owner = Owner {
                name: tool.owner.clone(),
                description: tool.owner_description.clone(),
                bag: self.bag.split_off(start),
            };
        }
        self.bag.extend_from_slice(&self.owner.bag);
    }

    /// The kind of thing that a tool does.
    pub(crate) fn deed(&self, tool: &ToolDescriptor) -> Deed {
        Deed::of_name(self.words, &tool.name)
    }

    /// Adds words of a text to a field; tells how many were added.
    fn add(&mut self, text: &str, kind: Kind, field: Field, at_most: usize) -> usize {
        let Self {
            words, terms, bag, ..
        } = self;
        let mut added = 0;
        if at_most == 0 {
            return 0;
        }
        words.read(text, kind, |word| {
            bag.push((terms.of_word(word.text, words), field));
            added += 1;
            added < at_most
        });
        added
    }

    fn name(&mut self, name: &str) {
        self.add(name, Kind::Name, Field::Name, MAX_FIELD_WORDS);
        if self.options.name_pairs > 0.0 {
            self.name_pairs(name);
        }
        if !self.options.words.join_names {
            return;
        }
        let mut joined = String::new();
        let mut wholes = 0;
        self.words.read(name, Kind::Name, |word| {
            if word.shape == Shape::Whole {
                joined.push_str(word.text);
                wholes += 1;
            }
            joined.len() <= 64
        });
        if wholes > 1 && joined.len() <= 64 {
            let number = self.terms.of_word(&joined, self.words);
            self.bag.push((number, Field::Name));
        }
    }

    /// Neighbouring words of a name as one term, `pull request`. No word holds a space, so that only a
    /// query with the same neighbours finds it.
    fn name_pairs(&mut self, name: &str) {
        let Self {
            words, terms, bag, ..
        } = self;
        let mut before: Option<String> = None;
        let mut read = 0;
        words.read(name, Kind::Name, |word| {
            let term = words.term(word.text);
            if let Some(before) = before.take() {
                bag.push((terms.number(&format!("{before} {term}")), Field::Name));
            }
            before = Some(term);
            read += 1;
            read < MAX_NAME_PAIRS
        });
    }

    /// Only what the name does not say already, so that a tool is not paid twice.
    fn title(&mut self, title: &str) {
        let named: HashSet<u32> = self.bag.iter().map(|(term, _)| *term).collect();
        let start = self.bag.len();
        self.add(title, Kind::Name, Field::Title, MAX_FIELD_WORDS);
        let fresh = self.bag.split_off(start);
        self.bag
            .extend(fresh.into_iter().filter(|(term, _)| !named.contains(term)));
    }

    /// The first words in full, every further word once.
    fn description(&mut self, text: &str) {
        let head = &text[..text.floor_char_boundary(MAX_HEAD_BYTES)];
        let rest = text.len() - head.len();
        let end = &text[text.ceil_char_boundary(text.len() - rest.min(MAX_END_BYTES))..];
        let full = self.options.description_words;
        let Self {
            words, terms, bag, ..
        } = self;
        let mut read = 0;
        let mut tail: HashSet<u32> = HashSet::default();
        for part in [head, end] {
            words.read(part, Kind::Prose, |word| {
                let number = terms.of_word(word.text, words);
                if read < full {
                    bag.push((number, Field::Description));
                } else if tail.insert(number) {
                    bag.push((number, Field::Tail));
                }
                read += 1;
                tail.len() < MAX_TAIL_WORDS / 2
                    || part.len() == end.len() && tail.len() < MAX_TAIL_WORDS
            });
        }
    }

    /// Names, descriptions and allowed values of parameters, nested ones too.
    fn parameters(&mut self, schema: &Value) {
        let mut room = Room {
            nodes: MAX_SCHEMA_NODES,
            names: MAX_FIELD_WORDS,
            texts: MAX_FIELD_WORDS,
        };
        self.schema(schema, schema, MAX_SCHEMA_DEPTH, &mut room);
    }

    fn schema(&mut self, root: &Value, node: &Value, depth: usize, room: &mut Room) {
        let Some(object) = node.as_object() else {
            return;
        };
        if depth == 0 || room.nodes == 0 {
            return;
        }
        room.nodes -= 1;
        if let Some(target) = object.get("$ref").and_then(Value::as_str)
            && let Some(target) = target.strip_prefix('#').and_then(|at| root.pointer(at))
        {
            self.schema(root, target, depth - 1, room);
        }
        if let Some(properties) = object.get("properties").and_then(Value::as_object) {
            for (name, property) in properties {
                room.names -= self.add(name, Kind::Name, Field::ParameterName, room.names);
                self.parameter_text(property, room);
                self.schema(root, property, depth - 1, room);
            }
        }
        for key in ["items", "additionalProperties"] {
            if let Some(inner) = object.get(key) {
                self.parameter_text(inner, room);
                self.schema(root, inner, depth - 1, room);
            }
        }
        for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
            for inner in object
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                self.parameter_text(inner, room);
                self.schema(root, inner, depth - 1, room);
            }
        }
    }

    fn parameter_text(&mut self, node: &Value, room: &mut Room) {
        if let Some(text) = node.get("description").and_then(Value::as_str) {
            let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
            room.texts -= self.add(text, Kind::Prose, Field::ParameterText, room.texts);
        }
        let values = node.get("enum").and_then(Value::as_array);
        for value in values.into_iter().flatten().take(MAX_ENUM_VALUES) {
            if let Some(text) = value.as_str() {
                let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
                room.texts -= self.add(text, Kind::Name, Field::ParameterText, room.texts);
            }
        }
    }
}

/// What may still be read of a schema.
#[derive(Debug)]
struct Room {
    nodes: usize,
    names: usize,
    texts: usize,
}
