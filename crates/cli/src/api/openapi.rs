//! `api openapi`: the specification as the service publishes it.

use std::path::PathBuf;

use clap::Args;
use rego_platform::api::BlockingApiClient;
use rego_platform::sources::Ignore;
use rego_platform::{Api, Error};
use rego_platform_client::text::escape_for_log;

use super::super::destinations::{self, Reads};
use super::super::{Exit, output};

/// Print the specification that the service publishes; needs no token
#[derive(Debug, Args)]
pub(crate) struct OpenapiArgs {
    /// Print the control plane's specification instead of the platform backend's
    #[arg(long)]
    control_plane: bool,
    /// Write to this file, atomically and unchanged
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(args: &OpenapiArgs, api: &BlockingApiClient) -> Result<Exit, Error> {
    if let Some(path) = &args.output {
        destinations::check(&[path], &Reads::default(), &Ignore::default())?;
    }
    let which = if args.control_plane { Api::ControlPlane } else { Api::Backend };
    let text = api.openapi(which)?;
    match &args.output {
        Some(path) => output::to_file(path, text.as_bytes())?,
        None => output::to_stdout(printable(&text).as_bytes())?,
    }
    Ok(Exit::Passed)
}

/// Returns the service's text so that it can't control a terminal or a CI system. JSON means the
/// same afterwards.
fn printable(text: &str) -> String {
    if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() {
        // In JSON, this is only layout.
        output::escape_json(&text.replace('\r', "")).into_owned()
    } else {
        escape_for_log(text)
    }
}
