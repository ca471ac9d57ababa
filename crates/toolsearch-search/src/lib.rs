//! The contract of tool search: requests, hits, evidence, exact names first, batch rules.
