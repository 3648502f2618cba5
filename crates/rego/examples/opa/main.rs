//! Asks OPA and this crate about many generated programs and reports differences; see
//! `CONFORMANCE.md`.

use rego_platform_rego::{self as rego, value};

#[path = "../../tests/generate/mod.rs"]
mod generate;

fn main() {
    generate::command::main();
}
