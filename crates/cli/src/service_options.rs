//! A table of the service options that apply to each subcommand. Help doesn't show the others, and
//! the command line refuses them rather than ignoring them.

use clap::error::{Error, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

/// The addresses, the credentials, and the emulator.
const SERVICE: [&str; 10] = [
    "token",
    "token_file",
    "organization",
    "controlplane_url",
    "base_url",
    "config",
    "ca_cert",
    "insecure",
    "local",
    "fault",
];
/// The settings of calls.
const CALLS: &[&str] = &[
    "timeout",
    "concurrency",
    "no_cache",
    #[cfg(feature = "artifact-store")]
    "artifact_store",
];
/// The limits of an evaluation, and the source and destination of its answers.
const EVALUATION: [&str; 6] =
    ["max_calls", "max_passes", "eager_prompts", "record", "replay", "not_found"];
/// The options that also apply to remote policies and published reports.
const FETCHING: [&str; 3] = ["ca_cert", "insecure", "timeout"];
const PRODUCT: [&str; 1] = ["product"];
const BYTES: [&str; 1] = ["max_bytes"];

/// All options, in groups.
const ALL: [&[&str]; 5] = [&SERVICE, CALLS, &EVALUATION, &PRODUCT, &BYTES];

/// Returns the options that apply to a subcommand, given with its parents.
fn applicable(subcommand: &str) -> &'static [&'static [&'static str]] {
    match subcommand.split_once(' ').map_or(subcommand, |(first, _)| first) {
        _ if subcommand == "gate merge" => &[],
        // It is given a gate's.
        _ if subcommand == "config show" => &ALL,
        "eval" | "gate" | "run" | "test" => &ALL,
        "diff" | "serve" => &[
            &SERVICE,
            CALLS,
            &["max_calls", "max_passes", "eager_prompts", "replay", "not_found"],
            &PRODUCT,
            &BYTES,
        ],
        "call" => &[&SERVICE, CALLS, &PRODUCT, &BYTES, &["not_found"]],
        "api" => &[&SERVICE, &PRODUCT, &["timeout", "concurrency"]],
        "auth" => &[&SERVICE, &PRODUCT, &["timeout"]],
        "emulate" => &[&PRODUCT, &["fault"]],
        "check" => &[&PRODUCT, &FETCHING],
        "pull" | "push" | "report" | "vendor" => &[&FETCHING],
        "cache" | "capabilities" | "fmt" | "lsp" | "new" => &[&PRODUCT],
        _ => &[],
    }
}

fn is_ignored(subcommand: &str, option: &str) -> bool {
    ALL.iter().any(|group| group.contains(&option))
        && !applicable(subcommand).iter().any(|group| group.contains(&option))
}

/// Returns `true` for the subcommands that send or serve requests, which `--verbose` logs.
fn has_requests(subcommand: &str) -> bool {
    applicable(subcommand).iter().any(|group| *group != PRODUCT.as_slice())
}

/// Returns the command with help that shows only the options that apply.
pub(super) fn shown(mut command: Command) -> Command {
    // Global options are added to the subcommands by `build`.
    command.build();
    let names: Vec<String> =
        command.get_subcommands().map(|subcommand| subcommand.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(&name, |subcommand| without_ignored(subcommand, &name));
    }
    command
}

fn without_ignored(mut command: Command, subcommand: &str) -> Command {
    let nested: Vec<String> =
        command.get_subcommands().map(|nested| nested.get_name().to_owned()).collect();
    for name in nested {
        let path = format!("{subcommand} {name}");
        command = command.mut_subcommand(name, |nested| without_ignored(nested, &path));
    }
    command.mut_args(|arg| {
        let option = arg.get_id().as_str();
        let logs = option == "verbose" && !has_requests(subcommand);
        if logs || is_ignored(subcommand, option) { arg.hide(true) } else { arg }
    })
}

/// Refuses an option that doesn't apply to the subcommand.
///
/// The command is built for the error only, so a normal start doesn't pay for it.
pub(super) fn refuse_ignored(matches: &ArgMatches, command: fn() -> Command) -> Result<(), Error> {
    let Some((first, mut deepest)) = matches.subcommand() else { return Ok(()) };
    let mut subcommand = first.to_owned();
    while let Some((name, nested)) = deepest.subcommand() {
        deepest = nested;
        subcommand = format!("{subcommand} {name}");
    }
    let given = |option: &&&str| {
        let source = deepest.try_contains_id(option).ok().and(deepest.value_source(option));
        source == Some(ValueSource::CommandLine) && is_ignored(&subcommand, option)
    };
    let mut options = ALL.iter().flat_map(|group| group.iter());
    let Some(option) = options.find(given) else { return Ok(()) };
    let option = option.replace('_', "-");
    let message = format!("`{subcommand}` doesn't support `--{option}`");
    Err(command().error(ErrorKind::UnknownArgument, message))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::args;
    use super::*;

    #[test]
    fn every_subcommand_and_every_option_is_known() {
        let command = args::command();
        for group in ALL {
            for option in group {
                let known = command.get_arguments().any(|arg| arg.get_id() == option);
                assert!(known, "{option}");
            }
        }
        for subcommand in command.get_subcommands() {
            let name = subcommand.get_name();
            let none = ["attest", "completions", "config", "man", "policies", "version", "waivers"]
                .contains(&name);
            assert_eq!(applicable(name).is_empty(), none, "{name}");
        }
    }

    #[test]
    fn an_option_is_refused_at_any_position() {
        for line in [
            "--token x fmt",
            "fmt --token x",
            "fmt --timeout 3s",
            "api --record x products",
            "gate merge --local x a.json",
        ] {
            let words = std::iter::once("rego-platform").chain(line.split(' '));
            let error = args::parse(words.map(Into::into).collect()).unwrap_err();
            assert!(error.to_string().contains("doesn't support"), "{line}: {error}");
        }
        let words = ["rego-platform", "--timeout", "3s", "api", "products"];
        assert!(args::parse(words.map(Into::into).to_vec()).is_ok());
    }
}
