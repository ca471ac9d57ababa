//! Why a manifest cannot be used. Every error names the key that is at fault.

/// Why a manifest cannot be used. One fault costs the whole plugin, and no other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PluginError {
    /// A key that must be there is not.
    #[error("`{key}` is missing; it must be {expected}")]
    Missing {
        /// The key with its place, such as `tools[2].command`.
        key: String,
        /// What has to stand there.
        expected: &'static str,
    },
    /// A key that a manifest does not have.
    #[error("`{key}` is no key of a plugin manifest{}", did_you_mean(.nearest.as_deref()))]
    Unknown {
        /// The key with its place.
        key: String,
        /// The key that may have been meant.
        nearest: Option<String>,
    },
    /// A value of the wrong type or form.
    #[error("`{key}` must be {expected}, not {found}")]
    Invalid {
        /// The key with its place.
        key: String,
        /// What has to stand there.
        expected: &'static str,
        /// What stands there, cut to a readable length.
        found: String,
    },
    /// Two tools have the same name.
    #[error("`{key}` is `{name}`, the name of an earlier tool; rename one of them")]
    Duplicate {
        /// The key of the later name.
        key: String,
        /// The name.
        name: String,
    },
    /// The tool list is too long.
    #[error("`tools` holds {found} tools; at most {most} are read from one plugin")]
    TooMany {
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
}

fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |key| format!("; did you mean `{key}`?"))
}
