//! `gate`: policies over one or many inputs, one verdict, and its reports.
//!
//! Owns the options and their conflicts. [`rego_platform_gate`] owns the verdict, a file for each format
//! the reports, and `outputs` their destinations.

mod containerd;
pub(super) mod diff;
mod human;
mod images;
mod json;
mod merge;
mod outputs;
mod progress;
mod relaxed;
mod signatures;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Command, Subcommand, ValueEnum};
use rego_platform::evaluate::{Answers, Recording};
use rego_platform::http::Http;
use rego_platform::sources::{Account, Ignore, split};
use rego_platform::{Api, Error, Platform, Product, TokenKind};
use rego_platform_client::text::escape;
use rego_platform_emulator::Emulator;
use rego_platform_gate::model::{
    AnsweredBy, Argument, Failure, Inventory, Relaxation, Run, Severity, Source, TokenUse, Tool,
};
use rego_platform_gate::setting as gate_setting;
use rego_platform_gate::{
    DocumentOptions, Gate, GateOptions, InputSource, InputValues, Metadata, Parser, PolicyInputs,
    RunOptions, Shard, YamlVersion, find,
};

use super::context::Context;
use super::destinations::{Reads, identity_of_link};
use super::explain::Explain;
use super::interrupt::Interrupt;
use super::keys::bundle_keys;
use super::options::{EvaluationArgs, LoadArgs, Options, ParserArgs, SettingsArgs, one_of, text};
use super::output::{self, Reporter};
use super::paths::is_address;
use super::remote::{Fetcher, Given, RemoteArgs};
use super::stdin::Stdin;
use super::{Exit, collections, evaluation, hint, option_files, values, watchdog};
use containerd::{ContainerdArgs, PulledImage};
use images::ImageArgs;
use outputs::{Accepted, Look, Output, OutputFormat, Reports};
use signatures::SignatureArgs;

/// The time for which answers are shared among the inputs of a run.
const SHARED: Duration = Duration::from_hours(7 * 24);

const POLICIES: &str = "Policies";
const INPUTS: &str = "Inputs";
const VERDICT: &str = "Verdict";

/// Evaluate policies against inputs and report a verdict
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true,
    after_help = "Exit status: 0 if every input passed, 1 if there are violations, 2 if there is no verdict because \
    of an error. Rare options: `rego-platform man DIR`.\n\n\
    Examples:\n  \
    rego-platform gate --collection sbom -i sbom.json\n  \
    rego-platform gate -d policies -i image.json\n  \
    rego-platform gate -d policies --no-input --set image=sha256:...\n  \
    rego-platform gate -d policies -i 'sboms/*.json' --output json=gate.json\n  \
    rego-platform gate -d policy.yaml --arg severity=high -i scan.sarif.json"
)]
pub(super) struct GateCommand {
    #[command(subcommand)]
    nested: Option<Nested>,
    #[command(flatten)]
    args: GateArgs,
    #[command(flatten)]
    reports: ReportArgs,
    #[command(flatten)]
    settings: SettingsArgs,
    #[command(flatten)]
    containerd: ContainerdArgs,
}

/// The outcome of reading the settings file of a gate.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub used: Option<Source>,
    /// The options of the file, if no option named it.
    pub untrusted: Vec<String>,
    /// The error for a file that can't be used, and the reports that it names nevertheless.
    pub failed: Option<Error>,
    pub outputs: Vec<String>,
    /// The handler of signals, if it is running.
    pub interrupt: Option<Interrupt>,
}

/// Returns the options of `gate`, without a value of any.
pub(super) fn command() -> Command {
    Options::augment_args(GateCommand::augment_args(Command::new("gate")))
}

impl GateCommand {
    /// Sets the options as they were given, and what the settings file came to.
    pub fn use_settings(&mut self, settings: Settings) {
        // The reports of an earlier run are replaced even if the file has an error.
        self.reports.output.extend(settings.outputs.iter().filter_map(|text| text.parse().ok()));
        self.args.untrusted = settings.untrusted;
        self.settings.used = settings.used;
        self.settings.failed = settings.failed;
        self.settings.interrupt = settings.interrupt;
    }

