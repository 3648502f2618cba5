//! Formats of configuration: any text is a value of JSON, or refused at a place within it.
//!
//! Shared by the fuzz targets of these formats and by the smoke run of their crate's tests.

use rego_platform_formats::Format;
use rego_platform_rego::Value;

/// The formats that this project reads itself and whose grammar nests.
pub const FORMATS: &[&str] = &["dockerfile", "hcl2"];

/// Reads some bytes in a format.
pub fn run(format: &str, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Format::named(format).expect("a format").read(text) {
        Ok(value) => {
            let again = Value::from_json(&value.to_json()).expect("what was written is JSON");
            assert_eq!(value, again);
        }
        Err(problem) => {
            let lines = text.split('\n').count();
            assert!((1..=lines + 1).contains(&problem.line), "{problem:?}");
            assert!(!problem.message.is_empty(), "{problem:?}");
        }
    }
}
