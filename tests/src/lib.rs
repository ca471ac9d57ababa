//! Integration tests of the workspace; everything is in `it/`.
