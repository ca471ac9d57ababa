//! What this process holds, to see whether it is back where it was.

use std::fs;
use std::time::{Duration, Instant};

/// Descriptors, children and memory of this process, as Linux tells them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Footprint {
    /// Open descriptors.
    pub descriptors: usize,
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
            descriptors: fs::read_dir("/proc/self/fd").ok()?.count(),
            children,
            resident_kib: number(&status, "VmRSS:")?,
        })
    }

    /// Holds that nothing is left of what happened since `before`, but for `slack_kib` of memory that the
    /// allocator may keep.
    ///
    /// # Panics
    /// When something is left.
    pub fn is_back(before: Option<&Self>, slack_kib: u64) {
        let Some(before) = before else {
            return;
        };
        let deadline = Instant::now() + Duration::from_secs(5);
        let now = loop {
            let Some(now) = Self::now() else { return };
            let gone = now.children == before.children && now.descriptors == before.descriptors;
            if gone || Instant::now() > deadline {
                break now;
            }
            std::thread::yield_now();
        };
        assert_eq!(now.children, before.children, "children are left");
        assert_eq!(
            now.descriptors, before.descriptors,
            "descriptors are left open"
        );
        let grown = now.resident_kib.saturating_sub(before.resident_kib);
        assert!(grown <= slack_kib, "{grown} KiB more than before");
    }
}

fn number(status: &str, name: &str) -> Option<u64> {
    let text = status.lines().find_map(|line| line.strip_prefix(name))?;
    text.split_whitespace().next()?.parse().ok()
}
