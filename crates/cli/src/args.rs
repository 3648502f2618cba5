//! The command line: the tree of subcommands.
//!
//! Owns parsing the arguments and the errors about them. Each subcommand declares its own options;
//! those that several share are in `options`.

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use super::interrupt::Interrupt;
use super::options::Options;
use super::{call, eval, service_options, settings};

/// Evaluate Rego policies that query a supply-chain compliance service.
#[derive(Debug, Parser)]
#[command(
    name = "rego-platform",
    version = version(),
    max_term_width = 100,
    after_help = "Exit status: 0 success; 1 the policies, tests or files failed; 2 an error. See each command's help.\n\n\
        Examples:\n  \
        rego-platform new --examples\n  \
        rego-platform gate --local service -d policies -i inputs/release/pass.json\n  \
        rego-platform call discover sha256:<digest>\n  \
        rego-platform auth status"
)]
pub(super) struct Cli {
    #[command(flatten)]
    pub options: Options,
    #[command(subcommand)]
    pub command: Command,
}

/// Only the options of the called subcommand are built: building all of them would take most of the
/// start-up time.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum Command {
    Eval(eval::EvalArgs),
    Test(super::test::TestArgs),
    New(super::new::NewArgs),
    Check(super::check::CheckArgs),
    Fmt(super::fmt::FmtArgs),
    Run(super::run::RunArgs),
    Lsp(super::lsp::LspArgs),
    Capabilities(super::capabilities::CapabilitiesArgs),
    Gate(Box<super::gate::GateCommand>),
    Diff(Box<super::gate::diff::DiffArgs>),
    Attest(super::attest::AttestArgs),
    /// Publish a report of the gate
    #[command(subcommand)]
    Report(super::report::ReportCommand),
    Serve(Box<super::serve::ServeArgs>),
    /// Show where the options of a gate come from
    #[command(subcommand)]
    Config(super::settings::ConfigCommand),
    /// Check the waivers of a gate
    #[command(subcommand)]
    Waivers(super::waivers::WaiversCommand),
    Policies(super::policies::PoliciesArgs),
    Pull(super::remote::pull::PullArgs),
    Push(super::remote::push::PushArgs),
    Vendor(super::remote::vendor::VendorArgs),
    Call(call::CallArgs),
    /// Query the service's API, or approve an assessment
    #[command(subcommand)]
    Api(super::api::ApiCommand),
    /// Check the token and the addresses
    #[command(subcommand)]
    Auth(AuthCommand),
    Emulate(super::emulate::EmulateArgs),
    /// Show or clear the cache of artifacts
    #[command(subcommand)]
    Cache(super::cache::CacheCommand),
    Completions(super::completions::CompletionsArgs),
    Man(super::man::ManArgs),
    /// Print the version
    Version,
}

#[derive(Debug, Subcommand)]
pub(super) enum AuthCommand {
    Status(super::auth::StatusArgs),
}

pub(super) fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    match option_env!("REGO_PLATFORM_COMMIT") {
        Some(commit) if !commit.is_empty() => format!("{version} ({commit})"),
        _ => version.to_owned(),
    }
}

pub(super) fn command() -> clap::Command {
    Cli::command()
}

pub(super) fn parse(arguments: Vec<OsString>) -> Result<Cli, clap::Error> {
    let given = arguments.clone();
    let mut matches = match command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        // The list of subcommands needs the summary of each, which is built with its options.
        Err(error) if is_help(&error) => {
            brief(service_options::shown(command())).try_get_matches_from(given.clone())?
        }
        Err(error) => return Err(with_tip(without_far_suggestions(error, &given), &given)),
    };
    service_options::refuse_ignored(&matches, command)?;
    let interrupt = Some(&matches).filter(|matches| settings::are_read(matches)).and_then(listen);
    let mut settings = settings::used(&given, &mut matches, command);
    settings.interrupt = interrupt;
    let mut cli =
        Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command()))?;
    match &mut cli.command {
        Command::Gate(gate) => gate.use_settings(settings),
        Command::Config(settings::ConfigCommand::Show(show)) => show.line = given,
        _ => {}
    }
    Ok(cli)
}

/// Starts handling signals for a gate. Without a handler, a signal ends the process.
fn listen(matches: &clap::ArgMatches) -> Option<Interrupt> {
    let Cli { command, options } = Cli::from_arg_matches(matches).ok()?;
    let Command::Gate(gate) = command else { return None };
    gate.listen(options).ok()
}

/// Options of `gate` that its help leaves out. The manual page has them.
const RARE: &[&str] = &[
    "allow_skipped",
    "annotation",
    "artifact_store",
    "attestation",
    "bundle_key",
    "ca_cert",
    "capabilities",
    "concurrency",
    "config",
    "containerd",
    "eager_prompts",
    "explain",
    "fail_fast",
    "fault",
    "insecure",
    "lock",
    "max_bytes",
    "max_calls",
    "max_passes",
    "no_cache",
    "no_fail",
    "no_strict_builtin_errors",
    "not_found",
    "organization",
    "policy_identity",
    "policy_input_from_file",
    "policy_key",
    "policy_trust_root",
    "profile",
    "schema",
    "skip",
    "skip_verify",
    "split_arrays",
    "strict_builtin_errors",
    "trust_root",
    "trust_settings",
    "update_lock",
    "v0_compatible",
    "verify_threshold",
    "wrap_arrays",
];

