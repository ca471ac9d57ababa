//! Strings that must not be printed by accident.
//!
//! Both types give the real value only through `expose`; `Debug` and `Display` show what stood in
//! the file or nothing at all. They are not serialisable.

use std::fmt;

use serde::{Deserialize, Deserializer};

/// A value that is never shown: an environment variable, a header, a key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a value into hiding.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The real value. Hand it to the process or request that needs it and nowhere else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

/// A value of the file with its variables filled in. It is shown as it was written, so a
/// `${TOKEN}` in an argument or an address stays `${TOKEN}` in every message.
#[derive(Clone, PartialEq, Eq)]
pub struct Expanded {
    value: String,
    written: String,
}

impl Expanded {
    /// A value and the text it came from.
    pub fn new(value: impl Into<String>, written: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            written: written.into(),
        }
    }

    /// The real value, variables filled in.
    pub fn expose(&self) -> &str {
        &self.value
    }

    /// What stood in the file.
    pub fn written(&self) -> &str {
        &self.written
    }
}

impl fmt::Debug for Expanded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.written, f)
    }
}

impl fmt::Display for Expanded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_prints_a_secret() {
        let secret = Secret::new("hunter2");
        let address = Expanded::new("https://u:hunter2@h/", "https://u:${PW}@h/");
        let shown = format!("{secret} {secret:?} {address} {address:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
        assert!(shown.contains("${PW}"));
        assert_eq!(secret.expose(), "hunter2");
        assert_eq!(address.expose(), "https://u:hunter2@h/");
    }
}
