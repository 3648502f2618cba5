//! Shared setup of tests: the emulator over the shipped data, and a platform that asks it.

use std::time::Duration;

use rego_platform::Value;
use rego_platform::evaluate::load::LoadOptions;
use rego_platform::evaluate::sources::{ModuleSource, Sources};
use rego_platform::evaluate::{EvaluateOptions, Evaluated, Policies};
use rego_platform::functions::FunctionSet;
use rego_platform::{Error, Platform, PlatformBuilder, Token};
use rego_platform_emulator::{Emulator, EmulatorOptions};

/// The clean image of the shipped data; its references go three levels deep.
pub const CLEAN_IMAGE: &str =
    "sha256:8fa6a879c355b05ef8c7f69c7b6ac9639f6dfe210bead32bde743cb549b69477";

/// A time limit that only a hang exceeds, even on a busy machine.
pub const HANG: Duration = Duration::from_mins(1);

pub fn emulator() -> Emulator {
    crate::emulator::start(EmulatorOptions::default())
}

/// Returns a builder for a platform that asks `emulator`, with pauses short enough for tests.
pub fn builder(emulator: &Emulator) -> PlatformBuilder {
    Platform::builder()
        .controlplane_url(emulator.controlplane_url())
        .base_url(emulator.base_url())
        .token(Token::new(emulator.default_token()).unwrap())
        .functions(FunctionSet::all())
        .first_pause(Duration::from_millis(1))
}

pub fn platform(emulator: &Emulator) -> Platform {
    builder(emulator).build().unwrap()
}

pub fn policies(modules: &[(&str, &str)]) -> Policies {
    try_policies(modules).unwrap_or_else(|e| {
        panic!("{}", e.diagnostics().iter().map(|d| d.render() + "\n").collect::<String>())
    })
}

pub fn try_policies(modules: &[(&str, &str)]) -> Result<Policies, Error> {
    let mut sources = Sources::default();
    for (path, text) in modules {
        let module = ModuleSource::new(*path, *text);
        sources.modules.push(module);
    }
    let mut all = LoadOptions::default();
    all.enabled = FunctionSet::all();
    Policies::load(&sources, all)
}

/// Returns the value of a query over one module, with `platform`'s functions.
pub fn value(platform: &Platform, module: &str, query: &str) -> Result<Value, Error> {
    let mut load = LoadOptions::default();
    load.product = platform.product().clone();
    load.enabled = platform.functions();
    let policies = Policies::load(&Sources::text("p.rego", module), load)?;
    let evaluated = policies.evaluate(&policies.query(query)?, None, &options(platform));
    Ok(evaluated.result?.value().cloned().expect("the query is defined"))
}

pub fn options(platform: &Platform) -> EvaluateOptions {
    platform.options()
}

pub fn evaluate(
    policies: &Policies,
    query: &str,
    input: &str,
    options: &EvaluateOptions,
) -> Evaluated {
    let query = policies.query(query).unwrap();
    policies.evaluate(&query, Some(&Value::from_json(input).unwrap()), options)
}
