//! Asks OPA and us for many generated programs and says what differs; see `docs/conformance.md`.

use rego_platform::rego;

#[path = "../../tests/generate/mod.rs"]
mod generate;

fn main() {
    generate::command::main();
}
