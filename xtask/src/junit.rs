//! Reads the totals out of the JUnit file that nextest writes, for the closing line of a CI run.

use std::fs;
use std::path::Path;

/// Totals over one or more test runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Totals {
    /// Adds the totals of a report; a report that is not there (nothing ran) adds nothing.
    pub(crate) fn add_report(&mut self, path: &Path) {
        let Ok(text) = fs::read_to_string(path) else {
            return;
        };
        if let Some(found) = totals(&text) {
            self.passed += found.passed;
            self.failed += found.failed;
        }
    }
}

fn totals(xml: &str) -> Option<Totals> {
    let (_, rest) = xml.split_once("<testsuites ")?;
    let (tag, _) = rest.split_once('>')?;
    let number = |name: &str| -> Option<u64> {
        let (_, rest) = tag.split_once(&format!("{name}=\""))?;
        rest.split_once('"')?.0.parse().ok()
    };
    let failed = number(" failures")? + number(" errors")?;
    Some(Totals {
        passed: number(" tests")?.checked_sub(failed)?,
        failed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_come_from_the_outermost_element() {
        let xml = r#"<?xml version="1.0"?>
<testsuites name="ci" tests="7" failures="2" errors="1" uuid="x" time="0.1">
    <testsuite name="a" tests="3" failures="0"></testsuite>
</testsuites>"#;
        assert_eq!(
            totals(xml),
            Some(Totals {
                passed: 4,
                failed: 3
            })
        );
        assert_eq!(totals("<html>"), None);
    }
}
