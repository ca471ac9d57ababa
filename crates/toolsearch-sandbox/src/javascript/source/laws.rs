//! What holds for the reading of any text. The fuzz target checks the same.

use proptest::prelude::*;

use crate::javascript::{Thrown, Why, nesting, normalize, read};

/// Texts of the words that the reading knows, and of anything.
fn text() -> impl Strategy<Value = String> {
    let words = [
        "```",
        "```js\n",
        "~~~",
        "\n",
        "\r\n",
        "export default ",
        "module.exports = ",
        "async ",
        "function ",
        "name",
        "() => ",
        "{",
        "}",
        "(",
        ")",
        "`",
        "${",
        "'",
        "\"",
        "/",
        "/*",
        "*/",
        "//",
        ";",
        "return 1",
        "\u{0}",
        "é",
        "\u{feff}",
        "🚀",
        " ",
    ];
    let word = prop::sample::select(words.to_vec()).prop_map(str::to_owned);
    let piece = prop_oneof![4 => word, 1 => ".{0,6}"];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn lines_stay_where_they_are(text in text()) {
        let normalized = normalize(&text);
        prop_assert_eq!(&normalized.original, &text);
        prop_assert!(!normalized.text.contains('\0'));
        let before = text.matches('\n').count();
        let after = normalized.text.matches('\n').count();
        // A name may be put after the last line; the line that ends a fence may go.
        prop_assert!(after <= before + 1 && after + 2 >= before, "{:?}", normalized.text);
        prop_assert!(nesting(&text) as usize <= text.len());
    }

    #[test]
    fn any_error_can_be_told(text in text(), message in ".{0,40}", line in 0_u32..60, column in 0_u32..60) {
        for why in [Why::Uncaught, Why::Parsing, Why::NotAwaited, Why::Stopped] {
            let thrown = Thrown {
                name: "SyntaxError".to_owned(),
                message: message.clone(),
                stack: format!("at program.js:{line}:{column}"),
                why,
                ..Thrown::default()
            };
            let normalized = normalize(&text);
            let error = read(&thrown, &normalized, normalized.shift);
            prop_assert!(error.line.is_none_or(|line| line >= 1));
        }
    }
}
