//! The numbers that bound one run.

use std::time::Duration;

/// What one run may use. Every number has a default; change the fields that matter.
///
/// The engine enforces all of them, the wall clock from outside the guest.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Wall clock from the first instruction to the report, nested calls included. Time in which the
    /// host holds its [`Pause`](crate::Pause) while the guest only waits is not charged. 10 s.
    pub wall: Duration,
    /// Memory of the guest's own heap in bytes. 64 MiB.
    pub memory_bytes: usize,
    /// Native stack of the guest in bytes. 512 KiB.
    pub stack_bytes: usize,
    /// Length of the source in bytes. 64 KiB.
    pub source_bytes: usize,
    /// Value and logs together, in bytes as shown outside. The value goes first, logs keep their head
    /// and their tail. 64 KiB.
    pub output_bytes: usize,
    /// The text of an error in bytes. 4 KiB.
    pub error_bytes: usize,
    /// Nested calls of one run, those answered from a journal included. 256.
    pub calls: u32,
    /// Nested calls under way at once; the rest wait their turn. 16.
    pub in_flight: u32,
    /// One message between host and guest in bytes: bounds a tool result that enters the guest and
    /// the arguments that leave it. 16 MiB.
    pub frame_bytes: usize,
    /// Timers of one run. 1,024.
    pub timers: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(10),
            memory_bytes: 64 << 20,
            stack_bytes: 512 << 10,
            source_bytes: 64 << 10,
            output_bytes: 64 << 10,
            error_bytes: 4 << 10,
            calls: 256,
            in_flight: 16,
            frame_bytes: 16 << 20,
            timers: 1024,
        }
    }
}

impl Limits {
    /// The same limits with another wall clock.
    #[must_use]
    pub fn with_wall(mut self, wall: Duration) -> Self {
        self.wall = wall;
        self
    }
}
