//! Everything that can be set, with the values that measured best. Not here: what they do.

use std::sync::Arc;

use crate::document::Field;
use crate::lexicon::Lexicon;

/// How tools are indexed and queries are answered. The defaults are meant to be used.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// What a word weighs in each field.
    pub weights: Weights,
    /// How fast repetition stops to count (`k1` of BM25).
    pub saturation: f32,
    /// How much long fields are held back, 0 to 1 (`b` of BM25).
    pub length_norm: f32,
    /// Words of a description that count in full; the rest counts as its tail.
    pub description_words: usize,
    /// How text is cut into words.
    pub words: WordOptions,
    /// Misspelled query words are read as near words of the catalog.
    pub repair: Option<Repair>,
    /// What a word of a synonym group weighs for another word of the group; 0 switches the groups off.
    pub synonym_weight: f32,
    /// The same for a query word that no tool has.
    pub unknown_synonym_weight: f32,
    /// What a word weighs that the table of intents gives for a word of the query which some tool has; 0
    /// leaves the table out.
    pub hint_weight: f32,
    /// The same for a phrase of the query.
    pub phrase_weight: f32,
    /// Word tables of other languages, asked for query words that no tool has.
    pub lexicons: Vec<Arc<Lexicon>>,
    /// What a word found in a lexicon weighs.
    pub lexicon_weight: f32,
    /// The score is multiplied by the share of the query that a tool matches, raised to this power.
    pub coverage_power: f32,
    /// What two neighbouring words of the query weigh that are neighbours in a tool's name too; 0 leaves
    /// such pairs out of the index.
    pub name_pairs: f32,
    /// The score of a tool grows by up to this share the more of its name the query says.
    pub name_share: f32,
    /// What two neighbouring words of the query weigh where a tool writes them as one.
    pub joined_words: f32,
    /// Of tools alike, that of the owner with the shorter name comes first: its score grows by this share
    /// divided by the number of words in the owner's name.
    pub short_owner: f32,
    /// What a tool keeps of its score whose name begins with a verb of another kind than the query (`create`
    /// where it says `list`); 1 leaves verbs unread.
    pub other_verb: f32,
    /// What each further copy of a tool (same name, description and parameters, another owner) keeps of its
    /// score, so that copies do not crowd the list; 1 leaves them where they are.
    pub copies: f32,
    /// When a query is refused although some words match.
    pub gate: Option<Gate>,
    /// Hits below this share of the best score are left out.
    pub cut: f32,
    /// The same where the best tool matches less than `weak_share` of the query: what follows it then is
    /// chance.
    pub weak_cut: f32,
    /// See `weak_cut`.
    pub weak_share: f32,
    /// Distinct words of a query that are read.
    pub query_terms: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            weights: Weights::default(),
            saturation: 0.9,
            length_norm: 0.75,
            description_words: 120,
            words: WordOptions::default(),
            repair: Some(Repair::default()),
            synonym_weight: 0.2,
            unknown_synonym_weight: 0.5,
            hint_weight: 0.2,
            phrase_weight: 0.4,
            lexicons: Lexicon::built_in(),
            lexicon_weight: 0.8,
            coverage_power: 0.1,
            name_pairs: 0.3,
            name_share: 0.2,
            joined_words: 0.3,
            short_owner: 0.08,
            other_verb: 0.85,
            copies: 0.9,
            gate: Some(Gate::default()),
            cut: 0.15,
            weak_cut: 0.35,
            weak_share: 0.2,
            query_terms: 128,
        }
    }
}

/// What a word weighs in each field.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Weights {
    /// In the name.
    pub name: f32,
    /// In the title, where the name does not have it.
    pub title: f32,
    /// In the owner's name.
    pub owner: f32,
    /// In what the owner says about itself.
    pub owner_description: f32,
    /// Among the first words of the description.
    pub description: f32,
    /// Further back in a long description.
    pub description_tail: f32,
    /// In a parameter's name.
    pub parameter_name: f32,
    /// In a parameter's description or among its allowed values.
    pub parameter_text: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            name: 3.0,
            title: 3.0,
            owner: 1.5,
            owner_description: 0.3,
            description: 1.0,
            description_tail: 0.15,
            parameter_name: 0.5,
            parameter_text: 0.5,
        }
    }
}

/// The parts of the tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct WordOptions {
    /// Cuts `createIssue` and `create_issue` into their words.
    pub split_identifiers: bool,
    /// Also indexes a name of several words as one word, `createissue`.
    pub join_names: bool,
    /// Leaves common English words out of prose and of queries.
    pub stop_words: bool,
    /// Brings English words to their stem.
    pub stem: bool,
    /// Cuts scripts that are written without spaces into pairs of characters.
    pub pairs: bool,
}

impl Default for WordOptions {
    fn default() -> Self {
        Self {
            split_identifiers: true,
            join_names: true,
            stop_words: true,
            stem: true,
            pairs: true,
        }
    }
}

/// How a query word that no tool has is read as a misspelling.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Repair {
    /// Shorter words are taken as written.
    pub min_chars: usize,
    /// How many near words are tried, the most frequent first.
    pub at_most: usize,
    /// What a near word weighs.
    pub weight: f32,
}

impl Default for Repair {
    fn default() -> Self {
        Self {
            min_chars: 4,
            at_most: 3,
            weight: 0.7,
        }
    }
}

/// When a short query is refused although some words match. It is refused when a word of it is
/// unknown or guessed and none of the best tools is meant clearly enough: by covering enough of the
/// query, by the name of its owner, or by several telling words.
///
/// Long queries and questions pass: most of their words tell a story, so an unknown one means little.
/// So do queries that were read with the word table of another language, because a table is small.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Gate {
    /// Share of the query's rarity that is enough, for queries of up to two words, of three, of more.
    pub coverage: [f32; 3],
    /// What a match in a description counts of one in a name, title or owner.
    pub description: f32,
    /// What a match among parameters counts of one in a name, title or owner.
    pub parameters: f32,
    /// Rarity of the owner's words in the query that is enough, as a share of that of a word which one
    /// tool has.
    pub owner: f32,
    /// The share of an owner's name that the query has to say for that.
    pub owner_share: f32,
    /// Number of telling words that is enough.
    pub words: usize,
    /// Rarity of a telling word, as a share of that of a word which one tool has.
    pub telling: f32,
    /// Words of the longest query that is looked at, common ones not counted.
    pub longest: usize,
    /// The same with common words.
    pub longest_sentence: usize,
    /// Whether questions pass.
    pub questions_pass: bool,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            coverage: [0.48, 0.44, 0.36],
            description: 0.8,
            parameters: 0.5,
            owner: 0.4,
            owner_share: 0.6,
            words: 2,
            telling: 0.35,
            longest: 4,
            longest_sentence: 9,
            questions_pass: true,
        }
    }
}

impl Weights {
    pub(crate) const fn of(&self, field: Field) -> f32 {
        match field {
            Field::Name => self.name,
            Field::Title => self.title,
            Field::Owner => self.owner,
            Field::Description => self.description,
            Field::Tail => self.description_tail,
            Field::ParameterName => self.parameter_name,
            Field::ParameterText => self.parameter_text,
            Field::OwnerText => self.owner_description,
        }
    }
}
