//! One printed line for every assertion.

/// Counts what held and what did not.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    held: usize,
    failed: usize,
}

impl Tally {
    /// Prints one assertion. `Ok` carries what was seen, `Err` what differed.
    pub(crate) fn point(&mut self, lane: &str, what: &str, seen: Result<String, String>) {
        match seen {
            Ok(seen) => {
                self.held += 1;
                say(&format!("ok    {lane:<10} {what}: {seen}"));
            }
            Err(differs) => {
                self.failed += 1;
                say(&format!("FAIL  {lane:<10} {what}: {differs}"));
            }
        }
    }

    /// Prints the sum; true when everything held.
    pub(crate) fn finish(&self) -> bool {
        say(&format!(
            "{} assertions held, {} failed",
            self.held, self.failed
        ));
        self.failed == 0 && self.held > 0
    }
}

#[expect(clippy::print_stdout, reason = "a program speaks to its caller")]
fn say(line: &str) {
    println!("{line}");
}
