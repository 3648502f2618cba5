//! The smallest host: policies, an input, an answer. The call blocks until it is there.
//!
//! ```text
//! cargo run --example blocking
//! ```

use std::error::Error;

use rego_platform::evaluate::Policies;
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::{SourceLimits, Sources};
use rego_platform::{Platform, Token, Value};
use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};

fn main() -> Result<(), Box<dyn Error>> {
    // A service to ask. A real host leaves this out and calls `Platform::from_context()?`.
    let dataset = Dataset::load("testdata/platform".as_ref())?;
    let service = Emulator::start(dataset, EmulatorOptions::default())?;

    // Build it once and share it: it is cheap to clone and usable from any thread.
    let platform = Platform::builder()
        .controlplane_url(service.controlplane_url())
        .base_url(service.base_url())
        .token(Token::new(service.default_token())?)
        .build()?;

    // Loaded once, evaluated often. A misspelt function is refused here.
    let sources = Sources::read(["policies/release_compliance.rego"], SourceLimits::default())?;
    let policies = Policies::load(&sources, LoadOptions::default())?;
    let query = policies.query_path(&["release_compliance", "violations"]);

    let text = std::fs::read_to_string("testdata/inputs/release_compliance/fail.json")?;
    let input = Value::from_json(&text)?;
    let options = platform.options();
    let output = policies.evaluate(&query, Some(&input), &options).result?;

    // An undefined rule isn't an empty one: here it is an error, not a pass.
    let violations = output.value().and_then(Value::as_set).ok_or("the rule isn't a set")?;
    for violation in violations {
        println!("{}", violation.get_str("message").and_then(Value::as_str).unwrap_or_default());
    }
    println!("{}", if violations.is_empty() { "passed" } else { "not passed" });
    Ok(())
}
