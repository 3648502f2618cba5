//! Any bytes as a document: JSON that is read is written and read again as the same value, whatever
//! its numbers and keys.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rego_platform::Value;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(value) = Value::from_json(text) {
        let written = value.to_json();
        let again = Value::from_json(&written).expect("what was written is JSON");
        assert_eq!(value, again);
        assert_eq!(written, again.to_json());
    }
});
