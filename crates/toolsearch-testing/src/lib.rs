//! Fakes and one conformance suite for every contract.
