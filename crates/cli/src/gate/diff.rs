//! `diff`: the verdicts that a change of policies changes.
//!
//! Both runs share the answers of the service, so that only the policies differ.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use rego_platform::Error;
use rego_platform_gate::difference::Difference;
use rego_platform_gate::model::{Inventory, Run};
use rego_platform_gate::reports::difference as words;

use super::{GateArgs, Prepared, evaluate, prepare, tool};
use crate::Exit;
use crate::interrupt::Interrupt;
use crate::options::Options;
use crate::output::{self, Reporter};
use crate::stdin::Stdin;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// A line for each change
    Human,
    /// Everything
    Json,
    /// A comment on a pull request
    Markdown,
}

/// Show which verdicts a change of policies changes
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 if no verdict changes, 1 if one does, 2 if an input has no verdict before or after.\n\n\
    Examples:\n  \
    rego-platform diff --before main/policies --after policies -i sboms\n  \
    rego-platform diff --before main/policies --after policies -i sboms --replay answers.json --format markdown"
)]
pub(crate) struct DiffArgs {
    /// Policies before the change; repeatable
    #[arg(long, value_name = "PATH", required = true)]
    before: Vec<PathBuf>,
    /// Policies after the change; repeatable
    #[arg(long, value_name = "PATH", required = true)]
    after: Vec<PathBuf>,
    /// Format of the changes
    #[arg(short, long, value_enum, default_value = "human")]
    format: DiffFormat,
    #[command(flatten)]
    gate: GateArgs,
}

pub(crate) fn run(args: DiffArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let DiffArgs { before, after, format, mut gate } = args;
    gate.input.append(&mut gate.inputs);
    gate.check_repeatable()?;
    let common = gate.data.len();
    let mut load = |policies: Vec<PathBuf>| {
        gate.data.truncate(common);
        gate.data.extend(policies);
        let given = (&mut Stdin::default(), None);
        prepare(&gate, given, options, reporter, std::iter::empty(), &mut Inventory::default())
    };
    let (mut before, mut after) = (load(before)?, load(after)?);
    after.share_answers(&before);
    // It answers both runs.
    let emulator = before.emulator.take();
    let run = |prepared: Prepared| -> Result<Run, Error> {
        Ok(evaluate(prepared, options, reporter, &Interrupt::default(), None)?.0)
    };
    let (before, after) = (run(before)?, run(after)?);
    drop(emulator);
    let difference = Difference::of(&before, &after, tool());
    let printed = match format {
        DiffFormat::Human => words::lines(&difference).join("\n") + "\n",
        DiffFormat::Json => output::json(&difference)? + "\n",
        DiffFormat::Markdown => words::markdown(&difference),
    };
    output::to_stdout(printed.as_bytes())?;
    Ok(match (difference.is_complete(), difference.changed.is_empty()) {
        (false, _) => Exit::NoVerdict,
        (true, true) => Exit::Passed,
        (true, false) => Exit::Failed,
    })
}

impl GateArgs {
    /// Refuses what can't be evaluated twice.
    fn check_repeatable(&self) -> Result<(), Error> {
        if self.all_inputs().any(|path| path.as_os_str() == "-") {
            return Err(Error::configuration("standard input can't be read twice")
                .with_hint("write it to a file, and give that with `-i`"));
        }
        if self.fail_fast {
            return Err(Error::configuration(
                "`--fail-fast` leaves inputs out: `diff` needs all of them",
            )
            .with_hint("leave it out"));
        }
        if self.shard.is_some() {
            return Err(Error::configuration(
                "`--shard` leaves inputs out: `diff` needs all of them",
            )
            .with_hint("leave it out"));
        }
        Ok(())
    }
}
