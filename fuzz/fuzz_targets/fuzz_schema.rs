//! Any JSON as a schema: signatures end, stay within their limits, say the same twice, and show no
//! sentence of a stranger.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolsearch_schema::signature::{Names, SignatureOptions, input_signature, output_signature};

fuzz_target!(|data: &[u8]| {
    let Ok(schema) = serde_json::from_slice::<Value>(data) else {
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
});
