//! The contract of a code engine: programs, hosts, limits, journals and run reports.
