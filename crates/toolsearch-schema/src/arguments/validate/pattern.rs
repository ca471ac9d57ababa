//! Patterns of JSON Schema, which are ECMAScript regular expressions, on an engine that never
//! backtracks.

use regex::{Regex, RegexBuilder};

/// Longest pattern, and memory of its compiled form.
const MAX_PATTERN: usize = 2_048;
const MAX_COMPILED: usize = 256 * 1024;

/// The compiled pattern; `None` when it needs what the engine does not have (look-around, back
/// references) or is too large. Such a pattern is not checked.
pub(super) fn compile(pattern: &str) -> Option<Regex> {
    if pattern.len() > MAX_PATTERN {
        return None;
    }
    RegexBuilder::new(&translated(pattern)?)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .nest_limit(64)
        .build()
        .ok()
}

/// The same pattern in the engine's dialect: classes are ASCII, and inside brackets `[`, `&`, `~` and `-`
/// have no second meaning.
fn translated(pattern: &str) -> Option<String> {
    let mut text = String::with_capacity(pattern.len() + 16);
    let mut in_class = false;
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                let escaped = characters.next()?;
                // White space is Unicode in both dialects, but is not compiled in here.
                let class = match escaped {
                    'd' => "[:digit:]",
                    'D' => "[:^digit:]",
                    'w' => "[:word:]",
                    'W' => "[:^word:]",
                    's' | 'S' if in_class => return None,
                    's' => r"[\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
                    'S' => r"[^\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff",
                    'b' if in_class => r"\x08",
                    'b' | 'B' => {
                        text.push_str(if escaped == 'b' {
                            r"(?-u:\b)"
                        } else {
                            r"(?-u:\B)"
                        });
                        continue;
                    }
                    // A word that differs between the dialects.
                    'A' | 'z' | 'Z' | 'G' | 'h' | 'Q' | 'E' | '<' | '>' | 'a' => return None,
                    other => {
                        text.push('\\');
                        text.push(other);
                        continue;
                    }
                };
                if in_class {
                    text.push_str(class);
                } else {
                    if !class.starts_with(r"[\") && !class.starts_with(r"[^\") {
                        text.push('[');
                    }
                    text.push_str(class);
                    text.push(']');
                }
            }
            '[' if in_class => text.push_str(r"\["),
            '&' | '~' if in_class => {
                text.push('\\');
                text.push(character);
            }
            '[' => {
                in_class = true;
                text.push('[');
                if characters.next_if_eq(&'^').is_some() {
                    text.push('^');
                }
                // An empty class is legal there and means never.
                if characters.peek() == Some(&']') {
                    return None;
                }
            }
            ']' if in_class => {
                in_class = false;
                text.push(']');
            }
            ']' => text.push_str(r"\]"),
            '-' if in_class && characters.peek() == Some(&'-') => return None,
            '(' if characters.peek() == Some(&'?') => {
                text.push('(');
                // Inline flags do not exist there.
                let mut ahead = characters.clone();
                ahead.next();
                if !matches!(ahead.next(), Some(':' | '<')) {
                    return None;
                }
            }
            '.' if !in_class => text.push_str(r"[^\n\r\u2028\u2029]"),
            other => text.push(other),
        }
    }
    (!in_class).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_ecmascript() {
        for (pattern, fits, fails) in [
            (r"^\d{3}$", "123", "१२३"),
            (r"^[\w.-]+$", "a_b.c-d", "é"),
            (r"^[^\d]$", "x", "5"),
            (r"^\D\W\w\d$", "x-a1", "1xa1"),
            (r"^a\/b$", "a/b", "a\\/b"),
            (r"^[[&~]+$", "[&~", "a"),
            ("^\\u0041\\x42$", "AB", "ab"),
            (r"^\s\S$", "\u{a0}x", "xx"),
            (r"^(?:ab|cd)+?$", "abcd", "abc"),
            (r"\bcat\b", "a cat!", "concat"),
            ("^.$", "é", "\n"),
            ("b", "abc", "xyz"),
            (r"^\p{L}+$", "größe", "1"),
            ("^]$", "]", "["),
        ] {
            let compiled = compile(pattern).unwrap_or_else(|| panic!("{pattern} compiles"));
            assert!(compiled.is_match(fits), "{pattern} fits {fits}");
            assert!(!compiled.is_match(fails), "{pattern} fails {fails}");
        }
    }

    #[test]
    fn what_cannot_be_checked_safely_is_not() {
        let long = "a".repeat(3_000);
        for pattern in [
            "(?=x)",
            r"(a)\1",
            "(?i)x",
            "[",
            "a{1000}{1000}",
            "*",
            r"\",
            "[]",
            long.as_str(),
        ] {
            assert!(compile(pattern).is_none(), "{pattern}");
        }
        let bomb = compile("^(a+)+$")
            .expect("plain")
            .is_match(&("a".repeat(20_000) + "!"));
        assert!(!bomb);
    }
}