    /// Starts handling signals before the settings are read: the reports of an earlier run are replaced.
    pub fn listen(mut self, options: Options) -> Result<Interrupt, Error> {
        let interrupt = Interrupt::default();
        self.args.input.append(&mut self.args.inputs);
        *interrupt.first.lock() = Some(Box::new(move || {
            let (accepted, _) = self.accepted(&options);
            let mut reports = Reports::new(accepted, self.reports.format, Look::default());
            if let Err(error) = reports.begin(&Run::without_verdict(tool(), unfinished())) {
                output::error(&error);
            }
        }));
        interrupt.listen()?;
        Ok(interrupt)
    }

    /// Decides on the destinations of reports. Accepted ones are written even if others are refused, for the
    /// returned reason.
    fn accepted(&self, options: &Options) -> (Accepted, Option<Error>) {
        let Self { args, reports, settings, .. } = self;
        let read = Reads {
            given: args.data.iter().chain(args.all_inputs()).map(PathBuf::as_path).collect(),
            others: args
                .waivers
                .iter()
                .chain(&args.vex)
                .chain(&args.bundle)
                .chain(&args.bundle_key)
                .chain(&args.contract)
                .chain(&settings.settings)
                .chain(args.signatures.read())
                .chain(args.images.read())
                .cloned()
                .chain(options.read())
                .chain(args.load.read())
                .chain(args.remote.read())
                .chain(settings.used.iter().map(|used| PathBuf::from(&used.path)))
                .collect(),
        };
        // The patterns are checked with the other options.
        let ignore = Ignore::new(&args.load.ignore).unwrap_or_default();
        let record = options.record.as_deref();
        outputs::accept(&reports.output, reports.format, record, (&read, &ignore))
    }
}

#[derive(Debug, Subcommand)]
enum Nested {
    Merge(merge::MergeArgs),
}

/// The destinations of a run's reports.
#[derive(Debug, Args)]
struct ReportArgs {
    /// Format of the report on standard output; `human` by default
    #[arg(short, long, value_enum)]
    format: Option<OutputFormat>,
    /// Write an additional report, such as `json=gate.json` or `sarif=-`; repeatable
    #[arg(short, long, value_name = "FORMAT=FILE")]
    output: Vec<Output>,
}

