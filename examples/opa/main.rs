//! Asks OPA and this crate about many generated programs and reports differences; see
//! `docs/conformance.md`.

use rego_platform::rego;

#[path = "../../tests/generate/mod.rs"]
mod generate;

fn main() {
    generate::command::main();
}
