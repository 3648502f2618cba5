//! `capabilities`: the functions in the form in which OPA's tools and editors know built-ins.
//!
//! Owns the options, and reading the document that the functions are added to.

use std::path::PathBuf;

use clap::Args;
use rego_platform::Error;
use rego_platform::check::{capabilities, merged};
use rego_platform::load::LoadOptions;

use super::options::{FunctionsArgs, Options};
use super::{Exit, option_files, output};

/// Print the functions as an OPA capabilities document
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    opa capabilities --current > opa.json\n  \
    rego-platform capabilities --merge opa.json > capabilities.json\n  \
    opa check --capabilities capabilities.json policies")]
pub(super) struct CapabilitiesArgs {
    /// Merge them into this file, such as the output of `opa capabilities --current`
    #[arg(long, value_name = "FILE")]
    merge: Option<PathBuf>,
    #[command(flatten)]
    functions: FunctionsArgs,
}

pub(super) fn run(args: CapabilitiesArgs, options: &Options) -> Result<Exit, Error> {
    let product = options.product()?;
    let mut load = LoadOptions::default();
    load.product = product;
    load.enabled = args.functions.set();
    let document = match &args.merge {
        None => capabilities(&load),
        Some(path) => merged(option_files::json(path)?, &load)
            .map_err(|error| option_files::in_file(path, "can't be merged", error))?,
    };
    output::to_stdout(format!("{}\n", output::json(&document)?).as_bytes())?;
    Ok(Exit::Passed)
}