/// The policies of a gate, and their inputs and options.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)]
pub(super) struct GateArgs {
    /// Policies, data, bundles, policy documents and groups; repeatable
    ///
    /// Files and folders, or addresses: `oci://`, `https://` and `git+https://`. Without any, the folder `policy`, as in
    /// conftest.
    #[arg(short, long, value_name = "PATH", short_alias = 'p', alias = "policy")]
    data: Vec<PathBuf>,
    /// A bundle, as an archive or a folder; repeatable
    #[arg(short, long, value_name = "PATH")]
    bundle: Vec<PathBuf>,
    /// A collection of rules, or one rule as NAME/RULE; repeatable; see `policies`
    #[arg(long, value_name = "NAME", value_parser = text)]
    collection: Vec<String>,
    /// An input: file, folder, glob, or `-` for standard input; repeatable
    #[arg(short, long, value_name = "PATH")]
    input: Vec<PathBuf>,
    /// An input that is the material NAME of a group; repeatable
    #[arg(long, value_name = "NAME=FILE", value_parser = named, hide_short_help = true, help_heading = INPUTS)]
    material: Vec<Named>,
    /// The same as `--input`
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    parser: ParserArgs,
    /// Evaluate only this package or policy document; `*` is any text; repeatable
    #[arg(short, long, value_name = "PACKAGE", value_delimiter = ',', value_parser = text)]
    namespace: Vec<String>,
    /// Skip this package or policy document; `*` is any text; repeatable
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',', value_parser = text, hide_short_help = true, help_heading = POLICIES)]
    skip: Vec<String>,
    /// Evaluate what a contract requires: its materials, policies and groups
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = POLICIES)]
    contract: Option<PathBuf>,
    /// Evaluate the policies once, without an input
    #[arg(long)]
    no_input: bool,
    /// Public key (PEM) for bundles; repeatable, one of the keys must have signed
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "skip_verify",
        hide_short_help = true,
        help_heading = POLICIES
    )]
    bundle_key: Vec<PathBuf>,
    /// Load signed bundles without checking their signatures
    #[arg(long, hide_short_help = true, help_heading = POLICIES)]
    skip_verify: bool,
    /// Accept unused rules, and fields, values, rules and data that don't exist
    #[arg(long)]
    allow_warnings: bool,
    /// Give no verdict (status 2) if there is a note
    #[arg(long)]
    fail_on_notes: bool,
    /// Treat warnings of policies (`warn`) as violations
    #[arg(long)]
    fail_on_warn: bool,
    /// Fail only on violations of this severity or more, or without a known one
    #[arg(long, value_name = "SEVERITY", value_parser = one_of(Severity::NAMES))]
    fail_on: Option<Severity>,
    /// Exit with status 0 on violations; reports still show a failure
    #[arg(long, hide_short_help = true, help_heading = VERDICT)]
    no_fail: bool,
    /// Stop at the first input that doesn't pass
    #[arg(long, hide_short_help = true, help_heading = VERDICT)]
    fail_fast: bool,
    /// Pass inputs that every policy skips
    #[arg(long, hide_short_help = true, help_heading = VERDICT)]
    allow_skipped: bool,
    /// Use each element of a JSON or YAML array as an input, as conftest does
    #[arg(long, conflicts_with = "wrap_arrays", hide_short_help = true, help_heading = INPUTS)]
    split_arrays: bool,
    /// Pass an array to policies as `{"elements": [...]}`
    #[arg(long, hide_short_help = true, help_heading = INPUTS)]
    wrap_arrays: bool,
    /// Read `yes`, `on`, `y` and the like as booleans (1.1) or strings (1.2)
    #[arg(long, value_name = "VERSION", value_enum, hide_short_help = true, help_heading = INPUTS)]
    yaml: Option<Yaml>,
    /// Set a key of `input.args`, or a parameter of rules; commas separate items; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    arg: Vec<String>,
    /// Set an input of policy documents, instead of its argument; repeatable
    #[arg(long, value_name = "[POLICY:]NAME=VALUE", hide_short_help = true, help_heading = POLICIES)]
    policy_input: Vec<String>,
    /// Add a column of a CSV, TSV or JSON file to an input of documents; repeatable
    #[arg(
        long,
        value_name = "[POLICY:]NAME=FILE[:COLUMN]",
        hide_short_help = true,
        help_heading = POLICIES
    )]
    policy_input_from_file: Vec<String>,
    /// Put a value into `input` at a path with dots: JSON, or else text; repeatable
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Set `input.platform_metadata.project_name`
    #[arg(long, value_name = "NAME", value_parser = text, hide_short_help = true, help_heading = INPUTS)]
    project: Option<String>,
    /// Set `input.platform_metadata.project_version_name`
    #[arg(long, value_name = "NAME", value_parser = text, hide_short_help = true, help_heading = INPUTS)]
    project_version: Option<String>,
    /// Set an annotation in `input.platform_metadata.annotations`; repeatable
    #[arg(long, value_name = "KEY=VALUE", hide_short_help = true, help_heading = INPUTS)]
    annotation: Vec<String>,
    #[command(flatten)]
    images: ImageArgs,
    #[command(flatten)]
    signatures: SignatureArgs,
    /// Evaluate all inputs as one: an array of objects with `path` and `contents`
    #[arg(long, hide_short_help = true, help_heading = INPUTS)]
    combine: bool,
    /// Kind of the inputs, such as `SARIF`; documents for other kinds are skipped
    #[arg(long, value_name = "KIND", value_parser = text, hide_short_help = true, help_heading = POLICIES)]
    kind: Option<String>,
    /// Accepted violations, each with an owner and an expiry date (YAML)
    #[arg(long, value_name = "FILE")]
    waivers: Option<PathBuf>,
    /// VEX document: statements that suppress findings (`OpenVEX` 0.2.0); repeatable
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = VERDICT)]
    vex: Vec<PathBuf>,
    /// Evaluate the N-th of OF shards of the inputs; `gate merge` merges reports
    #[arg(long, value_name = "N/OF", hide_short_help = true, help_heading = INPUTS)]
    shard: Option<Shard>,
    /// Print trace notes, or why rules have no value, on standard error
    #[arg(long, value_name = "WHAT", value_enum, hide_short_help = true, help_heading = VERDICT)]
    explain: Option<Explain>,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    load: LoadArgs,
    #[command(flatten)]
    evaluation: EvaluationArgs,
    /// Options from a settings file that no option named.
    #[arg(skip)]
    untrusted: Vec<String>,
}

/// An input with its name as a material.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    path: PathBuf,
}

