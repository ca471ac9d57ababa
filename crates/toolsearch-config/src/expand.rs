//! Variables in values: `${VAR}`, `${VAR:-default}`, `${env:VAR}`.
//!
//! One pass: what a variable holds is never looked at again. `$VAR`, `$$` and `${}` stay as they
//! are, and a dollar that follows a dollar opens nothing. Everything else of the form `${…}` must
//! have a value, since no process and no server may ever receive the placeholder itself.

/// Where variables come from; tests and sandboxes bring their own.
pub type Lookup<'a> = &'a dyn Fn(&str) -> Option<String>;

/// A variable that is not set and has no default.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("variable `{variable}` is not set")]
#[non_exhaustive]
pub struct Unset {
    /// The name as written, such as `GITHUB_TOKEN` or `input:api-key`.
    pub variable: String,
}

/// Fills in the variables of one value.
///
/// # Errors
/// [`Unset`] names the first variable that has neither a value nor a default. An empty variable
/// counts as unset where a default is given, and as set where none is.
pub fn expand(template: &str, lookup: Lookup<'_>) -> Result<String, Unset> {
    let mut expanded = String::with_capacity(template.len());
    for piece in pieces(template) {
        match piece {
            Piece::Literal(text) => expanded.push_str(text),
            Piece::Placeholder(inner) => expanded.push_str(&value_of(inner, lookup)?),
        }
    }
    Ok(expanded)
}

/// The placeholders in a value that name an editor's input, such as `search-key` for
/// `${input:search-key}`, in order.
pub(crate) fn inputs(template: &str) -> Vec<&str> {
    let input = |piece| match piece {
        Piece::Placeholder(inner) => str::strip_prefix(inner, "input:"),
        Piece::Literal(_) => None,
    };
    pieces(template).filter_map(input).collect()
}

enum Piece<'a> {
    Literal(&'a str),
    /// What stands between `${` and `}`; never empty.
    Placeholder(&'a str),
}

fn pieces(template: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = template;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((inner, after)) = placeholder(rest) {
            rest = after;
            return Some(Piece::Placeholder(inner));
        }
        let length = literal_length(rest);
        let (text, after) = rest.split_at(length);
        rest = after;
        Some(Piece::Literal(text))
    })
}

fn placeholder(text: &str) -> Option<(&str, &str)> {
    let (inner, after) = text.strip_prefix("${")?.split_once('}')?;
    (!inner.is_empty()).then_some((inner, after))
}

/// How much of `text`, which opens no placeholder, comes before the next possible one.
fn literal_length(text: &str) -> usize {
    let skipped = match text {
        _ if text.starts_with("$$") => 2,
        _ => text.chars().next().map_or(0, char::len_utf8),
    };
    skipped + text[skipped..].find('$').unwrap_or(text.len() - skipped)
}

fn value_of(inner: &str, lookup: Lookup<'_>) -> Result<String, Unset> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    let value = if is_variable(name) {
        lookup(name)
    } else {
        None
    };
    match (value, default) {
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (Some(value), None) => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(Unset {
            variable: name.chars().take(100).collect(),
        }),
    }
}

fn is_variable(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '(' | ')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        let value = match name {
            "TOKEN" => "t0k",
            "DIR" => "/srv/h",
            "EMPTY" => "",
            "NESTED" => "${TOKEN}",
            _ => return None,
        };
        Some(value.to_owned())
    }

    #[test]
    fn placeholders_are_filled_in_once() {
        let check = |template: &str, expected: Result<&str, &str>| {
            let found = expand(template, &environment).map_err(|unset| unset.variable);
            assert_eq!(
                found.as_deref().map_err(String::as_str),
                expected,
                "{template}"
            );
        };
        check("", Ok(""));
        check("plain", Ok("plain"));
        check("${TOKEN}", Ok("t0k"));
        check("a ${env:TOKEN} b${DIR}/x", Ok("a t0k b/srv/h/x"));
        check("http://h:${PORT:-8931}/mcp", Ok("http://h:8931/mcp"));
        check("${EMPTY:-fallback}", Ok("fallback"));
        check("${EMPTY}", Ok(""));
        check("${TOKEN:-unused}", Ok("t0k"));
        check("${PORT:-}", Ok(""));
        check("${env:PORT:-1}", Ok("1"));
        check("${NESTED}", Ok("${TOKEN}"));
        check("$TOKEN $5 $$ ${} $", Ok("$TOKEN $5 $$ ${} $"));
        check("$${TOKEN}", Ok("$${TOKEN}"));
        check("$$${TOKEN}", Ok("$$t0k"));
        check("${TOKEN", Ok("${TOKEN"));
        check("ü${TOKEN}ü", Ok("üt0kü"));
        check("${PORT}", Err("PORT"));
        check("${TOKEN}${PORT}", Err("PORT"));
        check("${input:key}", Err("input:key"));
        check("${workspaceFolder}", Err("workspaceFolder"));
        check("${a b}", Err("a b"));
    }

    #[test]
    fn inputs_are_listed() {
        assert_eq!(
            inputs("${input:a} $${input:no} ${TOKEN} ${input:b}"),
            ["a", "b"]
        );
    }
}
