//! Bounded reading of JSON Schema: signatures, argument checks and repair, provider-safe names.