fn named(given: &str) -> Result<Named, String> {
    let (name, path) = values::split("--material", given).map_err(|error| error.to_string())?;
    Ok(Named { name: text(name)?, path: PathBuf::from(text(path)?) })
}

/// A run whose options are valid.
struct Prepared {
    gate: Gate,
    places: Vec<InputSource>,
    options: RunOptions,
    platform: Option<Platform>,
    /// The emulator, which serves until the run is over.
    emulator: Option<Emulator>,
}

impl Prepared {
    /// Takes the answers of another run: equal calls have equal answers.
    fn share_answers(&mut self, other: &Self) {
        self.options.evaluate.answers = other.options.evaluate.answers.clone();
        self.platform.clone_from(&other.platform);
    }
}

pub(super) fn run(
    mut command: GateCommand,
    options: &Options,
    reporter: Reporter,
) -> Result<Exit, Error> {
    if let Some(Nested::Merge(args)) = &command.nested {
        return merge::run(args, options);
    }
    command.args.input.append(&mut command.args.inputs);
    if command.containerd.is_given() {
        command.reports.format = Some(OutputFormat::Reason);
    }
    if let Some(used) = &command.settings.used {
        reporter.note(&format!("options read from `{}`", escape(&used.path)));
    }
    command.args.add_default(reporter);
    let accepted = command.accepted(options);
    let GateCommand { args, reports, settings, containerd, .. } = command;
    let record = options.record.as_deref();
    let interrupt = settings.interrupt;
    reported(accepted, reports.format, (options, interrupt), |inventory, interrupt| {
        if let Some(error) = settings.failed {
            return Err(error);
        }
        inventory.settings.clone_from(&settings.used);
        let written = reports.output.iter().map(|output| output.file.as_path());
        let mut stdin = Stdin::default();
        let image = containerd.image(&mut stdin)?;
        let given = (&mut stdin, image.as_ref());
        let prepared = prepare(&args, given, options, reporter, written.chain(record), inventory)?;
        evaluate(prepared, options, reporter, interrupt, args.explain)
    })
}

/// Makes a run, and writes its reports to the accepted destinations, however it ends. What is known of the
/// run's inventory is reported even if it comes to nothing.
fn reported(
    (accepted, refused): (Accepted, Option<Error>),
    format: Option<OutputFormat>,
    (options, listening): (&Options, Option<Interrupt>),
    make: impl FnOnce(&mut Inventory, &Interrupt) -> Result<(Run, Option<Recording>), Error>,
) -> Result<Exit, Error> {
    let mut draft = Run::without_verdict(tool(), unfinished());
    let look = Look { quiet: options.quiet, verbose: options.verbose > 0 };
    let mut reports = Reports::new(accepted, format, look);
    let is_new = listening.is_none();
    let interrupt = listening.unwrap_or_default();
    let starting = interrupt.starting.lock();
    if is_new {
        interrupt.listen()?;
    }
    let begun = reports.begin(&draft);
    *interrupt.first.lock() = None;
    drop(starting);
    let done =
        begun.and_then(|()| refused.map_or_else(|| make(&mut draft.inventory, &interrupt), Err));
    let mut unwritten = None;
    let done = done.and_then(|(run, recording)| {
        let recorded = match (&options.record, &recording) {
            (Some(path), Some(recording)) => output::recording(path, recording),
            _ => Ok(()),
        };
        let written = recorded.and_then(|()| reports.write(&run));
        let exit = run.exit;
        unwritten = Some(run).filter(|_| written.is_err());
        written.map(|()| exit)
    });
    done.inspect_err(|error| {
        let failure = Failure::new(error, hint::of_failure);
        let run = if let Some(mut run) = unwritten {
            run.fail(failure);
            run
        } else {
            let mut run = Run::without_verdict(tool(), failure);
            run.inventory = std::mem::take(&mut draft.inventory);
            run
        };
        reports.without_verdict(&run, error);
    })
}

/// The failure in reports until the run is over.
fn unfinished() -> Failure {
    Failure::of("unfinished", "the run ended before its verdict")
}

pub(super) fn tool() -> Tool {
    let mut tool = Tool::new("rego-platform", env!("CARGO_PKG_VERSION"));
    tool.commit = option_env!("REGO_PLATFORM_COMMIT").filter(|c| !c.is_empty()).map(str::to_owned);
    tool
}

