//! The target of each format of configuration, under the format's name.

#![no_main]

use libfuzzer_sys::fuzz_target;

// The smoke run needs all of it.
#[allow(dead_code)]
#[path = "../formats.rs"]
mod formats;

fuzz_target!(|bytes: &[u8]| formats::run(env!("CARGO_BIN_NAME"), bytes));
