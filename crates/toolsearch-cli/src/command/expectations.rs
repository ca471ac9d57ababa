//! Files of expectations for `toolsearch policy check`: JSON5, or one expectation a line.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use toolsearch_config::{Document, Node, NodeKind, read_file};

use crate::fault::Fault;

/// Most expectations of one file.
const MAX_EXPECTATIONS: usize = 100_000;
/// The form of a line.
const FORM: &str = "ID -> allow|ask|deny [agent=A] [provider=P] [channel=C]";

/// What a decision is expected to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Expect {
    Allow,
    Ask,
    Deny,
}

impl Expect {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One expectation.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Expectation {
    pub(crate) id: String,
    pub(crate) expect: Expect,
    pub(crate) agent: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) channel: Option<String>,
    /// Where it stands.
    #[serde(skip)]
    pub(crate) line: usize,
}

impl Expectation {
    fn parts(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let parts = [
            ("agent", &self.agent),
            ("provider", &self.provider),
            ("channel", &self.channel),
        ];
        parts
            .into_iter()
            .filter_map(|(key, value)| Some((key, value.as_ref()?)))
    }

    /// For whom, in brackets; empty where nothing is said.
    pub(crate) fn whom(&self) -> String {
        let parts: Vec<String> = self
            .parts()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        match parts.is_empty() {
            true => String::new(),
            false => format!(" ({})", parts.join(" ")),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut line =
            json!({ "line": self.line, "id": self.id, "expected": self.expect.as_str() });
        for (key, value) in self.parts() {
            line[key] = json!(value);
        }
        line
    }
}

/// Reads a file; every fault names its line.
pub(crate) fn read(path: &Path) -> Result<Vec<Expectation>, Fault> {
    let name = path.display().to_string();
    let text = read_file(path).map_err(|error| Fault::usage(error.to_string()))?;
    let read = match is_json(&text) {
        true => document(&text, &name)?,
        false => lines(&text, &name)?,
    };
    if read.is_empty() {
        return Err(Fault::usage(format!("{name} expects nothing")).next(format!("write {FORM}")));
    }
    if read.len() > MAX_EXPECTATIONS {
        let message = format!("{name} holds more than {MAX_EXPECTATIONS} expectations");
        return Err(Fault::usage(message).next("split the file"));
    }
    Ok(read)
}

/// Whether the first thing of the text, comments apart, opens a JSON5 value. A line starts with an
/// id, which does not.
fn is_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    ["[", "{", "//", "/*"]
        .iter()
        .any(|open| text.starts_with(open))
}

fn document(text: &str, name: &str) -> Result<Vec<Expectation>, Fault> {
    let document = Document::parse(text, name).map_err(|error| Fault::usage(error.to_string()))?;
    let NodeKind::Array(items) = &document.root().kind else {
        let message = format!("{name} has to be a list of expectations");
        return Err(Fault::usage(message)
            .next("write [{ id: \"mcp:github:create_issue\", expect: \"ask\" }]"));
    };
    let one = |item: &Node| {
        let line = document.position(item.span.start).line;
        let mut read: Expectation = serde_json::from_value(item.to_json()).map_err(|error| {
            Fault::usage(format!("{name}:{line}: {error}")).next(
                "an expectation has `id`, `expect` and perhaps `agent`, `provider`, `channel`",
            )
        })?;
        read.line = line;
        Ok(read)
    };
    items.iter().map(one).collect()
}

fn lines(text: &str, name: &str) -> Result<Vec<Expectation>, Fault> {
    let numbered = text.trim_start_matches('\u{feff}').lines().enumerate();
    let written = numbered
        .map(|(at, line)| (at + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let one = |(at, line)| {
        parse(line, at).ok_or_else(|| {
            Fault::usage(format!("{name}:{at}: this is no expectation"))
                .next(format!("write {FORM}"))
        })
    };
    written.map(one).collect()
}

fn parse(text: &str, line: usize) -> Option<Expectation> {
    let (id, rest) = text.split_once("->").or_else(|| text.split_once('→'))?;
    let mut words = rest.split_whitespace();
    let expect = match words.next()? {
        "allow" => Expect::Allow,
        "ask" => Expect::Ask,
        "deny" => Expect::Deny,
        _ => return None,
    };
    let mut read = Expectation {
        id: id.trim().to_owned(),
        expect,
        agent: None,
        provider: None,
        channel: None,
        line,
    };
    for word in words {
        let (key, value) = word
            .split_once('=')
            .filter(|(_, value)| !value.is_empty())?;
        let part = match key {
            "agent" => &mut read.agent,
            "provider" => &mut read.provider,
            "channel" => &mut read.channel,
            _ => return None,
        };
        if part.replace(value.to_owned()).is_some() {
            return None;
        }
    }
    (!read.id.is_empty()).then_some(read)
}