/// Loads the policies and finds the inputs, among which the `written` files aren't.
fn prepare<'a>(
    args: &GateArgs,
    (stdin, pulled): (&mut Stdin, Option<&PulledImage>),
    options: &Options,
    reporter: Reporter,
    written: impl Iterator<Item = &'a Path>,
    inventory: &mut Inventory,
) -> Result<Prepared, Error> {
    if !args.has_policies() {
        return Err(Error::configuration("no policies given").with_hint(
            "name policies with `-d` or `--collection`, or put them into the folder `policy`",
        ));
    }
    let has_images = args.images.any()?;
    let has_input = has_images || pulled.is_some() || args.all_inputs().next().is_some();
    if args.no_input && has_input {
        let other = if has_images { "--image" } else { "--input" };
        return Err(Error::configuration(format!(
            "`--no-input` and `{other}` can't be used together"
        ))
        .with_hint("use only one of them"));
    }
    watchdog::again(options.timeout)?;
    let (context, emulator) = Context::resolve(options, reporter, stdin)?;
    let ignore = Ignore::new(&args.load.ignore)?.with_written(written);
    let arguments = arguments(&args.arg)?;
    let mut values = values::parse(&args.set)?;
    if args.is_untrusted("set") {
        values = values.that_only_add();
    }
    inventory.options = relaxed::given(args, options);
    inventory.arguments.clone_from(&arguments);
    let policy_inputs = policy_inputs(args)?;
    inventory.arguments.extend(policy_inputs.shown());
    inventory.values = values.shown();
    let mut metadata = Metadata::default();
    metadata.project.clone_from(&args.project);
    metadata.version.clone_from(&args.project_version);
    metadata.annotations = annotations(&args.annotation, &context.product)?;
    let name = context.product.name_annotation();
    if args.is_untrusted("annotation") && metadata.annotations.contains_key(&name) {
        return Err(untrusted(format!("`annotation` would replace the input's own `{name}`")));
    }
    inventory.metadata = shown(&metadata);
    inventory.engine = args.evaluation.engine.name().map(str::to_owned);
    let is_without_input = values.is_empty();
    let http = args.evaluation.network.http(options, || context.certificates())?;
    let more = (http.clone(), options);
    let given = (arguments, policy_inputs, values);
    let gate = load(args, &context.product, &ignore, given, more)?;
    let is_attestation = args.signatures.are_attestations(gate.has_kinds());
    let are_some = args.signatures.are_some(args.kind.as_deref(), gate.takes_attestations());
    let are_signed = are_some || has_images;
    args.refuse_untrusted(are_signed)?;
    let signatures = args.signatures.check(are_signed, inventory, options.timeout)?;
    let known = gate.inventory();
    (inventory.policies, inventory.packages) = (known.policies, known.packages);
    inventory.call_sites = known.call_sites;
    if !has_input && !args.no_input {
        gate.refuse_no_input()?;
    }
    inventory.note_effect(Relaxation::SkipVerify, gate.unverified_bundles());
    inventory.note_effect(Relaxation::AllowWarnings, gate.allowed_warnings());
    let without = is_without_input && gate.reads_input();
    inventory.note_effect(Relaxation::WithoutInput, u64::from(without));
    let parser =
        if is_attestation || gate.has_kinds() { Some(Parser::Json) } else { args.parser.parser };
    let from = (&gate, parser);
    let mut places = places(args, &ignore, from, stdin, inventory, &mut metadata.materials)?;
    if let Some(image) = pulled {
        let mut account = Account::new(&image.reference);
        account.taken = 1;
        inventory.inputs.push(account.into());
        places.push(InputSource::Document(image.reference.clone(), image.input().into()));
    }
    if let Some(signatures) = &signatures {
        let (fetcher, has_tags) = (args.fetcher(options), gate.is_for_images());
        for image in args.images.fetch(&fetcher, signatures, options.timeout, has_tags)? {
            inventory.inputs.push(image.account().clone());
            places.push(InputSource::Image(Box::new(image)));
        }
    }
    let mut documents = DocumentOptions::default();
    documents.split_arrays = args.split_arrays;
    documents.wrap_arrays = args.wrap_arrays;
    documents.yaml = args.yaml.map(|version| match version {
        Yaml::V1_1 => YamlVersion::V1_1,
        Yaml::V1_2 => YamlVersion::V1_2,
    });
    documents.attestation = signatures.clone().filter(|_| is_attestation);
    documents.signatures = signatures.filter(|_| are_some && !is_attestation);
    documents.parser = args.parser.parser;
    documents.combine = args.combine;
    documents.metadata = metadata;
    reporter.note_unmatched(&ignore);
    let run = run_options(args, options, &context, (inventory, documents), (http, gate.asks()))?;
    let platform = match &run.evaluate.answers {
        Answers::Service(platform) => Some(platform.clone()),
        _ => None,
    };
    Ok(Prepared { gate, places, options: run, platform, emulator })
}

