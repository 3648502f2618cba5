//! `check`: problems in policies, found without contacting the service.
//!
//! Owns the options, the reports and the exit status. The checks belong to the library.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rego_platform::evaluate::Policies;
use rego_platform::http::Http;
use rego_platform::load::LoadOptions;
use rego_platform::sources::{RegoVersion, Sources};
use rego_platform::{Api, Diagnostic, Error, Platform, check};
use rego_platform_client::text::{counted, escape_for_log};
use rego_platform_gate::{Gate, Material, repository, sarif};

use super::options::{Engine, EngineArgs, LoadArgs, NetworkArgs, Options};
use super::output::{self, Reporter};
use super::remote::{Given, RemoteArgs};
use super::{Exit, context, fmt, paths};

/// The version of the JSON report's form; it changes when a field changes its meaning or is
/// removed.
const JSON_VERSION: u32 = 1;

/// Find problems in policies and tests, offline
#[derive(Debug, Args)]
#[command(
    after_help = "A comment `# check:ignore CODE` on a line, or on the line before, silences a \
    warning there.\n\n\
    Exit status: 0 no errors or warnings; 1 errors or warnings; 2 a file can't be read.\n\n\
    Example:\n  rego-platform check policies"
)]
pub(super) struct CheckArgs {
    /// Policies and tests, but no data: files, folders or globs; `.` by default
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Policies, tests and data, so that references to missing data are found
    #[arg(short, long, value_name = "PATH", short_alias = 'p', alias = "policy")]
    data: Vec<PathBuf>,
    /// Bundles, each as an archive or a folder, instead of PATH
    #[arg(short, long, value_name = "PATH", num_args = 1.., conflicts_with = "paths")]
    bundle: Vec<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = CheckFormat::Human, short_alias = 'o', alias = "output")]
    format: CheckFormat,
    /// Print the compiled policies, with the position and source line of each step
    #[arg(long, conflicts_with_all = ["format", "level"])]
    print_core: bool,
    /// Apply fixes with a single solution: misspelled names, unused imports, Rego v0
    #[arg(long, conflicts_with = "print_core")]
    fix: bool,
    /// The lowest level of findings to report
    #[arg(long, value_enum, default_value_t = Level::Warning)]
    level: Level,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    network: NetworkArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CheckFormat {
    /// Text with source lines
    Human,
    /// One JSON object
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    /// Errors only
    Error,
    /// Errors and warnings
    Warning,
}

/// The JSON report.
#[derive(serde::Serialize)]
struct Report<'a> {
    version: u32,
    errors: usize,
    warnings: usize,
    /// The number of policy files that were checked.
    files: usize,
    findings: &'a [Diagnostic],
}

pub(super) fn run(args: CheckArgs, options: &Options, reporter: Reporter) -> Result<Exit, Error> {
    let format = args.format;
    let named = args.paths.iter().chain(&args.data).chain(&args.bundle).next();
    let somewhere = named.map_or(".".into(), |path| path.to_string_lossy().into_owned());
    match checked(args, options, reporter) {
        Ok(None) => Ok(Exit::Passed),
        Ok(Some((found, files))) => {
            let exit = if found.is_empty() { Exit::Passed } else { Exit::Failed };
            print((format, &somewhere), found, files, reporter)?;
            Ok(exit)
        }
        Err(error) if format == CheckFormat::Human => Err(error),
        // A reader of the format gets a document whatever happens.
        Err(error) => {
            print((format, &somewhere), refusals(error.clone()), 0, reporter)?;
            Err(error)
        }
    }
}

/// Returns the findings and the number of files; nothing if something else was to be printed.
fn checked(
    args: CheckArgs,
    options: &Options,
    reporter: Reporter,
) -> Result<Option<(Vec<Diagnostic>, usize)>, Error> {
    let product = options.product()?;
    let knows_data = !args.data.is_empty() || !args.bundle.is_empty();
    let policies = if knows_data { args.paths } else { paths::or_here(&args.paths, &[], &[]) };
    let fetcher = args.remote.fetcher(&args.network, options, false).without(&args.load.ignore);
    let given = fetcher.given_policies(&policies, &args.data, &args.bundle)?;
    let http = args.network.http(options, || context::certificates(options))?;
    let material = Material::read(&given.paths, given.options(), http.clone())?;
    reporter.note_unmatched(&given.ignore);
    let files = material.sources.modules.len() + material.documents.len();
    if files == 0 {
        return Err(Error::configuration("no policies found in these paths")
            .with_hint("name `.rego` files, or folders that hold some"));
    }
    let load = args.load.options(product, options.timeout)?;
    if args.print_core {
        let text = Policies::load(&material.sources, load)?.core();
        output::to_stdout(escape_for_log(&text).as_bytes())?;
        return Ok(None);
    }
    let how = How {
        load: &load,
        allowed: !args.network.allow_host.is_empty(),
        regorus: args.engine.engine != Engine::Opa,
        knows_data,
    };
    let Checked { mut found, sources, called, gate } = findings(material, how);
    // It is dropped with the process, which takes less time.
    std::mem::forget(gate);
    warn_of_missing_address(&called, options, reporter);
    if args.fix {
        found = fix((&given, http), sources, how, found, reporter)?;
    }
    if args.level == Level::Error {
        found.retain(|d| d.level == rego_platform::Level::Error);
    }
    Ok(Some((found, files)))
}

