//! What this process holds, to see whether it is back where it was.

use std::fs;
use std::time::Instant;

use crate::wait::PATIENCE;

/// Descriptors, children and memory of this process, as Linux tells them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// What each open descriptor stands for, sorted.
    pub descriptors: Vec<String>,
    /// Children, those that ended and were not asked about included.
    pub children: usize,
    /// Resident memory in KiB.
    pub resident_kib: u64,
}

impl Footprint {
    /// Now; nothing where `/proc` is not what Linux has.
    #[must_use]
    pub fn now() -> Option<Self> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let own = std::process::id();
        let children = fs::read_dir("/proc")
            .ok()?
            .flatten()
            .filter_map(|entry| fs::read_to_string(entry.path().join("status")).ok())
            .filter(|status| number(status, "PPid:") == Some(u64::from(own)))
            .count();
        Some(Self {
            descriptors: descriptors()?,
            children,
            resident_kib: number(&status, "VmRSS:")?,
        })
    }

    /// Holds that nothing is left of what happened since `before`, but for `slack_kib` of memory that the
    /// allocator may keep. Fewer descriptors and children than before are well: what an earlier step of the
    /// caller was still closing then has gone by now.
    ///
    /// # Panics
    /// When something is left.
    pub fn is_back(before: Option<&Self>, slack_kib: u64) {
        let Some(before) = before else {
            return;
        };
        let deadline = Instant::now() + PATIENCE;
        let now = loop {
            let Some(now) = Self::now() else { return };
            let gone = now.children <= before.children
                && now.descriptors.len() <= before.descriptors.len();
            if gone || Instant::now() > deadline {
                break now;
            }
            std::thread::yield_now();
        };
        assert!(
            now.children <= before.children,
            "{} children, {} before",
            now.children,
            before.children
        );
        assert!(
            now.descriptors.len() <= before.descriptors.len(),
            "descriptors are left open: {:#?}, before: {:#?}",
            now.descriptors,
            before.descriptors
        );
        let grown = now.resident_kib.saturating_sub(before.resident_kib);
        assert!(grown <= slack_kib, "{grown} KiB more than before");
    }
}

fn descriptors() -> Option<Vec<String>> {
    let open = fs::read_dir("/proc/self/fd").ok()?;
    // One that is gone before it could be read was open when it was listed, the listing's own for one.
    let mut names: Vec<String> = open
        .flatten()
        .map(|entry| match fs::read_link(entry.path()) {
            Ok(target) => target.display().to_string(),
            Err(_) => String::from("closed since"),
        })
        .collect();
    names.sort();
    Some(names)
}

fn number(status: &str, name: &str) -> Option<u64> {
    let text = status.lines().find_map(|line| line.strip_prefix(name))?;
    text.split_whitespace().next()?.parse().ok()
}
