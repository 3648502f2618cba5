//! `gate merge`: one report made of the reports of all shards.

use std::path::PathBuf;

use clap::Args;
use rego_platform::Error;
use rego_platform::sources::Ignore;
use rego_platform_gate::merge;

use super::{ReportArgs, outputs, reported};
use crate::destinations::Reads;
use crate::options::Options;
use crate::{Exit, hint, report_files};

/// Merge the reports of all shards (`gate --shard N/OF -o json=FILE`) into one
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: that of one run over all inputs: 0 if every input passed, 1 if there are violations, 2 if there is no verdict, as when a shard is missing.\n\n\
    Examples:\n  \
    rego-platform gate -d policies -i sboms --shard 1/2 -o json=shard-1.json\n  \
    rego-platform gate -d policies -i sboms --shard 2/2 -o json=shard-2.json\n  \
    rego-platform gate merge shard-1.json shard-2.json -o json=gate.json"
)]
pub(super) struct MergeArgs {
    /// The JSON reports of all shards, in any order
    #[arg(value_name = "REPORT", required = true)]
    reports: Vec<PathBuf>,
    #[command(flatten)]
    to: ReportArgs,
}

pub(super) fn run(args: &MergeArgs, options: &Options) -> Result<Exit, Error> {
    let read = Reads { given: Vec::new(), others: args.reports.clone() };
    let accepted =
        outputs::accept(&args.to.output, args.to.format, None, (&read, &Ignore::default()));
    reported(accepted, args.to.format, (options, None), |_, _| {
        let read = |path: &PathBuf| {
            Ok((path.display().to_string(), report_files::read(path, options.timeout)?))
        };
        let parts = args.reports.iter().map(read).collect::<Result<_, Error>>()?;
        Ok((merge(parts, hint::of_failure)?, None))
    })
}
