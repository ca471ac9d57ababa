//! Words that people and tools use for the same thing, and abbreviations. Generic words only. Not
//! here: what they weigh.

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

/// A word that another one may mean, by its number among all such words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meant(pub(crate) u16);

/// What a term may mean besides itself.
#[derive(Debug, Default)]
pub(crate) struct Meaning {
    /// The other words of its groups.
    pub(crate) others: Vec<Meant>,
    pub(crate) hints: Vec<Meant>,
    /// Whether a phrase begins with it.
    begins_phrase: bool,
}

/// The tables in the form of terms. The maps are only asked, never walked.
#[derive(Debug, Default)]
pub(crate) struct Synonyms {
    meanings: HashMap<String, Meaning>,
    /// By terms with spaces between them.
    phrases: HashMap<String, Vec<Meant>>,
    expansions: HashMap<&'static str, Vec<Meant>>,
    /// Bytes of the longest short form.
    longest_short: usize,
    meant: Vec<String>,
}

impl Synonyms {
    pub(crate) fn new(words: &Words) -> Self {
        let mut numbers = HashMap::default();
        let mut tables = Self::default();
        for group in GROUPS {
            let terms: Vec<String> = group.iter().map(|word| words.term(word)).collect();
            for term in &terms {
                let others = terms.iter().filter(|other| *other != term);
                let others = others.map(|other| number(&mut numbers, other.clone()));
                let meaning = tables.meanings.entry(term.clone()).or_default();
                meaning.others.extend(others);
            }
        }
        for (short, long) in ABBREVIATIONS {
            let long = long.split(' ');
            let long = long.map(|word| number(&mut numbers, words.term(word)));
            tables.expansions.insert(short, long.collect());
            tables.longest_short = tables.longest_short.max(short.len());
        }
        for line in HINTS.lines().filter(|line| !line.starts_with('#')) {
            if let Some((said, meant)) = line.split_once('\t') {
                let said: Vec<String> = said.split(' ').map(|word| words.term(word)).collect();
                let meant = meant.split(' ');
                let meant = meant.map(|word| number(&mut numbers, words.term(word)));
                tables.hint(&said, meant);
            }
        }
        tables.meant = vec![String::new(); numbers.len()];
        for (word, Meant(number)) in numbers {
            tables.meant[usize::from(number)] = word;
        }
        tables
    }

    fn hint(&mut self, said: &[String], meant: impl Iterator<Item = Meant>) {
        let first = self.meanings.entry(said[0].clone()).or_default();
        if said.len() == 1 {
            first.hints.extend(meant);
        } else {
            first.begins_phrase = true;
            let known = self.phrases.entry(said.join(" ")).or_default();
            known.extend(meant);
        }
    }

    /// All words that something may mean, by their numbers.
    pub(crate) fn meant(&self) -> &[String] {
        &self.meant
    }

    /// What a term may mean besides itself.
    pub(crate) fn meaning(&self, term: &str) -> Option<&Meaning> {
        self.meanings.get(term)
    }

    /// What terms that follow each other may mean: the longest phrase that begins at each place, with where
    /// it begins and its length.
    pub(crate) fn phrases<'a>(
        &'a self,
        terms: &[(&str, Option<&Meaning>)],
        mut each: impl FnMut(usize, usize, &'a [Meant]),
    ) {
        let mut text = String::new();
        for (at, (term, meaning)) in terms.iter().enumerate() {
            if !meaning.is_some_and(|meaning| meaning.begins_phrase) {
                continue;
            }
            text.clear();
            text.push_str(term);
            let mut found = None;
            for (more, (next, _)) in terms[at + 1..].iter().take(MAX_PHRASE - 1).enumerate() {
                text.extend([" ", next]);
                let longer = self.phrases.get(&text);
                found = longer.map(|meant| (more + 2, meant)).or(found);
            }
            if let Some((length, meant)) = found {
                each(at, length, meant);
            }
        }
    }

    /// The words that an abbreviation, or several of what it names, stands for.
    pub(crate) fn expansion(&self, word: &str) -> &[Meant] {
        if word.len() > self.longest_short + 1 {
            return &[];
        }
        let one = || {
            word.strip_suffix('s')
                .and_then(|one| self.expansions.get(one))
        };
        let found = self.expansions.get(word).or_else(one);
        found.map_or(&[], Vec::as_slice)
    }
}

/// The number of a word that something may mean.
fn number(numbers: &mut HashMap<String, Meant>, word: String) -> Meant {
    let next = Meant(u16::try_from(numbers.len()).expect("because the tables are built in"));
    *numbers.entry(word).or_insert(next)
}