/// Runs the gate. Returns the run, whose outputs aren't written yet, and its recording.
fn evaluate(
    mut prepared: Prepared,
    options: &Options,
    reporter: Reporter,
    interrupt: &Interrupt,
    explain: Option<Explain>,
) -> Result<(Run, Option<Recording>), Error> {
    prepared.options.evaluate.cancellation = Some(interrupt.cancellation().clone());
    interrupt.evaluating();
    // Each evaluation has a deadline of its own.
    watchdog::stop();
    let platform = prepared.platform.clone();
    let mut observer =
        progress::Progress::new(reporter, platform, !options.quiet).explaining(explain);
    let (mut run, recording) =
        prepared.gate.run(prepared.places, &prepared.options, &mut observer)?;
    observer.finish();
    let emulated = prepared.platform.is_some_and(|platform| platform.emulated());
    if emulated && run.answers == AnsweredBy::Service {
        run.answers = AnsweredBy::Emulator;
    }
    run.inventory.service.answered_by = run.inventory.service.answered_by.map(|_| run.answers);
    Ok((run, recording))
}

/// A version of YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Yaml {
    /// Booleans, as for Kubernetes and conftest
    #[value(name = "1.1")]
    V1_1,
    /// Strings, as for OPA
    #[value(name = "1.2")]
    V1_2,
}

impl GateArgs {
    /// Adds the folder of policies that is used without any, if it is there.
    fn add_default(&mut self, reporter: Reporter) {
        let folder = Path::new("policy");
        if !self.has_policies() && folder.is_dir() {
            reporter.note("policies read from the folder `policy`");
            self.data.push(folder.to_owned());
        }
    }

    fn has_policies(&self) -> bool {
        !self.data.is_empty()
            || !self.bundle.is_empty()
            || !self.collection.is_empty()
            || self.contract.is_some()
    }

    /// Returns the paths of all inputs.
    fn all_inputs(&self) -> impl Iterator<Item = &PathBuf> {
        self.input.iter().chain(self.material.iter().map(|named| &named.path))
    }

    /// Returns `true` if the value of an option is from an untrusted settings file.
    fn is_untrusted(&self, option: &str) -> bool {
        self.untrusted.iter().any(|id| id == option)
    }

    /// Refuses to put values of an untrusted settings file into attestations.
    fn refuse_untrusted(&self, are_attestations: bool) -> Result<(), Error> {
        let put = ["set", "arg", "annotation", "project", "project_version"];
        match put.into_iter().find(|option| self.is_untrusted(option)) {
            Some(option) if are_attestations => Err(untrusted(format!(
                "`{}` isn't put into attestations",
                option.replace('_', "-")
            ))),
            _ => Ok(()),
        }
    }

    fn fetcher(&self, options: &Options) -> Fetcher {
        self.remote.fetcher(&self.evaluation.network, options, true)
    }
}

/// Returns the error for what only a trusted settings file may do.
fn untrusted(what: String) -> Error {
    Error::configuration(format!("the settings file isn't trusted: {what}"))
        .by_setting(gate_setting::UNTRUSTED)
}

/// Returns what is known of the inputs as reports show it.
fn shown(metadata: &Metadata) -> BTreeMap<String, String> {
    let project = [
        ("project_name".to_owned(), metadata.project.as_ref()),
        ("project_version_name".to_owned(), metadata.version.as_ref()),
    ];
    let annotations = metadata.annotations.iter();
    let annotations = annotations.map(|(name, text)| (format!("annotations.{name}"), Some(text)));
    let all = project.into_iter().chain(annotations);
    all.filter_map(|(name, text)| Some((name, text?.clone()))).collect()
}

