//! `waivers`: which waivers hold, before a gate needs them.
//!
//! Owns the listing, and reading the files. What a file of waivers is belongs to the gate.

use std::path::{Path, PathBuf};
use std::time::Duration;

use chrono::{Days, NaiveDate};
use clap::{Args, Subcommand, ValueEnum};
use rego_platform::Error;
use rego_platform::sources::SourceLimits;
use rego_platform_client::text::escape;
use rego_platform_gate::model::{Inventory, Source, WaivedBy, Waiver};
use rego_platform_gate::{WAIVERS_SCHEMA, Waivers};
use serde_json::json;

use super::options::Options;
use super::{Exit, option_files, output, stdin};

/// The largest VEX document, in bytes.
const MAX_VEX: u64 = 16 << 20;

#[derive(Debug, Subcommand)]
pub(super) enum WaiversCommand {
    Check(CheckArgs),
    /// Print the JSON schema of a file of waivers, for editors
    Schema,
}

/// List the waivers of files, and fail if one has expired
#[derive(Debug, Args)]
#[command(
    after_help = "Exit status: 0 if all waivers hold; 1 if one has expired; 2 if a file can't be read.\n\n\
    Example: rego-platform waivers check waivers.yaml --within 14"
)]
pub(super) struct CheckArgs {
    /// The files of waivers
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Fail as well if one expires within so many days
    #[arg(long, value_name = "DAYS", default_value_t = 0)]
    within: u32,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Human)]
    format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
}

/// A waiver of a file, and how long it lasts.
struct Listed {
    file: String,
    waiver: Waiver,
    /// Set if it expires within the days that are asked for.
    soon: bool,
}

impl Listed {
    fn state(&self) -> &'static str {
        match (self.waiver.expired, self.soon) {
            (true, _) => "expired",
            (false, true) => "expires soon",
            (false, false) => "holds",
        }
    }

    fn line(&self) -> String {
        let waiver = &self.waiver;
        let of = |name: &str, value: &Option<String>| {
            value.as_ref().map(|value| format!("{name} {}", escape(value)))
        };
        let what = [of("policy", &waiver.policy), of("finding", &waiver.finding)];
        let what: Vec<String> = what.into_iter().flatten().collect();
        let by = match waiver.by {
            WaivedBy::Digest => "",
            WaivedBy::Input => "input ",
            WaivedBy::Name => "name ",
            WaivedBy::Violation => "violation ",
            WaivedBy::Product => "product ",
            _ => "",
        };
        format!(
            "{}: {}: {} for {by}{}, until {} ({}: {})\n",
            escape(&self.file),
            self.state(),
            what.join(", "),
            escape(&waiver.subject),
            waiver.expires,
            escape(&waiver.owner),
            escape(&waiver.reason),
        )
    }
}

pub(super) fn run(command: &WaiversCommand, options: &Options) -> Result<Exit, Error> {
    match command {
        WaiversCommand::Check(args) => check(args, options),
        WaiversCommand::Schema => {
            output::to_stdout(WAIVERS_SCHEMA.as_bytes()).map(|()| Exit::Passed)
        }
    }
}

/// Reads a file of waivers, as of `today`.
pub(super) fn read(
    path: &Path,
    today: NaiveDate,
    timeout: Duration,
) -> Result<(Source, Waivers), Error> {
    let max = SourceLimits::default().file_bytes;
    let text = option_files::read("the waiver file", path, max, timeout)?;
    let source = option_files::source(path, &text);
    let text = stdin::text(text, &source.path)?;
    Ok((source, Waivers::of_file(&text, path, today)?))
}

/// Reads the files of waivers and of VEX that a gate is given, and records them.
pub(super) fn given(
    (file, vex): (Option<&Path>, &[PathBuf]),
    inventory: &mut Inventory,
    timeout: Duration,
) -> Result<Waivers, Error> {
    let today = chrono::Utc::now().date_naive();
    let mut all = Waivers::default();
    if let Some(path) = file {
        let (source, waivers) = read(path, today, timeout)?;
        inventory.waivers = Some(source);
        all = waivers;
    }
    for path in vex {
        let text = option_files::read("the VEX document", path, MAX_VEX, timeout)?;
        inventory.vex.push(option_files::source(path, &text));
        all.add_vex(&text, path, today)?;
    }
    Ok(all)
}

fn check(args: &CheckArgs, options: &Options) -> Result<Exit, Error> {
    let today = chrono::Utc::now().date_naive();
    let last = today.checked_add_days(Days::new(args.within.into())).unwrap_or(NaiveDate::MAX);
    let mut all = Vec::new();
    for path in &args.files {
        let (Source { path: file, .. }, waivers) = read(path, today, options.timeout)?;
        all.extend(waivers.shown().into_iter().map(|waiver| {
            let soon = waiver.expires.parse().is_ok_and(|day: NaiveDate| day < last);
            Listed { file: file.clone(), waiver, soon }
        }));
    }
    let over = all.iter().filter(|listed| listed.waiver.expired).count();
    let soon = all.iter().filter(|listed| listed.soon && !listed.waiver.expired).count();
    let text = match args.format {
        Format::Json => {
            let rows = all.iter().map(|Listed { file, waiver, .. }| {
                json!({
                    "file": file, "policy": waiver.policy, "finding": waiver.finding,
                    "subject": waiver.subject, "by": waiver.by, "reason": waiver.reason,
                    "owner": waiver.owner, "expires": waiver.expires, "expired": waiver.expired,
                })
            });
            output::json(&json!({"waivers": rows.collect::<Vec<_>>()}))? + "\n"
        }
        Format::Human => {
            let lines: String = all.iter().map(Listed::line).collect();
            let noun = if all.len() == 1 { "waiver" } else { "waivers" };
            let mut summary = format!("{} {noun}, {over} expired", all.len());
            if args.within > 0 {
                summary.push_str(&format!(", {soon} within {} days", args.within));
            }
            format!("{lines}{summary}\n")
        }
    };
    output::to_stdout(text.as_bytes())?;
    Ok(if over + soon == 0 { Exit::Passed } else { Exit::Failed })
}
