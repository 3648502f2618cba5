//! A byte that chooses the function and the status, and any bytes as the service's answer.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

// The smoke run needs all of it.
#[allow(dead_code)]
#[path = "../answers.rs"]
mod answers;

static SERVICE: LazyLock<answers::Service> = LazyLock::new(answers::Service::new);

fuzz_target!(|bytes: &[u8]| {
    // The last byte, so that a seed of the corpus is a body as it is.
    if let Some((kind, body)) = bytes.split_last() {
        SERVICE.run(usize::from(*kind), body);
    }
});