fn load(
    args: &GateArgs,
    product: &Product,
    ignore: &Ignore,
    (arguments, policy_inputs, values): (BTreeMap<String, String>, PolicyInputs, InputValues),
    (http, cli): (Option<Http>, &Options),
) -> Result<Gate, Error> {
    let given = args.fetcher(cli).given(&args.data, &args.bundle)?;
    let Given { mut paths, bundles, mut fetched, .. } = given;
    // A glob may match what this run has begun to write.
    paths.retain(|path| is_address(path) || !ignore.is_written(&split(path).1));
    let collections = collections::sources(&args.collection, product)?;
    if !collections.is_empty() && args.is_untrusted("arg") && !args.is_untrusted("collection") {
        return Err(untrusted("`arg` would set parameters of the collections".to_owned()));
    }
    paths.extend(collections.iter().map(|own| own.address().to_owned()));
    fetched.extend(collections);
    let mut options = GateOptions::default();
    options.load = args.load.options(product.clone(), cli.timeout)?;
    options.packages.clone_from(&args.namespace);
    options.skip.clone_from(&args.skip);
    options.kind.clone_from(&args.kind);
    options.arguments = arguments;
    options.policy_inputs = policy_inputs;
    options.contract = args.contract.as_ref().map(|path| path.to_string_lossy().into_owned());
    options.values = values;
    options.ignore = ignore.clone();
    options.bundles = bundles;
    options.fetched = fetched;
    options.http = http;
    options.skip_verify = args.skip_verify;
    options.bundle_keys = bundle_keys(&args.bundle_key, cli.timeout)?;
    options.allow_warnings = args.allow_warnings;
    let gate = Gate::load(&paths, &options)?;
    Ok(gate.map_policies(|policies| args.evaluation.engine.policies(policies)))
}

fn arguments(given: &[String]) -> Result<BTreeMap<String, String>, Error> {
    pairs("--arg", given, |_| false, "separate several values with commas")
}

/// Returns the inputs of policies that are given for this run.
fn policy_inputs(args: &GateArgs) -> Result<PolicyInputs, Error> {
    let mut inputs = PolicyInputs::default();
    let of_option = |option: &str, error: Error| {
        Error::configuration(format!("`{option}`: {error}")).with_optional_hint(error.hint())
    };
    for given in &args.policy_input_from_file {
        inputs.append(given).map_err(|error| of_option("--policy-input-from-file", error))?;
    }
    for given in &args.policy_input {
        inputs.replace(given).map_err(|error| of_option("--policy-input", error))?;
    }
    Ok(inputs)
}

fn annotations(given: &[String], product: &Product) -> Result<BTreeMap<String, String>, Error> {
    let one = "give one value";
    let found = pairs("--annotation", given, |value| value.trim().is_empty(), one)?;
    let kind = product.kind_annotation();
    if found.contains_key(&kind) {
        return Err(Error::configuration(format!("reserved annotation: `--annotation {kind}`"))
            .with_hint("use `--kind`"));
    }
    Ok(found)
}

/// Returns the pairs of an repeatable option, each with a value and given once.
fn pairs(
    option: &str,
    given: &[String],
    is_empty: impl Fn(&str) -> bool,
    once: &str,
) -> Result<BTreeMap<String, String>, Error> {
    let mut found = BTreeMap::new();
    for text in given {
        let (name, value) = values::split(option, text)?;
        let shown = escape(name);
        if is_empty(value) {
            return Err(Error::configuration(format!("`{option} {shown}` has an empty value"))
                .with_hint("leave the option out if it has no value"));
        }
        if found.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(
                Error::configuration(format!("`{option} {shown}` is given twice")).with_hint(once)
            );
        }
    }
    Ok(found)
}

