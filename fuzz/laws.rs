//! What must hold for any input, as functions of that input which panic when it does not. The fuzz targets run
//! them, and `cargo xtask fuzz` runs them on the stable compiler as well.

use serde_json::Value;
use toolsearch_sandbox::javascript::{Thrown, Why, nesting, normalize, read};
use toolsearch_sandbox_process::read_frames;
use toolsearch_schema::signature::{Names, SignatureOptions, input_signature, output_signature};

/// What a worker sends: any bytes are read within bounds, alike in whichever pieces they come.
pub(crate) fn frames(bytes: &[u8], chunk: usize, max: usize) {
    let whole = read_frames(bytes, bytes.len(), max);
    assert_eq!(read_frames(bytes, chunk, max), whole);
}

/// What a model sends: any text is read, its lines stay where they are, and any error in it can be told.
pub(crate) fn source(text: &str) {
    let normalized = normalize(text);
    assert_eq!(normalized.original, text);
    let lines = |text: &str| text.matches('\n').count();
    let (before, after) = (lines(text), lines(&normalized.text));
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
}

/// What a server sends as a schema: signatures end, stay within their limits, say the same twice, and show no
/// sentence of a stranger.
pub(crate) fn schema(bytes: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    for names in [Names::AsIs, Names::IdentifierSafeOnly] {
        let options = SignatureOptions::input(names);
        let signature = input_signature(&schema, &options);
        assert_eq!(signature, input_signature(&schema, &options));
        assert!(!signature.text.contains('\n'), "a signature is one line");
        assert!(signature.text.chars().all(|c| !c.is_control()));

        let options = SignatureOptions::output(names);
        if let Some(signature) = output_signature(&schema, &options) {
            assert!(signature.text.chars().count() <= options.max_chars);
            assert!(!signature.lossy, "an incomplete output signature misleads");
        }
    }
}
