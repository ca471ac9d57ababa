//! A plain table: columns padded to their widest cell, the last one cut to the terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Narrowest a cut column gets.
const MIN_LAST: usize = 12;

/// Rows of text under a line of names.
#[derive(Debug, Default)]
pub(crate) struct Table {
    header: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns; a name that starts with `>` makes its column flush right.
    pub(crate) fn new<const N: usize>(header: [&str; N]) -> Self {
        Self {
            right: header.iter().map(|name| name.starts_with('>')).collect(),
            header: header
                .iter()
                .map(|name| name.trim_start_matches('>').to_owned())
                .collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; missing cells are empty, further ones are left out.
    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        let mut cells: Vec<String> = cells.into_iter().map(|cell| one_line(&cell)).collect();
        cells.resize(self.header.len(), String::new());
        self.rows.push(cells);
    }

    /// The table as lines, each at most `width` columns wide as far as only the last column has to
    /// be cut for it.
    pub(crate) fn render(&self, width: usize, bold: bool) -> String {
        let widths = self.widths();
        let before: usize = widths.iter().rev().skip(1).map(|width| width + 2).sum();
        let last = width.saturating_sub(before).max(MIN_LAST);
        let mut text = String::new();
        let header = self.line(&self.header, &widths, last);
        if bold {
            text.push_str(&format!("\x1b[1m{header}\x1b[0m\n"));
        } else {
            text.push_str(&header);
            text.push('\n');
        }
        for row in &self.rows {
            text.push_str(&self.line(row, &widths, last));
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let column = |at: usize| {
            let cells = self.rows.iter().map(|row| row[at].width());
            cells.chain([self.header[at].width()]).max().unwrap_or(0)
        };
        (0..self.header.len()).map(column).collect()
    }

    fn line(&self, cells: &[String], widths: &[usize], last: usize) -> String {
        let mut line = String::new();
        for (at, cell) in cells.iter().enumerate() {
            let cell = if at + 1 == cells.len() {
                cut(cell, last)
            } else {
                cell.clone()
            };
            let pad = " ".repeat(widths[at].saturating_sub(cell.width()));
            if self.right[at] {
                line.push_str(&pad);
                line.push_str(&cell);
            } else {
                line.push_str(&cell);
                line.push_str(&pad);
            }
            line.push_str("  ");
        }
        line.trim_end().to_owned()
    }
}

/// A cell never breaks its row and never talks to the terminal.
fn one_line(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(shown).collect()
}

/// At most `width` columns, with a mark where something is missing.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(character);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["name", ">size", "text"]);
        table.row(["a".to_owned(), "1".to_owned(), "short".to_owned()]);
        table.row([
            "longer".to_owned(),
            "1,000".to_owned(),
            "two\nlines \x1b[31m and more words than fit".to_owned(),
        ]);
        table
    }

    #[test]
    fn columns_line_up() {
        let text = table().render(usize::MAX, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "name     size  text");
        assert_eq!(lines[1], "a           1  short");
        assert_eq!(lines.len(), 3, "a line break in a cell breaks no row");
        assert!(!text.contains('\x1b'));
    }

    #[test]
    fn the_last_column_is_cut_to_the_width() {
        let text = table().render(32, false);
        assert!(text.lines().all(|line| line.width() <= 32), "{text}");
        assert!(text.contains('…'));
    }

    #[test]
    fn wide_letters_count_twice() {
        assert_eq!(cut("日本語の説明", 6), "日本…");
        assert_eq!(cut("日本", 4), "日本");
    }
}
