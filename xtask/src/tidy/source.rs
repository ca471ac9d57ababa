//! Just enough reading of Rust source for the rules: what is code, what is comment or string, and
//! which items exist only in tests. Knows no syntax tree.

/// The source with comments, strings and test-only items blanked out; lines keep their numbers.
pub(super) fn product_code(source: &str) -> String {
    let mut code = blank_text(source);
    while let Some((from, to)) = test_item(&code) {
        code = blanked(&code, from, to);
    }
    code
}

/// Lines that are not part of a test-only item; comments count.
pub(super) fn product_lines(source: &str) -> usize {
    let mut code = blank_text(source);
    let mut lines = source.lines().count();
    while let Some((from, to)) = test_item(&code) {
        lines -= code[from..to].lines().count().min(lines);
        code = blanked(&code, from, to);
    }
    lines
}

fn blanked(code: &str, from: usize, to: usize) -> String {
    let middle: String = code[from..to].chars().map(blank).collect();
    format!("{}{middle}{}", &code[..from], &code[to..])
}

fn blank(c: char) -> char {
    if c == '\n' { '\n' } else { ' ' }
}

/// Byte range of the first item under `#[cfg(test)]`, or of the file under `#![cfg(test)]`.
fn test_item(code: &str) -> Option<(usize, usize)> {
    if let Some(from) = code.find("#![cfg(test)]") {
        return Some((from, code.len()));
    }
    let from = ["#[cfg(test)]", "#[cfg(all(test"]
        .iter()
        .filter_map(|tag| code.find(tag))
        .min()?;
    let mut depth = 0usize;
    let mut opened = false;
    for (offset, c) in code[from..].char_indices() {
        match c {
            '(' | '[' | '{' => {
                opened |= c == '{' && depth == 0;
                depth += 1;
            }
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                // The braces of `use a::{b};` close an item that a semicolon ends.
                if c == '}'
                    && depth == 0
                    && opened
                    && !ends_with_semicolon(&code[from + offset + 1..])
                {
                    return Some((from, from + offset + 1));
                }
            }
            ';' if depth == 0 => return Some((from, from + offset + 1)),
            _ => {}
        }
    }
    Some((from, code.len()))
}

fn ends_with_semicolon(rest: &str) -> bool {
    rest.trim_start().starts_with(';')
}

/// Replaces comments and the insides of strings by blanks.
fn blank_text(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    let mut previous = ' ';
    while let Some(c) = rest.chars().next() {
        let length = text_length(rest, previous).unwrap_or(0);
        let (taken, is_text) = if length > 0 {
            (length, true)
        } else {
            (c.len_utf8(), false)
        };
        if is_text {
            out.extend(rest[..taken].chars().map(blank));
            previous = ' ';
        } else {
            out.push(c);
            previous = c;
        }
        rest = &rest[taken..];
    }
    out
}

/// Length of the comment, string or character that begins here, if one does.
fn text_length(rest: &str, previous: char) -> Option<usize> {
    let in_word = previous.is_alphanumeric() || previous == '_';
    if rest.starts_with("//") {
        return Some(rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return Some(block_comment(rest));
    }
    if rest.starts_with('"') {
        return Some(quoted(rest, 1));
    }
    if rest.starts_with('\'') {
        return character(rest);
    }
    if in_word {
        return None;
    }
    raw_string(rest)
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// End of a string whose opening quote ends at `start`.
fn quoted(rest: &str, start: usize) -> usize {
    let mut escaped = false;
    for (offset, c) in rest[start..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return start + offset + 1,
            _ => {}
        }
    }
    rest.len()
}

/// A character literal; `None` for a lifetime.
fn character(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        let end = rest.get(3..)?.find('\'')?;
        return Some(3 + end + 1);
    }
    let (at, second) = chars.next()?;
    (second == '\'').then_some(at + 1)
}

/// `r"…"`, `r#"…"#`, `br"…"`, `cr"…"`.
fn raw_string(rest: &str) -> Option<usize> {
    let after = ["r", "br", "cr"].iter().find_map(|prefix| {
        let after = rest.strip_prefix(prefix)?;
        after.starts_with(['"', '#']).then_some(after)
    })?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after[hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let start = rest.len() - body.len();
    Some(
        body.find(&close)
            .map_or(rest.len(), |end| start + end + close.len()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        let squeezed: Vec<String> = product_code(source)
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        assert_eq!(squeezed.join(" "), expected, "{source}");
    }

    #[test]
    fn comments_and_strings_are_no_code() {
        check("a(); // b.invoke()\nc();", "a(); c();");
        check("a(); /* b /* c */ d */ e();", "a(); e();");
        check(
            r#"a("b.invoke(\"", 'c', '"', '\'', '\\'); d"#,
            "a( , , , , ); d",
        );
        check("a(r#\"b \" c\"#, br\"d\"); e", "a( , ); e");
        check("fn a<'b>(c: &'b str) {}", "fn a<'b>(c: &'b str) {}");
        check("var\"a\"", "var");
    }

    #[test]
    fn test_items_are_no_product() {
        check("a();\n#[cfg(test)]\nmod tests;\nb();", "a(); b();");
        check(
            "a();\n#[cfg(test)]\nmod tests { fn b() { c(); } }\nd();",
            "a(); d();",
        );
        check("#[cfg(test)]\nuse a::{b, c};\nd();", "d();");
        check(
            "#[cfg(all(test, unix))]\nfn a() -> [u8; 2] { [1, 2] }\nb();",
            "b();",
        );
        check("//! Doc.\n#![cfg(test)]\nfn a() {}", "");
    }

    #[test]
    fn lines_of_tests_do_not_count() {
        assert_eq!(product_lines("a\nb\n#[cfg(test)]\nmod tests {\n}\nc\n"), 3);
        assert_eq!(product_lines("// a\n// b\n"), 2);
        assert_eq!(product_lines(""), 0);
    }

    #[test]
    fn broken_source_ends() {
        for source in ["\"", "/*", "r#\"", "'", "#[cfg(test)] {", "'\\", "'é"] {
            product_code(source);
        }
    }
}
