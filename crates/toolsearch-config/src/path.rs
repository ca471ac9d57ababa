//! Paths to a value, as people write them: `mcpServers.github.env.TOKEN`, `agents.list[0].id`,
//! `tools.byProvider["openai/gpt-5.1"].deny`.

use std::fmt;
use std::str::FromStr;

use crate::json5::MAX_DEPTH;

/// One step of a [`KeyPath`]. Complete: JSON5 has no other containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Into the member of an object.
    Key(String),
    /// Into the element of an array.
    Index(usize),
}

/// Where a value stands in a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyPath(Vec<Step>);

/// A path that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` is no path: {reason}; write it like `tools.toolSearch` or `agents.list[0].id`")]
#[non_exhaustive]
pub struct BadPath {
    /// What was given, cut to a readable length.
    pub path: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl KeyPath {
    /// The steps, outermost first.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// This path with one more key.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.with(Step::Key(key.to_owned()))
    }

    /// This path with one more index.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Step::Index(index))
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl From<Vec<Step>> for KeyPath {
    fn from(steps: Vec<Step>) -> Self {
        Self(steps)
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if is_plain(key) => {
                    let dot = if index == 0 { "" } else { "." };
                    write!(f, "{dot}{key}")?;
                }
                Step::Key(key) => {
                    let shown: String = key.chars().take(200).collect();
                    write!(f, "[{}]", serde_json::Value::String(shown))?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a key needs no quotes in a path.
fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key.chars().count() <= 200
        && !key.contains(['.', '[', ']', '"', '\''])
        && !key.chars().any(|c| c.is_control() || c.is_whitespace())
}

impl FromStr for KeyPath {
    type Err = BadPath;

    fn from_str(path: &str) -> Result<Self, BadPath> {
        let fail = |reason| BadPath {
            path: path.chars().take(80).collect(),
            reason,
        };
        let mut steps = Vec::new();
        let mut rest = path;
        while !rest.is_empty() {
            if steps.len() >= MAX_DEPTH {
                return Err(fail("it is too long"));
            }
            let (step, after) = if let Some(inner) = rest.strip_prefix('[') {
                bracket(inner).map_err(fail)?
            } else {
                let length = rest.find(['.', '[']).unwrap_or(rest.len());
                let (key, after) = rest.split_at(length);
                if key.is_empty() || key.contains([']', '"', '\'']) {
                    return Err(fail("a key is missing or holds quotes or brackets"));
                }
                (Step::Key(key.to_owned()), after)
            };
            steps.push(step);
            rest = match after.strip_prefix('.') {
                Some("") => return Err(fail("it ends in a dot")),
                Some(next) => next,
                None if after.is_empty() || after.starts_with('[') => after,
                None => return Err(fail("a dot is missing after a bracket")),
            };
        }
        if steps.is_empty() {
            return Err(fail("it is empty"));
        }
        Ok(Self(steps))
    }
}

/// What follows an opening bracket: an index, or a key in quotes.
fn bracket(inner: &str) -> Result<(Step, &str), &'static str> {
    let Some(quote) = inner.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        let (index, after) = inner.split_once(']').ok_or("a bracket is not closed")?;
        let index = index
            .parse()
            .map_err(|_| "brackets hold an index or a key in quotes")?;
        return Ok((Step::Index(index), after));
    };
    let mut key = String::new();
    let mut chars = inner[1..].char_indices();
    while let Some((at, c)) = chars.next() {
        if c == quote {
            let after = inner[1 + at + 1..]
                .strip_prefix(']')
                .ok_or("a bracket is not closed")?;
            return Ok((Step::Key(key), after));
        }
        if c == '\\' {
            key.extend(chars.next().map(|(_, escaped)| escaped));
        } else {
            key.push(c);
        }
    }
    Err("a quote is not closed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_and_print_alike() {
        for text in [
            "tools",
            "tools.toolSearch.mode",
            "agents.list[0].id",
            "tools.groups.group:tickets[2]",
            "tools.byProvider[\"openai/gpt-5.1\"].deny",
            "mcpServers[\"a\\\"b\"].env",
        ] {
            let path: KeyPath = text.parse().expect(text);
            assert_eq!(path.to_string(), text);
        }
        let quoted: KeyPath = "tools['x.y']".parse().expect("single quotes");
        assert_eq!(quoted.to_string(), "tools[\"x.y\"]");
    }

    #[test]
    fn what_is_no_path_says_why() {
        for text in [
            "", ".", "a.", "a..b", "a[", "a[x]", "a['b", "a['b'", "a[0]b", "a]",
        ] {
            let error = text.parse::<KeyPath>().expect_err(text);
            assert!(error.to_string().contains("agents.list[0].id"), "{error}");
        }
    }
}