fn print(
    (format, somewhere): (CheckFormat, &str),
    found: Vec<Diagnostic>,
    files: usize,
    reporter: Reporter,
) -> Result<(), Error> {
    let found: Vec<Diagnostic> = found.into_iter().map(crate::hint::with_option).collect();
    match format {
        CheckFormat::Human => human(&found, files, reporter),
        CheckFormat::Json => {
            let text = output::json(&report(&found, files))?;
            output::to_stdout(format!("{text}\n").as_bytes())
        }
        CheckFormat::Sarif => {
            let left_out = found.len().saturating_sub(sarif::MAX_RESULTS);
            if left_out > 0 {
                let results = counted(left_out, "result");
                Reporter::default()
                    .warning(&format!("the report is truncated: it leaves out {results}"));
            }
            let text = output::json(&sarif(&found, somewhere))?;
            output::to_stdout(format!("{text}\n").as_bytes())
        }
    }
}

/// The options of the checks.
#[derive(Clone, Copy)]
struct How<'a> {
    load: &'a LoadOptions,
    /// Set if policies may contact hosts.
    allowed: bool,
    /// Set to report the places where regorus differs, too.
    regorus: bool,
    /// Set if the data is there that the policies will have.
    knows_data: bool,
}

/// The result of a check.
struct Checked {
    /// All findings, including those with which a gate over these files would refuse to load.
    found: Vec<Diagnostic>,
    sources: Sources,
    /// The full names of the functions that a gate over these files could call.
    called: BTreeSet<String>,
    /// The gate, unless it refuses to load.
    gate: Option<Gate>,
}

fn findings(mut material: Material, how: How<'_>) -> Checked {
    let How { load, allowed, regorus, knows_data } = how;
    let mut found = material.check(load, allowed);
    found.retain(|finding| knows_data || finding.code != check::MISSING_DATA);
    if regorus {
        for sources in material.documents.iter().chain([&material.sources]) {
            found.extend(check::check_for_regorus(sources, load.clone()));
        }
    }
    let refused = |finding: &Diagnostic| {
        finding.level == rego_platform::Level::Error && !finding.code.starts_with("regorus/")
    };
    let mut called = BTreeSet::new();
    if found.iter().any(refused) {
        return Checked { found, sources: material.sources, called, gate: None };
    }
    let (sources, gate) = material.into_gate(load.clone());
    match gate {
        Ok(gate) => {
            called.extend(gate.inventory().call_sites.into_iter().map(|site| site.function));
            // What a gate refuses has the level that it has there.
            for finding in found.iter_mut().filter(|finding| gate.refuses(finding)) {
                finding.level = rego_platform::Level::Error;
            }
            return Checked { found, sources, called, gate: Some(gate) };
        }
        Err(error) => {
            // Policies' arguments are supplied elsewhere.
            let given = Some(rego_platform_gate::setting::ARGUMENTS);
            let refused = refusals(error).into_iter();
            // A policy that is only begun has no verdict yet.
            let is_found = |finding: &Diagnostic| {
                finding.setting != given && finding.code != "no-verdict-rule"
            };
            found.extend(refused.filter(is_found));
        }
    }
    Checked { found, sources, called, gate: None }
}

/// Returns the findings of a policy document with this text. Those without a place in it are at its first line.
pub(super) fn of_document(path: &str, text: &str, load: &LoadOptions) -> Vec<Diagnostic> {
    let how = How { load, allowed: false, regorus: false, knows_data: false };
    let mut found = match Material::of_document(path, text) {
        Ok(material) => findings(material, how).found,
        // Where the YAML is broken, reading the file fails before the document is looked at.
        Err(error) => match rego_platform::sources::document(path, text, true) {
            Err(broken) if broken.position.is_some() => vec![broken],
            _ => refusals(error),
        },
    };
    // A gate can't record the digest of a new document that isn't saved yet.
    let is_saved = Path::new(path).is_file();
    found.retain(|finding| is_saved || finding.position.is_some());
    for finding in &mut found {
        let file = finding.position.as_ref().map_or("", |at| at.file.as_ref());
        let is_placed = !file.is_empty() && !file.starts_with(&format!("{path}#"));
        if !is_placed {
            finding.position = Some(rego_platform::sources::place(path, text, 1, 1));
        }
    }
    found.into_iter().map(crate::hint::with_option).collect()
}

