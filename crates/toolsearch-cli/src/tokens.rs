//! Counting tokens with the vocabulary `o200k`, which current models of OpenAI use and which is near
//! enough for others. It is loaded when something is counted first.

/// Tokens of a text.
pub(crate) fn count(text: &str) -> usize {
    bpe_openai::o200k_base().count(text)
}