/// Finds the inputs, and records those that are given as `materials`.
fn places(
    args: &GateArgs,
    ignore: &Ignore,
    (gate, parser): (&Gate, Option<Parser>),
    stdin: &mut Stdin,
    inventory: &mut Inventory,
    materials: &mut BTreeMap<String, String>,
) -> Result<Vec<InputSource>, Error> {
    let mut places = Vec::new();
    let plain = args.input.iter().map(|path| (None, path));
    let named = args.material.iter().map(|named| (Some(&named.name), &named.path));
    // The files so far, whatever their spelling, with the names under which they are inputs.
    let mut known: HashMap<PathBuf, String> = HashMap::new();
    let several = args.all_inputs().count() > 1;
    for (name, path) in plain.chain(named) {
        let (mut found, mut account) = if path.as_os_str() == "-" {
            stdin.take("`--input -`")?;
            let stream = std::io::BufReader::new(std::io::stdin());
            let stream = InputSource::Stream("<stdin>".to_owned(), Box::new(stream));
            let mut account = Account::new("-");
            account.taken = 1;
            (vec![stream], Argument::from(account))
        } else if path.is_dir() && gate.takes_folder(name.map(String::as_str)) {
            let mut account = Account::new(&path.to_string_lossy());
            account.taken = 1;
            (vec![InputSource::Folder(path.clone())], Argument::from(account))
        } else {
            let (found, account) = find(path, ignore, parser)?;
            (found, account.into())
        };
        let (all, mut files) = (found.len(), Vec::new());
        found.retain(|place| {
            let own = place.name().into_owned();
            let path = match place {
                InputSource::File(path) if several => path,
                _ => {
                    files.push(own);
                    return true;
                }
            };
            let entry = known.entry(identity_of_link(path));
            let is_new = matches!(entry, Entry::Vacant(_));
            files.push(entry.or_insert(own).clone());
            is_new
        });
        let again = (all - found.len()) as u64;
        (account.taken, account.found) = (account.taken - again, account.found - again);
        if let Some(name) = name {
            account.argument = format!("{name}={}", account.argument);
            for file in files {
                let shown = escape(&file);
                if materials.insert(file, name.clone()).is_some_and(|other| other != *name) {
                    return Err(Error::configuration(format!(
                        "`{shown}` is given as two materials"
                    ))
                    .with_hint("give each input once"));
                }
            }
        }
        places.extend(found);
        inventory.inputs.push(account);
    }
    Ok(places)
}

fn run_options(
    args: &GateArgs,
    options: &Options,
    context: &Context,
    (inventory, documents): (&mut Inventory, DocumentOptions),
    (http, asks): (Option<Http>, bool),
) -> Result<RunOptions, Error> {
    let (answers, answered_by) = if let Some(path) = &options.replay {
        let text = evaluation::recording(path, options)?;
        inventory.recording = Some(option_files::source(path, &text));
        (evaluation::replayed(path, &text)?, AnsweredBy::Replay)
    } else {
        let platform = context.builder(options)?.share_answers(SHARED).build()?;
        let emulated = options.local.is_some();
        // This command's own emulator has other ports in each run.
        if !emulated {
            inventory.service.controlplane = origin(platform.address(Api::ControlPlane));
            inventory.service.backend = origin(platform.address(Api::Backend));
        }
        let answered_by = if emulated { AnsweredBy::Emulator } else { AnsweredBy::Service };
        (Answers::Service(platform), answered_by)
    };
    let is_strict = args.evaluation.is_strict_gate();
    let evaluate = evaluation::answered_by(answers, options, is_strict, http);
    inventory.service.answered_by = asks.then_some(answered_by);
    let files = (args.waivers.as_deref(), args.vex.as_slice());
    let waivers = super::waivers::given(files, inventory, options.timeout)?;
    inventory.token = context.token_kind().map(|kind| match kind {
        // An API token is bound to its own organization, whatever the configuration.
        TokenKind::Api => TokenUse::new("api", None),
        _ => TokenUse::new("user", context.organization().as_ref().map(|name| &*name.value)),
    });
    let mut run = RunOptions::new(evaluate, answered_by, tool());
    run.hint = hint::of_failure;
    run.rules.fail_on_warn = args.fail_on_warn;
    run.rules.fail_on = args.fail_on;
    run.rules.allow_skipped = args.allow_skipped;
    run.rules.fail_on_notes = args.fail_on_notes;
    run.rules.no_fail = args.no_fail;
    run.documents = documents;
    run.waivers = waivers;
    run.without_input = args.no_input;
    run.shard = args.shard;
    run.fail_fast = args.fail_fast;
    run.record = options.record.is_some();
    run.explain = args.explain.is_some();
    run.inventory = inventory.clone();
    Ok(run)
}

/// Returns the origin of an address: the rest of it may be secret.
pub(super) fn origin(address: Option<&str>) -> Option<String> {
    Some(url::Url::parse(address?).ok()?.origin().ascii_serialization())
}
