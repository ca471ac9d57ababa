//! From words to a tree: objects, arrays, duplicates, and the limit on depth.

use std::collections::BTreeMap;

use crate::path::{KeyPath, Step};

use super::scan::{Cursor, Scan};
use super::{MAX_DEPTH, Member, Node, NodeKind};

pub(super) use super::scan::Fault;

/// A key that stood twice in one object.
#[derive(Debug)]
pub(super) struct Duplicate {
    pub(super) path: KeyPath,
    pub(super) first: usize,
    pub(super) second: usize,
}

#[derive(Debug)]
pub(super) struct Parsed {
    /// Absent when the text held only blanks and comments.
    pub(super) root: Option<Node>,
    pub(super) duplicates: Vec<Duplicate>,
}

pub(super) fn parse(text: &str) -> Scan<Parsed> {
    let mut parser = Parser {
        cursor: Cursor { text, offset: 0 },
        trail: Vec::new(),
        duplicates: Vec::new(),
    };
    parser.cursor.trivia()?;
    if parser.cursor.rest().is_empty() {
        return Ok(Parsed {
            root: None,
            duplicates: Vec::new(),
        });
    }
    let root = parser.value()?;
    parser.cursor.trivia()?;
    if !parser.cursor.rest().is_empty() {
        let found = parser.cursor.found();
        return parser
            .cursor
            .fault(format!("expected the end of the file, found {found}"));
    }
    Ok(Parsed {
        root: Some(root),
        duplicates: parser.duplicates,
    })
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    /// Keys and indexes that lead to where we are; its length is the depth.
    trail: Vec<Step>,
    duplicates: Vec<Duplicate>,
}

impl Parser<'_> {
    fn value(&mut self) -> Scan<Node> {
        match self.cursor.peek() {
            Some('{' | '[') if self.trail.len() >= MAX_DEPTH => self
                .cursor
                .fault(format!("nested deeper than {MAX_DEPTH} levels")),
            Some('{') => self.object(),
            Some('[') => self.array(),
            _ => self.cursor.scalar(),
        }
    }

    fn object(&mut self) -> Scan<Node> {
        let start = self.cursor.offset;
        self.cursor.eat('{');
        let mut members: Vec<Member> = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            self.cursor.trivia()?;
            if self.cursor.eat('}') {
                break;
            }
            let (key, key_span) = self.cursor.key()?;
            self.cursor.trivia()?;
            if !self.cursor.eat(':') {
                let found = self.cursor.found();
                let shown: String = key.chars().take(40).collect();
                return self
                    .cursor
                    .fault(format!("expected `:` after key `{shown}`, found {found}"));
            }
            self.cursor.trivia()?;
            self.trail.push(Step::Key(key.clone()));
            let value = self.value()?;
            match seen.get(&key) {
                Some(first) => self.duplicates.push(Duplicate {
                    path: KeyPath::from(self.trail.clone()),
                    first: *first,
                    second: key_span.start,
                }),
                None => {
                    seen.insert(key.clone(), key_span.start);
                }
            }
            self.trail.pop();
            members.push(Member {
                key,
                key_span,
                value,
            });
            self.separator('}')?;
        }
        Ok(Node {
            span: start..self.cursor.offset,
            kind: NodeKind::Object(members),
        })
    }

    fn array(&mut self) -> Scan<Node> {
        let start = self.cursor.offset;
        self.cursor.eat('[');
        let mut items = Vec::new();
        loop {
            self.cursor.trivia()?;
            if self.cursor.eat(']') {
                break;
            }
            self.trail.push(Step::Index(items.len()));
            items.push(self.value()?);
            self.trail.pop();
            self.separator(']')?;
        }
        Ok(Node {
            span: start..self.cursor.offset,
            kind: NodeKind::Array(items),
        })
    }

    /// A comma, or the closing bracket (which stays for the caller).
    fn separator(&mut self, close: char) -> Scan<()> {
        self.cursor.trivia()?;
        if self.cursor.eat(',') || self.cursor.peek() == Some(close) {
            return Ok(());
        }
        let found = self.cursor.found();
        self.cursor
            .fault(format!("expected `,` or `{close}`, found {found}"))
    }
}
