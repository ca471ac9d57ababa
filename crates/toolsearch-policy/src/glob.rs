//! Patterns over tool ids and names.

use std::fmt;

use toolsearch_catalog::ToolDescriptor;

/// A pattern in which `*` stands for any run of characters and `?` for one. A pattern with a `:` is
/// held against the id (`mcp:github:*`) and against `owner:name`; one without against the name
/// alone. Case counts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glob(String);

impl Glob {
    /// Takes a pattern as written.
    #[must_use]
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// The pattern as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the pattern covers a tool.
    #[must_use]
    pub fn covers(&self, tool: &ToolDescriptor) -> bool {
        if !self.0.contains(':') {
            return self.matches(&tool.name) || self.matches(tool.id.name());
        }
        let id = tool.id.as_str();
        let owned = &id[tool.source().as_str().len() + 1..];
        self.matches(id) || self.matches(owned)
    }

    /// Whether the pattern matches a whole text. Time is bounded by the product of the lengths.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let text: Vec<char> = text.chars().collect();
        let (mut p, mut t) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while t < text.len() {
            match pattern.get(p) {
                Some('*') => {
                    retry = Some((p + 1, t));
                    p += 1;
                }
                Some(c) if *c == '?' || *c == text[t] => {
                    p += 1;
                    t += 1;
                }
                _ => match retry {
                    Some((star, from)) => {
                        retry = Some((star, from + 1));
                        p = star;
                        t = from + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern[p..].iter().all(|c| *c == '*')
    }
}

impl fmt::Debug for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Glob({})", self.0)
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
