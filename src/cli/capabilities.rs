//! `capabilities`: the functions in the form in which OPA's tools and editors know built-ins.
//!
//! Owns the options, and reading the document that the functions are added to.

use std::path::{Path, PathBuf};

use clap::Args;

use super::options::{FunctionsArgs, Options};
use super::{Exit, output};
use crate::check::{capabilities, merged};
use crate::load::LoadOptions;
use crate::text::escape;
use crate::unreadable::unreadable;
use crate::{Error, ErrorKind, Product};

/// Print the functions as an OPA capabilities document
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    opa capabilities --current > opa.json\n  \
    rego-platform capabilities --merge opa.json > capabilities.json\n  \
    opa check --capabilities capabilities.json policies")]
pub(super) struct CapabilitiesArgs {
    /// Merge them into this capabilities file, such as the output of `opa capabilities --current`
    #[arg(long, value_name = "FILE")]
    merge: Option<PathBuf>,
    #[command(flatten)]
    functions: FunctionsArgs,
}

pub(super) fn run(args: CapabilitiesArgs, options: &Options) -> Result<Exit, Error> {
    let product = Product::new(&options.product)?;
    let load = LoadOptions { product, enabled: args.functions.set(), ..LoadOptions::default() };
    let document = match &args.merge {
        None => capabilities(&load),
        Some(path) => merged(read(path)?, &load).map_err(|error| in_file(path, error))?,
    };
    output::to_stdout(format!("{}\n", output::json(&document)?).as_bytes())?;
    Ok(Exit::Passed)
}

fn read(path: &Path) -> Result<serde_json::Value, Error> {
    let shown = escape(&path.display().to_string());
    let failed = |what: &str| Error::new(ErrorKind::Configuration, format!("`{shown}` {what}"));
    let bytes = std::fs::read(path).map_err(|error| unreadable("", path, error))?;
    serde_json::from_slice(&bytes).map_err(|e| failed("isn't valid JSON").with_source(e))
}

fn in_file(path: &Path, error: Error) -> Error {
    let shown = escape(&path.display().to_string());
    let hint = error.hint().unwrap_or_default().to_owned();
    Error::new(error.kind(), format!("`{shown}` can't be merged"))
        .with_source(error)
        .with_hint(hint)
}
