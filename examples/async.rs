//! A host that runs on tokio: policies are loaded once, and independent calls travel together.
//!
//! ```text
//! cargo run --example async
//! ```

use std::error::Error;

use rego_platform::emulator::{Dataset, Emulator, EmulatorOptions};
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::{ModuleSource, Sources};
use rego_platform::evaluate::{Answers, EvaluateOptions, Policies};
use rego_platform::{Platform, Token, Value};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    // Something to ask. A real host leaves this out and calls `Platform::builder().from_env()?`.
    let dataset = Dataset::load("testdata/platform".as_ref())?;
    let service = Emulator::start(dataset, EmulatorOptions::default())?;
    let platform = Platform::builder()
        .controlplane_url(service.controlplane_url())
        .base_url(service.base_url())
        .token(Token::new(service.default_token())?)
        .build()?;

    // Loading checks everything that can be checked before the first evaluation: a misspelt
    // function is refused here, and not met on the day when its rule is reached.
    let path = "policies/upstream_attestations.rego";
    let text = std::fs::read_to_string(path)?;
    let modules = vec![ModuleSource { path: path.to_owned(), text }];
    let policies =
        Policies::load(&Sources { modules, ..Sources::default() }, LoadOptions::default())?;
    let query = policies.query("data.upstream_attestations.deny")?;

    // No thread is held while the service is waited for.
    let evaluate = |file: &str| {
        let text = std::fs::read_to_string(file).map_err(|e| e.to_string());
        let input = text.and_then(|text| Value::from_json(&text).map_err(|e| e.to_string()));
        let (policies, query) = (policies.clone(), query.clone());
        let options = EvaluateOptions::new(Answers::Service(platform.clone()));
        async move {
            let evaluated = policies.evaluate_async(query, Some(input?), options).await;
            // A failed call is an error here, whatever the policy made of it.
            let output = evaluated.result.map_err(|e| e.to_string())?;
            Ok::<_, String>((output, evaluated.ledger))
        }
    };
    let (clean, bad) = tokio::join!(
        evaluate("testdata/inputs/upstream_attestations/pass.json"),
        evaluate("testdata/inputs/upstream_attestations/fail.json"),
    );
    for (output, ledger) in [clean?, bad?] {
        // An undefined rule isn't an empty one: it has no value, and that is no pass.
        let violations = output.value().and_then(Value::as_set).ok_or("the rule isn't a set")?;
        for violation in violations {
            let message = violation.get_str("message").and_then(Value::as_str);
            println!("{}", message.unwrap_or_default());
        }
        let verdict = if violations.is_empty() { "passed" } else { "not passed" };
        println!("{verdict}: {} calls, {} passes", ledger.calls.len(), ledger.passes);
    }
    Ok(())
}
