//! Names: provider-safe aliases, normalised identity, labels that are safe to show, near names.
//!
//! What a name stands for, and whether it may be seen, is decided elsewhere.

mod alias;
mod distance;
mod fold;
mod label;
#[cfg(test)]
mod tests;

pub use alias::{MAX_PROVIDER_NAME, NameMap, is_provider_name, provider_name};
pub use distance::{edit_distance, nearest, tolerance};
pub use fold::{fold, words};
pub use label::{clip, is_invisible, is_plain_identifier, is_safe_word, sanitise_label};
