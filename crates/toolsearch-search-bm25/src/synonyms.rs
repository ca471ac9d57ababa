//! Words that people and tools use for the same thing, and abbreviations. Generic words only. Not
//! here: what they weigh.

use std::collections::BTreeMap;

use crate::words::Words;

/// Every word of a group stands, weakly, for the others.
const GROUPS: &[&[&str]] = &[
    &["delete", "remove", "erase", "destroy", "drop", "purge"],
    &["send", "post", "deliver"],
    &["message", "dm"],
    &["find", "search", "lookup", "look", "query"],
    &["picture", "image", "photo", "screenshot"],
    &["draw", "generate", "create", "make", "add", "new"],
    &["ticket", "issue", "bug"],
    &["mail", "email", "mailbox"],
    &["appointment", "event", "meeting"],
    &["folder", "directory"],
    &["rename", "move"],
    &["read", "fetch", "retrieve", "view", "open"],
    &["change", "update", "edit", "modify"],
    &["run", "execute", "start", "launch"],
    &["stop", "cancel", "terminate", "abort", "kill"],
    &["repository", "repo", "codebase"],
    &["speech", "voice", "audio", "speak"],
    &["film", "movie"],
    &["song", "music", "track"],
    &["price", "cost", "quote"],
    &["paper", "article", "publication"],
    &["translate", "translation"],
    &["chart", "graph", "plot", "diagram"],
    &["flight", "airline"],
    &["stock", "share", "ticker"],
];

/// Short forms and what they stand for.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("cal", "calendar"),
    ("cfg", "configuration"),
    ("db", "database"),
    ("dir", "directory"),
    ("doc", "document documentation"),
    ("env", "environment"),
    ("gh", "github"),
    ("img", "image"),
    ("k8s", "kubernetes"),
    ("mr", "merge request"),
    ("msg", "message"),
    ("pg", "postgres"),
    ("pic", "picture"),
    ("pr", "pull request"),
    ("repo", "repository"),
    ("temp", "temperature"),
    ("wiki", "wikipedia"),
];

/// The tables in the form of terms.
#[derive(Debug, Default)]
pub(crate) struct Synonyms {
    others: BTreeMap<String, Vec<String>>,
    expansions: BTreeMap<String, Vec<String>>,
}

impl Synonyms {
    pub(crate) fn new(words: &Words) -> Self {
        let mut tables = Self::default();
        for group in GROUPS {
            let terms: Vec<String> = group.iter().map(|word| words.term(word)).collect();
            for term in &terms {
                let others = terms.iter().filter(|other| *other != term).cloned();
                tables
                    .others
                    .entry(term.clone())
                    .or_default()
                    .extend(others);
            }
        }
        for (short, long) in ABBREVIATIONS {
            let long = long.split(' ').map(|word| words.term(word)).collect();
            tables.expansions.insert((*short).to_owned(), long);
        }
        tables
    }

    /// The other words of a term's groups.
    pub(crate) fn of(&self, term: &str) -> &[String] {
        self.others.get(term).map_or(&[], Vec::as_slice)
    }

    /// The words that an abbreviation, or several of what it names, stands for.
    pub(crate) fn expansion(&self, word: &str) -> &[String] {
        let one = || {
            word.strip_suffix('s')
                .and_then(|one| self.expansions.get(one))
        };
        let found = self.expansions.get(word).or_else(one);
        found.map_or(&[], Vec::as_slice)
    }
}
