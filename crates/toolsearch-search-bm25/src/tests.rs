//! Parts that only the inside of the crate sees.
