//! The output budget: text is cut once, marked, and never in the middle of a character.

use std::collections::VecDeque;

/// Cuts `text` to at most `max` bytes, ending in a mark that tells the full size. Tells whether it did.
pub fn cut_text(text: &mut String, max: usize) -> bool {
    if text.len() <= max {
        return false;
    }
    let mark = format!("… [truncated, {} bytes in all]", text.len());
    let keep = text.floor_char_boundary(max.saturating_sub(mark.len()));
    text.truncate(keep);
    if mark.len() <= max {
        text.push_str(&mark);
    }
    true
}

/// Collects log lines within a budget: the first half of it from the start, the second from the end.
///
/// Memory stays within the budget plus one line, whatever is pushed.
#[derive(Debug, Clone)]
pub struct LogBuffer {
    head: Vec<String>,
    head_bytes: usize,
    head_budget: usize,
    tail: VecDeque<String>,
    tail_bytes: usize,
    tail_budget: usize,
    dropped: u64,
    cut: bool,
}

impl LogBuffer {
    /// An empty buffer for `budget` bytes.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self {
            head: Vec::new(),
            head_bytes: 0,
            head_budget: budget / 2,
            tail: VecDeque::new(),
            tail_bytes: 0,
            tail_budget: budget - budget / 2,
            dropped: 0,
            cut: false,
        }
    }

    /// Adds a line. A line alone larger than half the budget is cut. Tells whether the line is part of
    /// the head, that is certain to be kept.
    pub fn push(&mut self, mut line: String) -> bool {
        self.cut |= cut_text(&mut line, self.head_budget);
        let cost = line.len() + 1;
        if self.tail.is_empty() && self.dropped == 0 && self.head_bytes + cost <= self.head_budget {
            self.head_bytes += cost;
            self.head.push(line);
            return true;
        }
        self.tail_bytes += cost;
        self.tail.push_back(line);
        self.shrink_tail(self.tail_budget);
        false
    }

    /// Lines not kept so far.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Takes the lines that follow the head, as they stand now, and how many were left out before them.
    pub fn take_tail(&mut self) -> (u64, Vec<String>) {
        self.tail_bytes = 0;
        (
            std::mem::take(&mut self.dropped),
            self.tail.drain(..).collect(),
        )
    }

    /// Counts lines that were left out before they got here.
    pub fn skip(&mut self, lines: u64) {
        if lines > 0 {
            self.dropped += lines + self.tail.len() as u64;
            self.tail.clear();
            self.tail_bytes = 0;
        }
    }

    /// The lines within `budget` bytes, with one line that marks what was left out, and whether
    /// anything was cut.
    #[must_use]
    pub fn finish(mut self, budget: usize) -> (Vec<String>, bool) {
        if self.head_bytes + self.tail_bytes > budget {
            let head_budget = budget / 2;
            while self.head_bytes > head_budget {
                let Some(line) = self.head.pop() else { break };
                self.head_bytes -= line.len() + 1;
                self.give_back(line);
            }
            self.shrink_tail(budget.saturating_sub(self.head_bytes));
        }
        let cut = self.cut || self.dropped > 0;
        let mut lines = self.head;
        if self.dropped > 0 {
            lines.push(format!("… [{} log lines truncated]", self.dropped));
        }
        lines.extend(self.tail);
        (lines, cut)
    }

    /// The last line of the head becomes the first of the tail, unless a gap lies between them.
    fn give_back(&mut self, line: String) {
        if self.dropped > 0 {
            self.dropped += 1;
        } else {
            self.tail_bytes += line.len() + 1;
            self.tail.push_front(line);
        }
    }

    fn shrink_tail(&mut self, budget: usize) {
        while self.tail_bytes > budget {
            let Some(line) = self.tail.pop_front() else {
                break;
            };
            self.tail_bytes -= line.len() + 1;
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests;
