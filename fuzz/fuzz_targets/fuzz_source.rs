//! What a model sends: any text is read without a panic, and its lines stay where they are.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolsearch_sandbox::javascript::{Thrown, Why, nesting, normalize, read};

fuzz_target!(|text: &str| {
    let normalized = normalize(text);
    assert_eq!(normalized.original, text);
    let (before, after) = (text.matches('\n').count(), normalized.text.matches('\n').count());
    assert!(after <= before + 1 && after + 2 >= before);
    assert!(nesting(text) as usize <= text.len());
    for line in [0, 1, before + 1, before + 9] {
        let thrown = Thrown {
            name: "SyntaxError".to_owned(),
            message: text.chars().take(40).collect(),
            stack: format!("at program.js:{line}:3"),
            why: Why::Parsing,
            ..Thrown::default()
        };
        let _ = read(&thrown, &normalized, normalized.shift);
    }
});
