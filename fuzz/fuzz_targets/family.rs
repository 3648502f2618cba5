//! The target of each family of built-in functions, under the family's name.

#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../builtins.rs"]
mod builtins;

thread_local! {
    static FAMILY: builtins::Family = builtins::Family::new(env!("CARGO_BIN_NAME"));
}

fuzz_target!(|bytes: &[u8]| FAMILY.with(|family| family.run(bytes)));
