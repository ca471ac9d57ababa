//! The tokenizer of a packed model: a table of pieces with scores. Of all ways to cut a text into pieces
//! the one with the highest sum of scores is taken.

use std::collections::HashMap;

/// The mark that stands for a space, and before the first word.
const SPACE: char = '\u{2581}';
/// A character that no piece covers scores this much less than the worst piece.
const UNKNOWN_PENALTY: f32 = 10.0;

/// A table of pieces.
#[derive(Debug)]
pub(crate) struct Unigram {
    pieces: HashMap<Box<[u8]>, u32>,
    scores: Vec<f32>,
    /// Characters that are written in another way before a text is cut.
    rewritten: HashMap<char, Box<[char]>>,
    marks: Marks,
    longest: usize,
    unknown_score: f32,
}

/// The numbers of pieces with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) begin: u32,
    pub(crate) end: u32,
    pub(crate) unknown: u32,
}

/// The best way to the end of a character.
#[derive(Debug, Clone, Copy)]
struct Step {
    score: f32,
    piece: u32,
    from: usize,
}

impl Unigram {
    /// Of equal pieces the first counts.
    pub(crate) fn new<'a>(
        pieces: impl Iterator<Item = (&'a [u8], f32)>,
        rewritten: HashMap<char, Box<[char]>>,
        marks: Marks,
    ) -> Self {
        let (mut table, mut scores) = (HashMap::new(), Vec::new());
        let (mut longest, mut worst) = (1, 0.0_f32);
        for (number, (piece, score)) in (0..).zip(pieces) {
            longest = longest.max(piece.len());
            worst = worst.min(score);
            scores.push(score);
            if !piece.is_empty() && number != marks.unknown {
                table.entry(piece.into()).or_insert(number);
            }
        }
        Self {
            pieces: table,
            scores,
            rewritten,
            marks,
            longest,
            unknown_score: worst - UNKNOWN_PENALTY,
        }
    }

    /// The tokens of a text between the marks of begin and end.
    pub(crate) fn tokens(&self, text: &str) -> Vec<u32> {
        let text = self.normal(text);
        let mut tokens = vec![self.marks.begin];
        tokens.extend(self.cut(&text));
        tokens.push(self.marks.end);
        tokens
    }

    /// Rewrites characters, makes one space of many, and marks spaces.
    fn normal(&self, text: &str) -> String {
        let rewritten = text.chars().flat_map(|c| match self.rewritten.get(&c) {
            Some(others) => others.to_vec(),
            None => vec![c],
        });
        let mut normal = String::with_capacity(text.len() + SPACE.len_utf8());
        for c in rewritten {
            let c = if c == ' ' { SPACE } else { c };
            if normal.is_empty() && c != SPACE {
                normal.push(SPACE);
            }
            if c != SPACE || !normal.ends_with(SPACE) {
                normal.push(c);
            }
        }
        if normal.is_empty() {
            normal.push(SPACE);
        }
        normal
    }

    fn cut(&self, text: &str) -> Vec<u32> {
        let mut ends: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        ends.push(text.len());
        let bytes = text.as_bytes();
        let mut steps: Vec<Option<Step>> = vec![None; ends.len()];
        for from in 0..ends.len() - 1 {
            let so_far = match steps[from] {
                Some(step) => step.score,
                None if from == 0 => 0.0,
                None => continue,
            };
            let mut offer = |to: usize, piece: u32, score: f32| {
                let score = so_far + score;
                if steps[to].is_none_or(|step| score > step.score) {
                    steps[to] = Some(Step { score, piece, from });
                }
            };
            for to in from + 1..ends.len() {
                let piece = &bytes[ends[from]..ends[to]];
                if piece.len() > self.longest {
                    break;
                }
                if let Some(number) = self.pieces.get(piece) {
                    offer(to, *number, self.scores[*number as usize]);
                }
            }
            offer(from + 1, self.marks.unknown, self.unknown_score);
        }
        let mut tokens = Vec::new();
        let mut at = ends.len() - 1;
        while let Some(step) = steps[at].filter(|_| at > 0) {
            tokens.push(step.piece);
            at = step.from;
        }
        tokens.reverse();
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Unigram {
        let pieces = [
            ("<s>", 0.0),
            ("</s>", 0.0),
            ("<unk>", 0.0),
            ("\u{2581}find", -2.0),
            ("\u{2581}", -1.0),
            ("find", -4.0),
            ("er", -3.0),
            ("finder", -6.5),
            ("e", -5.0),
        ];
        let rewritten = HashMap::from([
            ('\u{ff46}', Box::from(['f'])),
            ('\t', Box::from([' '])),
            ('\u{ad}', Box::from([])),
        ]);
        let marks = Marks {
            begin: 0,
            end: 1,
            unknown: 2,
        };
        let pieces = pieces.iter().map(|(text, score)| (text.as_bytes(), *score));
        Unigram::new(pieces, rewritten, marks)
    }

    fn check(text: &str, expected: &[u32]) {
        assert_eq!(table().tokens(text), expected, "{text:?}");
    }

    #[test]
    fn the_best_pieces_are_taken() {
        check("find", &[0, 3, 1]);
        check("finder", &[0, 3, 6, 1]);
        check("find find", &[0, 3, 3, 1]);
    }

    #[test]
    fn characters_are_rewritten_and_spaces_are_one() {
        check("\u{ff46}ind \t  find\u{ad}", &[0, 3, 3, 1]);
    }

    #[test]
    fn what_no_piece_covers_is_unknown_character_by_character() {
        check("北京", &[0, 4, 2, 2, 1]);
        check("", &[0, 4, 1]);
    }
}
