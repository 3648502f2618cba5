//! A host with an engine of its own: each call of the policy blocks until it is answered.
//!
//! ```text
//! cargo run --example blocking
//! ```

use std::error::Error;

use rego_platform::emulator::{Dataset, Emulator, EmulatorOptions};
use rego_platform::regorus::{Engine, Value};
use rego_platform::{Platform, Token};

fn main() -> Result<(), Box<dyn Error>> {
    // Something to ask. A real host leaves this out and calls `Platform::builder().from_env()?`.
    let dataset = Dataset::load("testdata/platform".as_ref())?;
    let service = Emulator::start(dataset, EmulatorOptions::default())?;

    // Build it once and share it: it is cheap to clone and usable from any thread.
    let platform = Platform::builder()
        .controlplane_url(service.controlplane_url())
        .base_url(service.base_url())
        .token(Token::new(service.default_token())?)
        .build()?;

    // An engine as regorus has it. `register` adds the functions.
    let mut engine = Engine::new();
    let registration = platform.register(&mut engine)?;
    engine.add_policy_from_file("policies/release_compliance.rego")?;
    engine.set_input(Value::from_json_file("testdata/inputs/release_compliance/fail.json")?);

    // Never without `check`: the interpreter can swallow the error of a failed call, and then an
    // evaluation passes that had no answer. `check` gives the error in any case.
    let rule = "data.release_compliance.violations".to_owned();
    let violations = registration.check(engine.eval_rule(rule))?;

    // An undefined rule isn't an empty one: here it is an error, and not a pass.
    let violations = violations.as_set()?;
    for violation in violations {
        println!("{}", violation["message"].as_string()?);
    }
    println!("{}", if violations.is_empty() { "passed" } else { "not passed" });
    Ok(())
}
