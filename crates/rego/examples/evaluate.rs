//! Evaluates a query over policies and an input, as `opa eval` does:
//!
//! ```sh
//! cargo run -p rego-platform-rego --example evaluate -- policy.rego input.json data.policy.deny
//! ```

use std::error::Error;

use rego_platform_rego::{Options, Program, Run, SourceText, Value};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [policy, input, query] = arguments.as_slice() else {
        return Err("three arguments are needed: a policy, an input and a query".into());
    };
    let texts = vec![SourceText::new(policy, std::fs::read_to_string(policy)?)];
    let program = Program::compile(texts, &Options::default())?;
    let query = program.query(query)?;
    let input = Value::from_json(&std::fs::read_to_string(input)?)?;

    let outcome = program.evaluate(&query, &Run::default().input(&input));
    // Where the evaluation failed is known to the program, which has the texts.
    let solutions = outcome.result.map_err(|error| program.display_error(&error))?;
    if solutions.is_empty() {
        println!("undefined");
    }
    for expression in solutions.iter().flat_map(|solution| &solution.expressions) {
        println!("{} = {}", expression.text, expression.value);
    }
    Ok(())
}
