//! What a model is sent at first in every mode: serialised tools plus prompt text.

use std::sync::Arc;

use serde_json::{Value, json};
use toolsearch::invoke::Listing;
use toolsearch::mode::{Direct, Surface};
use toolsearch::mode_tools::ToolsMode;
use toolsearch::runtime::Compaction;

use crate::assemble::modes::{self, CodeSurface};
use crate::assemble::{Assembled, SharedMode};
use crate::fault::Fault;
use crate::table::Table;
use crate::tokens;

/// What one mode sends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) mode: &'static str,
    pub(crate) tools: usize,
    pub(crate) bytes: usize,
    pub(crate) tokens: usize,
}

/// Measures all modes over the same tools.
pub(crate) async fn all(
    assembled: &Assembled,
    listings: &[Listing],
) -> Result<Vec<Measured>, Fault> {
    let modes: [(&'static str, SharedMode, Compaction); 4] = [
        ("direct", Arc::new(Direct), Compaction::Never),
        ("code", Arc::new(CodeSurface), Compaction::Always),
        ("tools", Arc::new(ToolsMode), Compaction::Always),
        (
            "directory",
            modes::directory(&assembled.configuration.effective),
            Compaction::Always,
        ),
    ];
    let mut measured = Vec::new();
    for (name, mode, compaction) in modes {
        let mut request = assembled.request(listings.to_vec());
        request.mode = Some(mode);
        request.compaction = Some(compaction);
        let session = assembled.open_with(request).await?;
        measured.push(measure(name, session.surface()));
    }
    Ok(measured)
}

fn measure(mode: &'static str, surface: &Surface) -> Measured {
    let tools = surface.to_json().to_string();
    Measured {
        mode,
        tools: surface.tools.len(),
        bytes: tools.len() + surface.prompt.len(),
        tokens: tokens::count(&tools) + tokens::count(&surface.prompt),
    }
}

/// `{direct: {tools, bytes, tokens}, code: …}`.
pub(crate) fn document(measured: &[Measured]) -> Value {
    let entry = |one: &Measured| {
        let sizes = json!({ "tools": one.tools, "bytes": one.bytes, "tokens": one.tokens });
        (one.mode.to_owned(), sizes)
    };
    Value::Object(measured.iter().map(entry).collect())
}

/// The same for a person, with how much smaller each mode is than the first one.
pub(crate) fn table(measured: &[Measured]) -> Table {
    let mut table = Table::new(["mode", ">tools", ">bytes", ">tokens", ">smaller"]);
    let direct = measured.first().map_or(0, |one| one.tokens);
    for one in measured {
        table.row([
            one.mode.to_owned(),
            grouped(one.tools),
            grouped(one.bytes),
            grouped(one.tokens),
            format!("{:.1} x", ratio(direct, one.tokens)),
        ]);
    }
    table
}

fn ratio(whole: usize, part: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    number(whole) / number(part.max(1))
}

/// A number with commas between thousands.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        for (number, expected) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), expected);
        }
    }

    #[test]
    fn a_surface_is_measured_as_it_is_sent() {
        let mut surface = Surface::default();
        assert_eq!(measure("code", &surface).bytes, "[]".len());
        surface.prompt = "Tools of: github".to_owned();
        let measured = measure("code", &surface);
        assert_eq!(measured.bytes, 2 + surface.prompt.len());
        assert!((3..=8).contains(&measured.tokens), "{measured:?}");
    }
}