/// Returns the command with help of a length that is read.
fn brief(command: clap::Command) -> clap::Command {
    let is_rare = |arg: &clap::Arg| RARE.contains(&arg.get_id().as_str());
    command.mut_subcommand("gate", |gate| {
        gate.mut_args(|arg| {
            if is_rare(&arg) { arg.hide_long_help(true).hide_short_help(true) } else { arg }
        })
    })
}

fn is_help(error: &clap::Error) -> bool {
    use clap::error::ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand};
    matches!(error.kind(), DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand)
}

/// Options of `opa` and `conftest` that have another name here: the subcommands, the options, and the tip.
const OF_OTHER_TOOLS: &[(&[&str], &[&str], &str)] = &[
    (&["serve"], &["--addr", "-a"], "`--listen ADDR` sets the address"),
    (
        &["serve"],
        &["--authentication", "--authorization"],
        "`--auth-token-file FILE` or `--tls-client-ca FILE` limits the clients",
    ),
    (&["serve"], &["--tls-cert-file"], "`--tls-cert FILE` names the certificate"),
    (&["serve"], &["--tls-private-key-file"], "`--tls-key FILE` names the key"),
    (&["serve"], &["--tls-ca-cert-file"], "`--tls-client-ca FILE` names the clients' authorities"),
    (
        &["serve"],
        &["--shutdown-grace-period"],
        "`--grace TIME` sets the time, such as `--grace 10s`",
    ),
    (
        &["serve"],
        &["--verification-key"],
        "`--bundle-key FILE` names the key of the bundles' signer",
    ),
    (&["serve"], &["--log-level", "-l"], "`-vv` logs more"),
    (
        &["serve"],
        &["--config-file", "-c", "--set", "--set-file"],
        "`serve --help` lists an option for each setting, such as `--decision-log`",
    ),
    (&["run"], &["--server"], "`rego-platform serve` is the server"),
    (&["gate", "eval"], &["--trace"], "`--explain fails` shows why a rule is undefined"),
    (&["test"], &["--trace"], "failed tests show their operands without an option"),
    (&["gate"], &["--all-namespaces"], "`gate` evaluates all packages without an option"),
    (&["gate"], &["--update"], "`-d ADDRESS` fetches policies, such as `-d oci://…`"),
    (&["gate"], &["--no-color"], "the environment variable `NO_COLOR=1` turns colors off"),
    (&["eval", "test"], &["--show-builtin-errors"], "`--strict-builtin-errors` stops on them"),
    (&["eval"], &["--stdin"], "`--stdin-input` or `-i -` reads the input from standard input"),
    (&["eval", "gate"], &["--coverage"], "`rego-platform test --coverage` measures coverage"),
    (&["check"], &["--strict", "-S"], "`check` always warns about unused imports and variables"),
    (&["gate"], &["--fail", "--fail-defined"], "`gate` exits with status 1 on violations"),
];

/// Adds a tip to an error about an option of another tool, or if policies seem to be
/// named without their option.
fn with_tip(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(given))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return error;
    };
    let is = |name: &str| arguments.iter().any(|word| word == name);
    let of_other = |(commands, names, tip): &(&[&str], &[&str], &'static str)| {
        let applies = names.contains(&given.as_str()) && commands.iter().any(|name| is(name));
        applies.then_some(*tip)
    };
    let tip = match given.starts_with('-') {
        false if is("eval") => {
            Some("name policies with `-d`, and pass the query as one argument in quotes")
        }
        false if is("serve") => Some("name policies with `-d`"),
        true => OF_OTHER_TOOLS.iter().find_map(of_other),
        false => None,
    };
    if let Some(tip) = tip {
        error.remove(ContextKind::SuggestedArg);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Removes suggestions that aren't near misses from an error.
fn without_far_suggestions(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    use clap::error::{ContextKind, ContextValue};
    let pairs = [
        (ContextKind::InvalidArg, ContextKind::SuggestedArg),
        (ContextKind::InvalidSubcommand, ContextKind::SuggestedSubcommand),
        (ContextKind::InvalidValue, ContextKind::SuggestedValue),
    ];
    for (invalid, suggested) in pairs {
        let Some(ContextValue::String(given)) = error.get(invalid).cloned() else { continue };
        let is_near = |name: &str| {
            strsim::damerau_levenshtein(&given.to_lowercase(), &name.to_lowercase())
                <= rego_platform_client::text::FARTHEST
        };
        let kept = match error.remove(suggested) {
            Some(ContextValue::String(name)) => {
                is_near(&name).then_some(ContextValue::String(name))
            }
            Some(ContextValue::Strings(mut names)) => {
                names.retain(|name| is_near(name));
                (!names.is_empty()).then_some(ContextValue::Strings(names))
            }
            _ => continue,
        };
        if let Some(kept) = kept {
            error.insert(suggested, kept);
        } else if let Some(usage) = usage(arguments) {
            // The previous usage included the suggestion.
            error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
        }
    }
    error
}

/// Returns the usage of the subcommand that `arguments` name.
fn usage(arguments: &[OsString]) -> Option<clap::builder::StyledStr> {
    let mut command = command();
    command.build();
    let mut words = arguments.iter().skip(1).filter_map(|argument| argument.to_str());
    let name = words.find(|word| command.find_subcommand(word).is_some());
    match name {
        Some(name) => Some(command.find_subcommand_mut(name)?.render_usage()),
        None => Some(command.render_usage()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_option_is_never_shown() {
        let arguments = ["rego-platform", "auth", "status", "--token", "canary"];
        let cli = parse(arguments.iter().map(OsString::from).collect());
        let shown = format!("{cli:?}");
        assert!(shown.contains("REDACTED") && !shown.contains("canary"));
    }
}
