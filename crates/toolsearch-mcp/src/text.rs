//! Making text of a server fit to be reported: no configured secrets, no control characters, no
//! endless lines.

/// Longest reason in an error or an outage, in characters.
pub(crate) const MAX_REASON_CHARS: usize = 600;
/// Longest line that is kept of standard error or of junk, in characters.
pub(crate) const MAX_LINE_CHARS: usize = 400;

/// Shorter values would blot out ordinary words such as `1` or `on`.
const MIN_SECRET_BYTES: usize = 4;
const MARK: &str = "[redacted]";

/// Shorter values of this process's own variables are no keys.
const MIN_INHERITED_BYTES: usize = 8;
/// Parts of the names of variables whose values are meant for few.
const TELLING: [&str; 10] = [
    "AUTHORIZATION",
    "APIKEY",
    "CREDENTIAL",
    "CREDENTIALS",
    "KEY",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "SECRET",
    "TOKEN",
];

/// Values that a server inherits although they may be meant for others, going by the names of the
/// variables: a server that fails may quote its whole environment.
pub(crate) fn telling_variables() -> Vec<String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, value)| value.len() >= MIN_INHERITED_BYTES && is_telling(name))
        .map(|(_, value)| value)
        .collect()
}

fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    name.split(['_', '-', '.'])
        .any(|part| TELLING.contains(&part))
}

/// Replaces the values that must not show.
#[derive(Clone)]
pub(crate) struct Redactor {
    /// Longest first, so that a value inside another leaves no rest of the longer one.
    values: Vec<String>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} values)", self.values.len())
    }
}

impl Redactor {
    pub(crate) fn new<'a>(values: impl Iterator<Item = &'a str>) -> Self {
        // A value of several lines, such as a key file, is reported line by line.
        let lines = values.flat_map(|value| std::iter::once(value).chain(value.lines()));
        let mut values: Vec<String> = lines
            .map(str::trim)
            .filter(|value| value.len() >= MIN_SECRET_BYTES)
            .map(str::to_owned)
            .collect();
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        Self { values }
    }

    /// One printable line of at most `max` characters without any of the values.
    pub(crate) fn line(&self, text: &str, max: usize) -> String {
        let mut text = text.to_owned();
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = text.replace(value.as_str(), MARK);
            }
        }
        clip(&printable(&text), max)
    }

    /// The same for the beginning of a line whose rest was not read: what could be the beginning of
    /// a value goes too.
    pub(crate) fn cut_line(&self, text: &str, max: usize) -> String {
        let longest = self.values.first().map_or(0, String::len);
        let end = text.floor_char_boundary(text.len().saturating_sub(longest));
        format!("{}…", self.line(&text[..end], max))
    }
}

/// At most `max` characters, with `…` where something was cut.
pub(crate) fn clip(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Without terminal escapes; every run of white space and control characters becomes one space.
fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            if chars.next_if_eq(&'[').is_some() {
                while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
            }
        } else if c.is_whitespace() || c.is_control() {
            if !out.ends_with(' ') && !out.is_empty() {
                out.push(' ');
            }
        } else if !is_invisible(c) {
            out.push(c);
        }
    }
    out.truncate(out.trim_end().len());
    out
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
