//! Words that people and tools use for the same thing, and abbreviations. Generic words only. Not
//! here: what they weigh.

use std::collections::BTreeMap;

use foldhash::HashMap;

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

/// What people say and what tools call it, one way.
const HINTS: &str = include_str!("data/english.tsv");
/// Words of the longest phrase among the hints.
const MAX_PHRASE: usize = 3;

/// The tables in the form of terms.
#[derive(Debug, Default)]
pub(crate) struct Synonyms {
    others: BTreeMap<String, Vec<String>>,
    expansions: BTreeMap<String, Vec<String>>,
    /// By a term, or by terms with spaces between them. Only asked, never walked.
    hints: HashMap<String, Vec<String>>,
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
        let terms = |text: &str| text.split(' ').map(|word| words.term(word)).collect();
        for line in HINTS.lines().filter(|line| !line.starts_with('#')) {
            if let Some((said, meant)) = line.split_once('\t') {
                let said: Vec<String> = terms(said);
                let meant: Vec<String> = terms(meant);
                let known = tables.hints.entry(said.join(" ")).or_default();
                known.extend(meant);
            }
        }
        tables
    }

    /// What a term may mean besides itself.
    pub(crate) fn hints(&self, term: &str) -> &[String] {
        self.hints.get(term).map_or(&[], Vec::as_slice)
    }

    /// What terms that follow each other may mean: the longest phrase that begins at each place, with where
    /// it begins and its length.
    pub(crate) fn phrases<'a>(
        &'a self,
        terms: &[&str],
        mut each: impl FnMut(usize, usize, &'a [String]),
    ) {
        let text = terms.join(" ");
        let mut start = 0;
        for (at, term) in terms.iter().enumerate() {
            let mut end = start + term.len();
            let mut found = None;
            for (more, next) in terms[at + 1..].iter().take(MAX_PHRASE - 1).enumerate() {
                end += 1 + next.len();
                let longer = self.hints.get(&text[start..end]);
                found = longer.map(|meant| (more + 2, meant)).or(found);
            }
            if let Some((length, meant)) = found {
                each(at, length, meant);
            }
            start += term.len() + 1;
        }
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
