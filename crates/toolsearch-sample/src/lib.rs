//! A sample source: hundreds of working tools on an in-memory store.
