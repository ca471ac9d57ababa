//! A small hand parser for the few flags that verbs take.

use anyhow::{Result, bail};

/// Arguments of one verb, taken apart flag by flag.
#[derive(Debug)]
pub(crate) struct Args {
    verb: &'static str,
    rest: Vec<String>,
}

impl Args {
    /// Keeps the verb's name for messages.
    pub(crate) fn new(verb: &'static str, args: &[String]) -> Self {
        Self {
            verb,
            rest: args.to_vec(),
        }
    }

    /// Removes a switch and tells whether it was there.
    pub(crate) fn switch(&mut self, name: &str) -> bool {
        let before = self.rest.len();
        self.rest.retain(|arg| arg != name);
        self.rest.len() != before
    }

    /// Removes every `NAME VALUE` and `NAME=VALUE` and returns the values in order.
    pub(crate) fn values(&mut self, name: &str) -> Result<Vec<String>> {
        let mut values = Vec::new();
        let mut kept = Vec::new();
        let mut args = std::mem::take(&mut self.rest).into_iter();
        while let Some(arg) = args.next() {
            if arg == name {
                let Some(value) = args.next() else {
                    bail!("`cargo xtask {} {name}` needs a value after it", self.verb);
                };
                values.push(value);
            } else if let Some(value) = arg.strip_prefix(name).and_then(|v| v.strip_prefix('=')) {
                values.push(value.to_owned());
            } else {
                kept.push(arg);
            }
        }
        self.rest = kept;
        Ok(values)
    }

    /// What is left when flags are not allowed in it.
    pub(crate) fn positional(self) -> Result<Vec<String>> {
        if let Some(flag) = self.rest.iter().find(|arg| arg.starts_with('-')) {
            bail!(
                "`cargo xtask {}` does not know `{flag}`: see `cargo xtask help`",
                self.verb
            );
        }
        Ok(self.rest)
    }

    /// Fails when anything is left.
    pub(crate) fn finish(self) -> Result<()> {
        match self.rest.first() {
            None => Ok(()),
            Some(extra) => bail!(
                "`cargo xtask {}` does not take `{extra}`: see `cargo xtask help`",
                self.verb
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(words: &[&str]) -> Args {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        Args::new("ci", &words)
    }

    #[test]
    fn flags_are_taken_out_in_any_order() {
        let mut args = args(&["--only", "fmt", "--keep-going", "--only=tidy"]);
        assert!(args.switch("--keep-going"));
        assert!(!args.switch("--keep-going"));
        assert_eq!(args.values("--only").unwrap(), ["fmt", "tidy"]);
        args.finish().unwrap();
    }

    #[test]
    fn leftovers_and_missing_values_are_errors() {
        assert!(args(&["--only"]).values("--only").is_err());
        assert!(
            args(&["extra"])
                .finish()
                .unwrap_err()
                .to_string()
                .contains("extra")
        );
        assert!(args(&["--what"]).positional().is_err());
        assert_eq!(args(&["a", "b"]).positional().unwrap(), ["a", "b"]);
    }
}
