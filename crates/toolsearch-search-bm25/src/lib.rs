//! Fielded BM25 over a catalog.