/// Warns of calls that would fail since the configured service lacks their address. Without a control plane, no
/// service is configured.
fn warn_of_missing_address(called: &BTreeSet<String>, options: &Options, reporter: Reporter) {
    let platform = options
        .product()
        .and_then(|product| Platform::builder().product(product).context()?.build());
    let platform = match platform {
        Ok(platform) if platform.address(Api::ControlPlane).is_some() => platform,
        Ok(_) => return,
        Err(error) => return reporter.warning(&error.report()),
    };
    let short = |name: &String| platform.product().short(name).map(str::to_owned);
    let error = |name: &String| platform.check_address(&short(name)?).err();
    let missing: Vec<_> = called.iter().filter_map(|name| Some((name, error(name)?))).collect();
    if let Some((_, error)) = missing.first() {
        let names: Vec<_> = missing.iter().map(|(name, _)| format!("`{name}`")).collect();
        let hint = error.hint().unwrap_or_default();
        reporter.warning(&format!("{}: {}; {hint}", names.join(", "), error.report()));
    }
}

/// Returns the findings for what a gate refuses.
fn refusals(error: Error) -> Vec<Diagnostic> {
    if !error.diagnostics().is_empty() {
        return error.diagnostics().to_vec();
    }
    let mut finding = Diagnostic::error("gate-error", error.report());
    if let Some(hint) = error.hint() {
        finding = finding.with_hint(hint);
    }
    if let Some(setting) = error.setting() {
        finding = finding.by_setting(setting);
    }
    vec![finding]
}

/// The number of times that fixed files are checked again: one wrong name may hide another.
const MAX_ROUNDS: usize = 5;

/// Fixes findings with one right solution, in the files. Returns the remaining findings.
fn fix(
    (given, http): (&Given, Option<Http>),
    mut sources: Sources,
    how: How<'_>,
    mut found: Vec<Diagnostic>,
    reporter: Reporter,
) -> Result<Vec<Diagnostic>, Error> {
    let (mut count, mut files) = (0, BTreeSet::new());
    for _ in 0..MAX_ROUNDS {
        // A manifest that asks for v0 goes on doing so.
        let versions = &sources.versions;
        sources.modules.retain(|module| versions.get(&module.path) != Some(&RegoVersion::V0));
        let fixed = check::fix(&sources.modules, &found);
        let is_elsewhere =
            |path: &str| given.fetched.iter().any(|source| source.name(path).is_some());
        let fixed = fixed
            .into_iter()
            .filter(|fixed| Path::new(&fixed.path).is_file() && !is_elsewhere(&fixed.path));
        let mut any = false;
        for file in fixed {
            fmt::write(Path::new(&file.path), &file.path, &file.text)?;
            any = true;
            count += file.count;
            files.insert(file.path);
        }
        if !any {
            break;
        }
        let material = Material::read(&given.paths, given.options(), http.clone())?;
        Checked { found, sources, .. } = findings(material, how);
    }
    if count > 0 {
        reporter.note(&format!(
            "fixed {} in {}",
            counted(count, "finding"),
            counted(files.len(), "file")
        ));
    }
    Ok(found)
}

fn report(found: &[Diagnostic], files: usize) -> Report<'_> {
    let errors = found.iter().filter(|d| d.level == rego_platform::Level::Error).count();
    let warnings = found.len() - errors;
    Report { version: JSON_VERSION, errors, warnings, files, findings: found }
}

fn human(found: &[Diagnostic], files: usize, reporter: Reporter) -> Result<(), Error> {
    for diagnostic in found {
        output::finding(diagnostic)?;
    }
    let report = report(found, files);
    reporter.note(&format!(
        "{} and {} in {}",
        counted(report.errors, "error"),
        counted(report.warnings, "warning"),
        counted(files, "file")
    ));
    Ok(())
}

fn sarif(found: &[Diagnostic], somewhere: &str) -> impl serde::Serialize {
    let rules: Vec<_> = check::rules()
        .map(|rule| sarif::Rule {
            id: rule.code,
            level: rule.level,
            summary: rule.summary,
            help: rule.help,
        })
        .collect();
    let items: Vec<_> = found
        .iter()
        .map(|diagnostic| sarif::Item {
            rule: diagnostic.code,
            level: diagnostic.level,
            message: match &diagnostic.hint {
                Some(hint) => format!("{}: {hint}", diagnostic.message),
                None => diagnostic.message.clone(),
            },
            position: diagnostic.position.as_ref(),
        })
        .collect();
    sarif::log(&rules, &items, &repository(), somewhere)
}
