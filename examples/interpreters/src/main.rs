//! The functions on interpreters that this crate doesn't know: an older regorus, and regorus' virtual machine.
//!
//! `cargo run --manifest-path examples/interpreters/Cargo.toml`
use std::error::Error;

use rego_platform::evaluate::{Answers, EvaluateOptions, Policies, Replay, sources::Sources};
use rego_platform::register::Evaluated;
use rego_platform::{Platform, Registration, Token, Value};
use rego_platform_emulator::{Dataset, Emulator, EmulatorOptions};
use regorus::languages::rego::compiler::Compiler;
use regorus::rvm::{RegoVM, vm::ExecutionMode};
use regorus_older::{Engine, Value as Older};

const RULE: &str = "data.release.kinds";
const POLICY: &str = r#"package release
import rego.v1
image := platform.discover(input.image, "CONTAINER_IMAGE")
kinds contains platform.discover(r.digest, r.kind).kind if some r in image.references
"#;
const INPUT: &str =
    r#"{"image": "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477"}"#;

/// regorus 0.13: its extensions call the registration.
fn older(functions: &Registration, options: &EvaluateOptions) -> anyhow::Result<Evaluated<Value>> {
    let mut engine = Engine::new();
    for (name, arity) in functions.functions() {
        let (functions, called) = (functions.clone(), name.to_owned());
        let extension = move |arguments: Vec<Older>| {
            let arguments = Value::from_json(&Older::from(arguments).to_json_str()?)?;
            Ok(match functions.call(&called, &arguments.as_array().cloned().unwrap_or_default())? {
                Some(value) => Older::from_json_str(&value.to_json())?,
                None => Older::Undefined,
            })
        };
        engine.add_extension(name.to_owned(), arity, Box::new(extension))?;
    }
    engine.add_policy("release.rego".to_owned(), POLICY.to_owned())?;
    engine.set_input(Older::from_json_str(INPUT)?);
    Ok(functions.passes(options, || -> anyhow::Result<Value> {
        Ok(Value::from_json(&engine.clone().eval_rule(RULE.to_owned())?.to_json_str()?)?)
    }))
}

/// regorus' virtual machine: it stops at each call, and goes on with its result.
fn machine(functions: &Registration, options: &EvaluateOptions) -> anyhow::Result<Evaluated<Value>> {
    let mut engine = regorus::Engine::new();
    engine.add_policy("release.rego".to_owned(), POLICY.to_owned())?;
    let compiled = engine.compile_with_entrypoint(&RULE.into())?;
    let names: Vec<_> = functions.functions().map(|(name, arity)| (name, arity.into())).collect();
    let program = Compiler::compile_from_policy_with_host_await(&compiled, &[RULE], &names)?;
    Ok(functions.passes(options, || -> anyhow::Result<Value> {
        let mut machine = RegoVM::new();
        machine.load_program(program.clone());
        machine.set_execution_mode(ExecutionMode::Suspendable);
        machine.set_data(regorus::Value::new_object())?;
        machine.set_input(regorus::Value::from_json_str(INPUT)?);
        let mut result = machine.execute_entry_point_by_name(RULE)?;
        while let Some(name) = machine.get_host_await_identifier() {
            let arguments = machine.get_host_await_argument().unwrap_or(&regorus::Value::Null);
            let arguments = Value::from_json(&arguments.to_json_str()?)?;
            let arguments = arguments.as_array().cloned().unwrap_or_default();
            let value = match functions.call(name.as_string()?, &arguments)? {
                Some(value) => regorus::Value::from_json_str(&value.to_json())?,
                None => regorus::Value::Undefined,
            };
            result = machine.resume(Some(value))?;
        }
        Ok(Value::from_json(&result.to_json_str()?)?)
    }))
}

fn main() -> Result<(), Box<dyn Error>> {
    // A real host leaves the emulator out and calls `Platform::from_context()?`.
    let dataset = Dataset::load("testdata/platform".as_ref())?;
    let service = Emulator::start(dataset, EmulatorOptions::default())?;
    let platform = Platform::builder()
        .controlplane_url(service.controlplane_url())
        .base_url(service.base_url())
        .token(Token::new(service.default_token())?)
        .build()?;
    let functions = platform.registration([])?;
    let options = platform.options();

    // Misspelled functions are found by a load, whatever evaluates the policies.
    let sources = Sources::text("release.rego", POLICY);
    let policies = Policies::builder().platform(&platform).load(&sources)?;

    for (name, evaluated) in [
        ("regorus 0.13", older(&functions, &options)?),
        ("regorus' virtual machine", machine(&functions, &options)?),
    ] {
        let recording = evaluated.recording()?;
        println!("{name}, in {} passes:", evaluated.ledger.passes);
        let kinds = evaluated.result?;
        println!("{}", kinds.to_json());

        // A gate compares with this crate's engine, which also notices calls that couldn't be made.
        let mut again = EvaluateOptions::new(Answers::Replay(Replay::new(recording).into()));
        again.reached = true;
        let input = Value::from_json(INPUT)?;
        let ours = policies.evaluate(&policies.query(RULE)?, Some(&input), &again);
        let unmade = !ours.reached.unmade.is_empty();
        let output = ours.result?;
        let same = output.value().is_some_and(|value| value.to_json() == kinds.to_json());
        if unmade || !same {
            return Err("the result can't be relied on".into());
        }
    }
    Ok(())
}
