//! The targets of policies and documents, by their names.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../policies.rs"]
mod policies;

fuzz_target!(|bytes: &[u8]| {
    let target = policies::TARGETS.iter().find(|(name, _)| *name == env!("CARGO_BIN_NAME"));
    target.expect("a target").1(bytes);
});
