//! `api openapi`: the specification as the service publishes it.

use std::path::PathBuf;

use clap::Args;

use super::super::destinations::{self, Destination, Reads};
use super::super::{Exit, output};
use crate::api::BlockingApiClient;
use crate::sources::Ignore;
use crate::text::escape_lines;
use crate::{Api, Error};

/// Print the specification that the service publishes; needs no token
#[derive(Debug, Args)]
pub(in crate::cli) struct OpenapiArgs {
    /// Print the control plane's specification instead of the platform backend's
    #[arg(long)]
    control_plane: bool,
    /// Write to this file, atomically
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &OpenapiArgs, api: &BlockingApiClient) -> Result<Exit, Error> {
    if let Some(path) = &args.output {
        destinations::check(&[Destination::data(path)], &Reads::default(), &Ignore::default())?;
    }
    let which = if args.control_plane { Api::ControlPlane } else { Api::Backend };
    let text = api.openapi(which)?;
    match &args.output {
        Some(path) => output::to_file(path, text.as_bytes())?,
        None if output::is_terminal() => output::to_stdout(escape_lines(&text).as_bytes())?,
        None => output::to_stdout(text.as_bytes())?,
    }
    Ok(Exit::Passed)
}
