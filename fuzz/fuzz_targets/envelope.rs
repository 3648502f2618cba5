//! Any bytes as a signed envelope.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;

#[path = "../envelope.rs"]
mod envelope;

thread_local! {
    static ENVELOPES: envelope::Envelopes =
        envelope::Envelopes::new(Path::new(env!("CARGO_MANIFEST_DIR")));
}

fuzz_target!(|bytes: &[u8]| {
    ENVELOPES.with(|envelopes| envelopes.run(bytes));
});
