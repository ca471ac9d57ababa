//! A report as a picture: one bar a row. Not here: anything that needs a font metric or a script.

use std::fmt::Write as _;

use crate::report::{Report, Row};

const LINE: usize = 22;
const LEFT: usize = 190;
const SCALE: usize = 400;
const TOP: usize = 40;

/// An SVG with recall among the first five for every row, and for rows where nothing fits the share of
/// empty answers. `title` stands above.
#[must_use]
pub fn chart(report: &Report, title: &str) -> String {
    let rows = report.datasets.len();
    let (width, height) = (LEFT + SCALE + 70, TOP + rows * LINE + 24);
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"10\" y=\"20\" font-size=\"14\">{}</text>",
        escaped(title)
    );
    for quarter in 0..=4 {
        let x = LEFT + SCALE * quarter / 4;
        let _ = writeln!(
            out,
            "<line x1=\"{x}\" y1=\"{TOP}\" x2=\"{x}\" y2=\"{}\" stroke=\"#ddd\"/>\
             <text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" fill=\"#666\">{}</text>",
            TOP + rows * LINE,
            TOP + rows * LINE + 16,
            quarter * 25
        );
    }
    for (at, row) in report.datasets.iter().enumerate() {
        let _ = writeln!(out, "{}", bar(row, TOP + at * LINE));
    }
    out.push_str("</svg>\n");
    out
}

fn bar(row: &Row, y: usize) -> String {
    let (value, colour, label) = match row.recall_5 {
        Some(recall) => (recall, "#4a7fb5", "R@5"),
        None => (row.no_match, "#b5754a", "empty"),
    };
    let name = match row.language.as_str() {
        "" => row.name.clone(),
        language => format!("{} ({language})", row.name),
    };
    #[expect(clippy::cast_precision_loss, reason = "a width in pixels")]
    let length = value.clamp(0.0, 1.0) * SCALE as f64;
    #[expect(clippy::cast_precision_loss, reason = "a place in pixels")]
    let end = LEFT as f64 + length + 6.0;
    let base = y + 15;
    format!(
        "<text x=\"{}\" y=\"{base}\" text-anchor=\"end\">{}</text>\
         <rect x=\"{LEFT}\" y=\"{}\" width=\"{length:.1}\" height=\"{}\" fill=\"{colour}\"/>\
         <text x=\"{end:.1}\" y=\"{base}\">{label} {:.1}</text>",
        LEFT - 8,
        escaped(&name),
        y + 3,
        LINE - 6,
        value * 100.0
    )
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}
