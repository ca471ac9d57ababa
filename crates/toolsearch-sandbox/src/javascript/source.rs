//! Reads what models write around a program, without moving a line: Markdown fences, `export default`,
//! `module.exports`, a lone function. Pure text work; whether the result is a program, the engine says.

use super::mask::Mask;

/// Put before a program that is run as the body of an async function; on the same line, so that only
/// columns of the first line move.
pub const BODY_START: &str = "(async function () {";
/// Put after it.
pub const BODY_END: &str = "\n})()";

/// A program as the engine takes it.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Normalized {
    /// The text to run. Every line of it is the same line of `original`.
    pub text: String,
    /// The text as the model wrote it.
    pub original: String,
    /// Columns put before the first line.
    pub shift: usize,
}

/// Makes a program out of what a model sent.
#[must_use]
pub fn normalize(source: &str) -> Normalized {
    // No parser expects a NUL; as a space it is as harmless as it looks.
    let mut text = without_fence(source).replace('\0', " ");
    let mask = Mask::new(&text);
    let mut tail = String::new();
    for edit in exports(&text, &mask) {
        if let Some(name) = &edit.value {
            tail = format!("\n;{name}");
        }
        text.replace_range(edit.range.clone(), &edit.with);
    }
    let mut shift = 0;
    if tail.is_empty() {
        match lone_function(&text, &mask) {
            Some(Some(name)) => tail = format!("\n;{name}"),
            Some(None) => {
                text.insert_str(0, "0,");
                shift = 2;
            }
            None => {}
        }
    }
    text.push_str(&tail);
    Normalized {
        text,
        original: source.to_owned(),
        shift,
    }
}

/// Blanks the lines of a fence that encloses the whole text.
fn without_fence(source: &str) -> String {
    let trimmed = source.trim_start();
    let start = source.len() - trimmed.len();
    let Some(fence) = ["```", "~~~"]
        .into_iter()
        .find(|fence| trimmed.starts_with(fence))
    else {
        return source.to_owned();
    };
    let Some((info, _)) = trimmed.split_once('\n') else {
        return source.to_owned();
    };
    if info[fence.len()..].contains(['`', ';', '(']) {
        return source.to_owned();
    }
    let body = start + info.len();
    let trimmed_end = source.trim_end();
    let end = match trimmed_end.rsplit_once('\n') {
        Some((before, last)) if last.trim() == fence && before.len() >= body => before.len(),
        _ => source.len(),
    };
    format!("{}{}", &source[..start], &source[body.min(end)..end])
}

struct Edit {
    range: std::ops::Range<usize>,
    with: String,
    /// The name whose value is the program's value.
    value: Option<String>,
}

/// Takes the module forms out, keeping the length of the text.
fn exports(text: &str, mask: &Mask) -> Vec<Edit> {
    const DECLARATIONS: [&str; 6] = ["const ", "let ", "var ", "function ", "async ", "class "];
    let mut edits = Vec::new();
    for at in statement_starts(text, mask) {
        let rest = &text[at..];
        if let Some(after) = words(rest, &["export", "default"]) {
            let range = at..at + after;
            let name = function_name(&rest[after..]).flatten().map(str::to_owned);
            let with = if name.is_some() {
                String::new()
            } else {
                ";0,".to_owned()
            };
            edits.push(Edit {
                with: format!("{with:after$}"),
                range,
                value: name,
            });
        } else if let Some(length) = module_exports(rest) {
            let with = format!("{:length$}", ";0,");
            edits.push(Edit {
                range: at..at + length,
                with,
                value: None,
            });
        } else if let Some(after) = words(rest, &["export"])
            && DECLARATIONS
                .iter()
                .any(|word| rest[after..].trim_start().starts_with(word))
        {
            let with = " ".repeat("export".len());
            edits.push(Edit {
                range: at..at + "export".len(),
                with,
                value: None,
            });
        }
    }
    edits
}

/// Where lines begin with code outside all brackets.
fn statement_starts<'a>(text: &'a str, mask: &'a Mask) -> impl Iterator<Item = usize> + 'a {
    let mut line_start = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let at = line_start + (line.len() - line.trim_start().len());
        line_start += line.len();
        (mask.is_code(at) && mask.depth(at) == 0).then_some(at)
    })
}

/// The length of these words at the start of a text, if they stand there with spaces between.
fn words(text: &str, words: &[&str]) -> Option<usize> {
    let mut rest = text;
    for word in words {
        rest = rest.trim_start_matches([' ', '\t']).strip_prefix(word)?;
        if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$') {
            return None;
        }
    }
    Some(text.len() - rest.len())
}

fn module_exports(text: &str) -> Option<usize> {
    let rest = text
        .strip_prefix("module.exports")?
        .trim_start_matches([' ', '\t']);
    let value = rest.strip_prefix('=')?;
    (!value.starts_with(['=', '>'])).then_some(text.len() - value.len())
}

/// A function at the start of the text: its name, if it has one.
fn function_name(text: &str) -> Option<Option<&str>> {
    let text = text.trim_start();
    let after = words(text, &["async", "function"]).or_else(|| words(text, &["function"]))?;
    let rest = text[after..]
        .trim_start()
        .trim_start_matches('*')
        .trim_start();
    let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
    let name = &rest[..end.unwrap_or(rest.len())];
    Some((!name.is_empty()).then_some(name))
}

/// Whether the whole text is one function: its name, if it has one.
fn lone_function<'a>(text: &'a str, mask: &Mask) -> Option<Option<&'a str>> {
    let start = text
        .bytes()
        .enumerate()
        .position(|(at, byte)| mask.is_code(at) && !byte.is_ascii_whitespace())?;
    let name = function_name(text.get(start..)?)?;
    let code = mask.code_only(text);
    let end = code.trim_end().trim_end_matches(';').trim_end().len();
    let closes = code.as_bytes().get(end.checked_sub(1)?) == Some(&b'}');
    // Between the first and the last byte of its body some bracket is always open.
    let body = (start..end).find(|&at| code.as_bytes()[at] == b'{' && mask.depth(at) == 0)?;
    let whole = (body + 1..end - 1).all(|at| !mask.is_code(at) || mask.depth(at) > 0);
    (closes && whole).then_some(name)
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
