//! Loading a gate from paths: its packages, and their description for reports.
//!
//! Owns telling Rego, bundles and policy documents apart. Each module of a policy document is
//! loaded on its own, since they all have the same package.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::rego::Value;
use sha2::{Digest as _, Sha256};

use super::describe::describe;
use super::documents::{Expected, PolicyContext, argument};
use super::input_use::{InputUse, METADATA, RuleInput};
use super::missing_fields::ReadFields;
use super::model::{CallSite, Inventory, PackageUse, Policy, Source};
use super::names::PackageOrigin;
use super::packages::{self, VerdictPackage};
use super::policy_yaml::{self, PolicyDocument, PolicyEntry};
use super::reach::{Reach, Site};
use super::split::hex;
use crate::builtins::describe as describe_value;
use crate::builtins::known_fields::{KINDS, respelt_by_hand, usual_spelling};
use crate::evaluate::{Policies, is_network};
use crate::load::{LoadOptions, position};
use crate::sources::{Account, Bundle, Gathered, Ignore, InexactNumber, ReadOptions, Sources};
use crate::text::{data_reference, escape, nearest};
use crate::{Diagnostic, Error, ErrorKind, Level, Product, Setting};

/// Options for loading a gate.
#[derive(Debug, Clone, Default)]
pub struct GateOptions {
    /// Options for loading the policies.
    pub load: LoadOptions,
    /// The packages and policy documents to evaluate; all if empty.
    pub packages: Vec<String>,
    /// The kind of material of the inputs; policies for other kinds are left out, and policies find
    /// it in `input.chainloop_metadata`.
    pub kind: Option<String>,
    /// The arguments for `input.args`.
    pub arguments: BTreeMap<String, String>,
    /// The files and folders to leave out.
    pub ignore: Ignore,
    /// Bundles to load in addition: archives, whatever their names, and folders.
    pub bundles: Vec<String>,
    /// Set to load signed bundles without verifying their signatures.
    pub skip_verify: bool,
    /// Set to refuse policies with warnings about how they use answers and data, instead of noting
    /// them.
    pub deny_warnings: bool,
}

/// Loaded policies that give verdicts.
#[derive(Debug)]
pub struct Gate {
    pub(super) checks: Vec<Check>,
    pub(super) policies: Vec<Policy>,
    pub(super) sources: Vec<Source>,
    pub(super) product: Product,
    /// `true` if any policy calls the service, or a built-in that accesses the network.
    pub(super) waits: bool,
    /// `true` if any policy calls the service.
    asks: bool,
    /// The policies that aren't evaluated and might be expected to be, a line each.
    pub(super) left_out: Vec<String>,
    /// Warnings about how policies use the service's answers, and data that no file has.
    pub(super) warnings: Vec<Diagnostic>,
    accounts: Vec<Account>,
    packages: Vec<PackageUse>,
    /// The number of signed bundles that were loaded without verification.
    unverified_bundles: u64,
}

/// The reason why a package isn't evaluated that `-n` doesn't name.
const NOT_CHOSEN: &str = "it isn't among the chosen packages";

/// The most packages whose reasons a message states.
const MAX_REASONS: usize = 5;

/// A package that is evaluated, with the policies that it belongs to.
#[derive(Debug)]
pub(super) struct Check {
    pub policies: Policies,
    pub package: VerdictPackage,
    pub context: PolicyContext,
    /// The calls that it can make.
    pub sites: Vec<Site>,
    /// The fields of the input that it reads.
    pub fields: ReadFields,
}

impl Check {
    fn new(
        policies: Policies,
        package: VerdictPackage,
        arguments: &BTreeMap<String, Value>,
        kind: Option<&String>,
        document: bool,
        reach: &Reach,
    ) -> Self {
        let rules = || package.rules.iter().map(|rule| rule.name.as_str());
        let RuleInput { alone, contents, names_contents, paths } =
            reach.input(&package.path, rules());
        let at = |span| position(policies.program().sources(), span);
        let fields = ReadFields::new(&paths, at);
        let sites = reach.sites(&package.path, rules());
        let (arguments, has_arguments) = (arguments.clone(), !arguments.is_empty());
        let contents_fields = contents.fields();
        let (input, contents) = (Expected::by(&alone), Expected::by(&contents));
        let context = PolicyContext {
            arguments,
            has_arguments,
            document,
            input,
            contents,
            names_contents,
            kind: kind.filter(|_| alone.names(&[METADATA])).cloned(),
            fields: alone.fields(),
            contents_fields,
        };
        Self { policies, package, context, sites, fields }
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, message)
}

/// The files that `check` looks at.
#[derive(Debug)]
pub(crate) struct Material {
    /// Rego and data that are loaded together, including bundles.
    pub sources: Sources,
    /// Each module of a policy document, on its own.
    pub documents: Vec<Sources>,
    /// What a gate over the same paths reads, or its reason to refuse them.
    gathered: Result<Gathered, Error>,
}

impl Material {
    /// Reads files, folders and bundles, once: the values of a gate's data are the same ones.
    pub fn read(paths: &[String], bundles: &[String]) -> Result<Self, Error> {
        let options =
            GateOptions { bundles: bundles.to_vec(), skip_verify: true, ..Default::default() };
        let strict = gather(paths, &options);
        let mut gathered = match &strict {
            Ok(gathered) => gathered.clone(),
            // Files that a gate refuses because it doesn't read them don't matter here.
            Err(_) => {
                let options = ReadOptions { bundles, skip_verify: true, ..ReadOptions::default() };
                Sources::gather(paths, options)?
            }
        };
        let documents = split_off_documents(&mut gathered.files, |_, _| {})?;
        let alone =
            |entry: PolicyEntry| Sources { modules: vec![entry.module], ..Sources::default() };
        let documents = documents.into_iter().flat_map(|document| document.entries).map(alone);
        let documents = documents.collect();
        Ok(Self { sources: gathered.sources()?, documents, gathered: strict })
    }

    /// Returns the sources, and the error with which a gate refuses these files, if it does. A gate without
    /// anything to evaluate, such as of a library, isn't refused.
    pub fn refused(self, load: LoadOptions) -> (Sources, Option<Error>) {
        let options = GateOptions { load, ..GateOptions::default() };
        let gate = self.gathered.and_then(|gathered| Gate::of(gathered, &options));
        (self.sources, gate.err())
    }
}

/// Reads the files of a gate.
fn gather(paths: &[String], options: &GateOptions) -> Result<Gathered, Error> {
    let options = ReadOptions {
        ignore: Some(&options.ignore),
        bundles: &options.bundles,
        skip_verify: options.skip_verify,
        is_document: Some(policy_yaml::is_policy),
        is_valid_document: Some(policy_yaml::is_valid_policy),
        ..ReadOptions::default()
    };
    Sources::gather(paths, options)
}

/// Moves policy documents out of the data. `visit` gets the path and the bytes of every data file.
fn split_off_documents(
    sources: &mut Sources,
    mut visit: impl FnMut(&str, &[u8]),
) -> Result<Vec<PolicyDocument>, Error> {
    let mut documents = Vec::new();
    for source in std::mem::take(&mut sources.data) {
        let bytes = read(&source.path)?;
        visit(&source.path, &bytes);
        let text = String::from_utf8_lossy(&bytes);
        if policy_yaml::is_policy(&text) {
            documents.push(policy_yaml::parse(&source.path, &text)?);
        } else {
            sources.data.push(source);
        }
    }
    Ok(documents)
}

impl Gate {
    /// Loads policies from Rego and data files, folders, bundles and policy documents.
    ///
    /// # Errors
    /// As `Policies::load`; also for packages without a verdict rule, arguments that no policy
    /// document declares, and missing arguments.
    pub fn load(paths: &[String], options: &GateOptions) -> Result<Self, Error> {
        let kind = options.kind.as_deref();
        if let Some(usual) = kind.and_then(|kind| usual_spelling(KINDS, kind)) {
            let kind = escape(kind.unwrap_or_default());
            return Err(wrong(format!("the kind `{kind}` is nearly `{usual}`, but not the same"))
                .with_hint("policies compare it with the usual spelling"));
        }
        let gate = Self::of(gather(paths, options)?, options)?;
        if gate.checks.is_empty() {
            return Err(gate.nothing_to_evaluate(options.kind.as_deref()));
        }
        if options.deny_warnings && !gate.warnings.is_empty() {
            let denied = |warning| Diagnostic { level: Level::Error, ..warning };
            return Err(Error::policy(gate.warnings.into_iter().map(denied).collect()));
        }
        Ok(gate)
    }

    /// Loads as [`Gate::load`] does, also what has nothing to evaluate, such as a library.
    fn of(mut gathered: Gathered, options: &GateOptions) -> Result<Self, Error> {
        if let Some(empty) = gathered.bundles.iter().find(|bundle| bundle.is_empty()) {
            return Err(wrong(format!(
                "the bundle `{}` contains no policies and no data",
                escape(&empty.path)
            )));
        }
        if let Some(empty) = gathered.accounts.iter().find(|account| account.taken == 0) {
            let argument = escape(&empty.argument);
            return Err(wrong(format!("`{argument}` contains no policies and no data")).with_hint(
                "is it the right folder, and is it checked out? otherwise leave it out",
            ));
        }
        let mut gate = Self {
            checks: Vec::new(),
            policies: Vec::new(),
            sources: Vec::new(),
            product: options.load.product.clone(),
            waits: false,
            asks: false,
            left_out: Vec::new(),
            warnings: Vec::new(),
            accounts: std::mem::take(&mut gathered.accounts),
            packages: Vec::new(),
            unverified_bundles: 0,
        };
        let documents = gate.take_documents(&mut gathered.files)?;
        for bundle in &gathered.bundles {
            gate.record_bundle(bundle)?;
        }
        let inexact = std::mem::take(&mut gathered.inexact);
        let sources = gathered.sources()?;
        let chosen: Vec<String> = options
            .packages
            .iter()
            .map(|name| name.strip_prefix("data.").unwrap_or(name).to_owned())
            .collect();
        let mut known = gate.load_modules(&sources, &inexact, &chosen, options)?;
        check_arguments(&documents, known.is_empty(), &options.arguments)?;
        for document in &documents {
            known.push(document.name.clone());
            known.extend(document.policy_names());
            gate.load_document(document, &chosen, options)?;
        }
        packages::refuse_unknown(&chosen, known.iter().map(String::as_str))?;
        gate.note_respelt();
        // Each warning once.
        let mut seen = HashSet::new();
        let mut first =
            gate.warnings.iter().map(|it| seen.insert(it)).collect::<Vec<_>>().into_iter();
        gate.warnings.retain(|_| first.next().unwrap_or_default());
        Ok(gate)
    }

    /// Returns the inventory as far as it is known before a run: files, packages and call sites.
    pub fn inventory(&self) -> Inventory {
        let site = |check: &Check, site: &Site| CallSite {
            package: check.package.name.clone(),
            function: site.function.clone(),
            position: site.position.clone(),
            reached: None,
        };
        let sites =
            self.checks.iter().flat_map(|check| check.sites.iter().map(move |s| site(check, s)));
        Inventory {
            policies: self.accounts.iter().cloned().map(Into::into).collect(),
            packages: self.packages.clone(),
            call_sites: sites.collect(),
            ..Inventory::default()
        }
    }

    /// Returns the error for a gate without policies, with the reason why each isn't evaluated.
    fn nothing_to_evaluate(&self, kind: Option<&str>) -> Error {
        let reasons: Vec<String> = self
            .packages
            .iter()
            .filter_map(|package| Some((&package.name, package.reason.as_ref()?)))
            .take(MAX_REASONS)
            .map(|(name, reason)| format!("`{}`: {reason}", escape(name)))
            .collect();
        let hint = match (kind, reasons.is_empty()) {
            (_, false) => reasons.join("; "),
            (Some(kind), true) => format!("no policy is for the kind `{}`", escape(kind)),
            (None, true) => "name Rego files, bundles or policy documents".to_owned(),
        };
        wrong("no policies to evaluate: nothing would be checked").with_hint(hint)
    }

    /// Returns the number of signed bundles that were loaded without verification.
    pub fn unverified_bundles(&self) -> u64 {
        self.unverified_bundles
    }

    /// Returns `true` if any policy calls the service.
    pub fn asks(&self) -> bool {
        self.asks
    }

    fn load_policies(
        &mut self,
        sources: &Sources,
        options: &GateOptions,
    ) -> Result<Policies, Error> {
        let (policies, warnings) = Policies::load_with_warnings(sources, options.load.clone())?;
        for warning in warnings {
            self.warn(warning);
        }
        Ok(policies)
    }

    fn warn(&mut self, warning: Diagnostic) {
        self.warnings.push(warning);
    }

    fn note_calls(&mut self, policies: &Policies) {
        let sites = policies.sites();
        self.waits |= !sites.is_empty();
        self.asks |= sites.iter().any(|site| !is_network(&site.function));
    }

    fn record_not_asked(&mut self, name: String, reason: &str) {
        self.packages.push(PackageUse {
            name,
            reason: Some(reason.to_owned()),
            ..PackageUse::default()
        });
    }

    fn record_asked(&mut self, check: &Check) {
        self.packages.push(PackageUse {
            name: check.package.name.clone(),
            rules: check.package.rules.iter().map(|rule| rule.name.clone()).collect(),
            asked: true,
            reason: None,
            calls: 0,
            evaluated: false,
            cut_short: false,
        });
    }

    /// Returns `true` if a verdict may depend on `input`.
    pub fn reads_input(&self) -> bool {
        self.checks.iter().any(|check| check.context.input.how > InputUse::None)
    }

    /// Warns of arguments that none of the policies mentions: the names may be misspelt.
    fn note_unused(&mut self, arguments: &BTreeMap<String, Value>, sources: &Sources) {
        for name in arguments.keys() {
            if !sources.modules.iter().any(|module| module.text.contains(name.as_str())) {
                let message = format!("no policy uses the argument `{}`", escape(name));
                self.warn(Diagnostic::warning("unused-argument", message));
            }
        }
    }

    /// Warns of sets that no verdict depends on.
    fn note_unused_sets(&mut self, policies: &Policies, origin: PackageOrigin, reach: &Reach) {
        for rule in packages::unused_sets(policies, origin, reach) {
            let message = format!("no verdict uses the set `{}`", escape(&rule.name));
            self.warn(
                Diagnostic::warning("unused-set", message)
                    .with_hint("to be part of the verdict, it needs the name of a verdict rule")
                    .at(rule.position.clone()),
            );
        }
    }

    /// Warns of arguments that are a known kind or status in another spelling, if policies may compare
    /// them with the service's.
    fn note_respelt(&mut self) {
        let mut found = Vec::new();
        for check in self.checks.iter().filter(|check| check.sites.iter().any(Site::asks_service)) {
            for (name, value) in &check.context.arguments {
                let items = match value {
                    Value::Array(items) => items.as_slice(),
                    one => std::slice::from_ref(one),
                };
                for text in items.iter().filter_map(Value::as_str) {
                    let Some(usual) = respelt_by_hand(name, text) else { continue };
                    let (name, text) = (escape(name), escape(text));
                    let message =
                        format!("the argument `{name}` is `{text}`, and the service has `{usual}`");
                    found.push(
                        Diagnostic::warning("unknown-value", message)
                            .with_hint(format!("did you mean `{usual}`?")),
                    );
                }
            }
        }
        for warning in found {
            self.warn(warning);
        }
    }

    /// Refuses a run without an input if a verdict may depend on it.
    pub(crate) fn refuse_no_input(&self) -> Result<(), Error> {
        if !self.reads_input() {
            return Ok(());
        }
        let message = "no input was given, but the policies use `input`";
        Err(Error::new(ErrorKind::Configuration, message).by_setting(Setting::WithoutInput))
    }

    /// Returns the packages that are evaluated, in the order of reports.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Moves policy documents out of the data, and records the digest of every file.
    fn take_documents(&mut self, sources: &mut Sources) -> Result<Vec<PolicyDocument>, Error> {
        let mut record = |path: &str, bytes: &[u8]| {
            let digest = hex(&Sha256::digest(bytes));
            self.sources.push(Source { path: path.to_owned(), digest });
        };
        for module in &sources.modules {
            record(&module.path, module.text.as_bytes());
        }
        let mut unread = None;
        let visit = |path: &str, bytes: &[u8]| {
            record(path, bytes);
            if unread.is_none() && policy_yaml::holds_rego(&String::from_utf8_lossy(bytes)) {
                unread = Some(path.to_owned());
            }
        };
        let documents = split_off_documents(sources, visit)?;
        if let Some(path) = unread {
            let message = format!("`{}` contains Rego, which isn't evaluated", escape(&path));
            return Err(wrong(message)
                .with_hint("put the Rego into a file of its own, with a rule such as `deny`")
                .by_setting(Setting::Ignored));
        }
        let mut names: HashMap<&str, &PolicyDocument> = HashMap::new();
        for document in &documents {
            if let Some(other) = names.insert(&document.name, document) {
                return Err(wrong(format!(
                    "`{}` and `{}` are both policies with the name `{}`",
                    escape(&other.path),
                    escape(&document.path),
                    escape(&document.name)
                )));
            }
        }
        Ok(documents)
    }

    /// Records the digest of a bundle, or of the files of its folder.
    fn record_bundle(&mut self, bundle: &Bundle) -> Result<(), Error> {
        self.unverified_bundles += u64::from(bundle.is_signed);
        let mut record = |path: &str| {
            self.sources.push(Source { path: path.to_owned(), digest: digest_of(path)? });
            Ok(())
        };
        if bundle.is_folder { bundle.files().try_for_each(record) } else { record(&bundle.path) }
    }

    /// Loads Rego and data together. Returns the names of all packages.
    fn load_modules(
        &mut self,
        sources: &Sources,
        inexact: &[InexactNumber],
        chosen: &[String],
        options: &GateOptions,
    ) -> Result<Vec<String>, Error> {
        if sources.modules.is_empty() {
            return Ok(Vec::new());
        }
        let policies = self.load_policies(sources, options)?;
        let reach = Reach::new(&policies);
        let looked = reach.data();
        let used = inexact.iter().filter(|number| looked.meets(&number.path));
        let wrong: Vec<_> = used.map(|number| number.diagnostic.clone()).collect();
        if !wrong.is_empty() {
            return Err(Error::policy(wrong));
        }
        let program = policies.program();
        for (path, span) in reach.missing(&policies) {
            let path = data_reference(path);
            let message = format!("no loaded file defines `{path}`, so it is undefined");
            self.warn(
                Diagnostic::warning("missing-data", message)
                    .with_hint("load the file or folder that defines it, too")
                    .at(position(program.sources(), span)),
            );
        }
        for (path, value, span) in reach.without_elements(&policies) {
            let (path, value) = (data_reference(path), describe_value(value));
            let message = format!("`{path}` is {value}, in which the policy finds no elements");
            self.warn(
                Diagnostic::warning("missing-data", message)
                    .with_hint("make it an array or an object, empty if there are none")
                    .at(position(program.sources(), span)),
            );
        }
        let arguments: BTreeMap<String, Value> = options
            .arguments
            .iter()
            .filter_map(|(name, text)| Some((name.clone(), argument(text)?)))
            .collect();
        self.note_calls(&policies);
        self.note_unused(&arguments, sources);
        self.note_unused_sets(&policies, PackageOrigin::Plain, &reach);
        let kind = options.kind.as_ref();
        for asked in packages::verdict_packages(&policies, chosen, PackageOrigin::Plain, &reach)? {
            self.policies.push(describe(&asked, sources));
            let mut check = Check::new(policies.clone(), asked, &arguments, kind, false, &reach);
            check.context.has_arguments = !options.arguments.is_empty();
            self.record_asked(&check);
            self.checks.push(check);
        }
        let asked: HashSet<String> =
            self.packages.iter().map(|package| package.name.clone()).collect();
        for package in policies.packages() {
            let name = packages::dotted(&package.path);
            if !asked.contains(&name) {
                let reason = if !chosen.is_empty() && !packages::is_chosen(chosen, &name) {
                    NOT_CHOSEN
                } else if package.is_suite {
                    if let Some(rule) = packages::verdict_rule(package) {
                        self.left_out.push(format!(
                            "the package `{name}` has tests: its rule `{rule}` wasn't evaluated"
                        ));
                    }
                    "it is a test"
                } else {
                    "others use it"
                };
                self.record_not_asked(name, reason);
            }
        }
        Ok(policies.packages().map(|package| packages::dotted(&package.path)).collect())
    }

    /// Refuses a policy with the name of another one: a waiver for one of them would cover both.
    fn refuse_same_name(&self, document: &PolicyDocument, name: &str) -> Result<(), Error> {
        let Some(other) = self.policies.iter().find(|policy| policy.name == name) else {
            return Ok(());
        };
        let other = other.files.first().map_or("", String::as_str);
        Err(wrong(format!(
            "`{}` and `{}` both have a policy with the name `{}`",
            escape(other),
            escape(&document.path),
            escape(name)
        ))
        .with_hint("a waiver for one of them would cover both: rename one"))
    }

    fn load_document(
        &mut self,
        document: &PolicyDocument,
        chosen: &[String],
        options: &GateOptions,
    ) -> Result<(), Error> {
        let is_chosen = |name: &str| chosen.is_empty() || packages::is_chosen(chosen, name);
        let names = document.policy_names();
        if !is_chosen(&document.name) && !names.iter().any(|name| is_chosen(name)) {
            self.record_not_asked(document.name.clone(), NOT_CHOSEN);
            return Ok(());
        }
        let arguments = document.arguments(&options.arguments)?;
        let kind = options.kind.as_ref();
        for ((number, entry), name) in (1..).zip(&document.entries).zip(names) {
            if !is_chosen(&document.name) && !is_chosen(&name) {
                self.record_not_asked(name, NOT_CHOSEN);
                continue;
            }
            self.refuse_same_name(document, &name)?;
            if let (Some(wanted), Some(kind)) = (&options.kind, &entry.kind)
                && wanted != kind
            {
                refuse_misspelt(document, wanted, kind)?;
                self.record_not_asked(name, &format!("it is for `{kind}`"));
                self.left_out.push(format!(
                    "the policy `{}` is for `{kind}`, not for `{wanted}`: it wasn't evaluated",
                    document.name
                ));
                continue;
            }
            let module = entry.module.clone();
            if module.path != format!("{}#{number}", document.path) {
                let digest = hex(&Sha256::digest(&module.text));
                self.sources.push(Source { path: module.path.clone(), digest });
            }
            let sources = Sources { modules: vec![module], ..Sources::default() };
            let policies = self.load_policies(&sources, options)?;
            self.note_calls(&policies);
            self.note_unused(&arguments, &sources);
            let reach = Reach::new(&policies);
            let own = policies.packages().next().map(|package| package.path.clone());
            if let Some((outside, span)) = reach.outside(own.as_deref().unwrap_or_default()) {
                let outside = escape(&data_reference(outside));
                let message =
                    format!("the policy refers to `{outside}`, which it can't see from a document");
                return Err(Error::policy(vec![
                    Diagnostic::error("alone", message)
                        .with_hint(
                            "a policy document is evaluated without the data and packages of other \
                             files: write what it needs into its module, or load the module as Rego",
                        )
                        .at(position(policies.program().sources(), span)),
                ]));
            }
            self.note_unused_sets(&policies, PackageOrigin::Document, &reach);
            for mut asked in
                packages::verdict_packages(&policies, &[], PackageOrigin::Document, &reach)?
            {
                asked.name.clone_from(&name);
                let mut policy = describe(&asked, &sources);
                policy.document = Some(document.name.clone());
                policy.kind.clone_from(&entry.kind);
                policy.description = policy.description.or_else(|| document.description.clone());
                self.policies.push(policy);
                let check = Check::new(policies.clone(), asked, &arguments, kind, true, &reach);
                self.record_asked(&check);
                self.checks.push(check);
            }
        }
        Ok(())
    }
}

/// Refuses a policy's kind that is probably a misspelling of the wanted one, or the reverse: the
/// policy would be left out, and the gate pass without it.
fn refuse_misspelt(document: &PolicyDocument, wanted: &str, kind: &str) -> Result<(), Error> {
    let (a, b) = (wanted.to_lowercase(), kind.to_lowercase());
    if strsim::damerau_levenshtein(&a, &b) > 1 {
        return Ok(());
    }
    let (path, kind, wanted) = (escape(&document.path), escape(kind), escape(wanted));
    Err(wrong(format!("{path}: the kind `{kind}` is nearly `{wanted}`, but not the same"))
        .with_hint("one of the two is misspelt: the policy would be left out"))
}

fn check_arguments(
    documents: &[PolicyDocument],
    alone: bool,
    given: &BTreeMap<String, String>,
) -> Result<(), Error> {
    if !alone {
        return Ok(());
    }
    for name in given.keys() {
        if !documents.iter().any(|document| document.declares(name)) {
            let message = format!("no policy takes the argument `{}`", escape(name));
            let known = documents.iter().flat_map(PolicyDocument::declared);
            return Err(match nearest(name, known) {
                Some(near) => wrong(message).with_hint(format!("did you mean `{near}`?")),
                None => wrong(message).with_hint("`spec.inputs` of a policy declares them"),
            });
        }
    }
    Ok(())
}

fn read(path: &str) -> Result<Vec<u8>, Error> {
    std::fs::read(path)
        .map_err(|error| wrong(format!("`{}` can't be read", escape(path))).with_source(error))
}

fn digest_of(path: &str) -> Result<String, Error> {
    use std::io::Read as _;
    let failed = |error: std::io::Error| {
        wrong(format!("`{}` can't be read", escape(path))).with_source(error)
    };
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = file.read(&mut buffer).map_err(failed)?;
        if length == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(buffer.get(..length).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use crate::rego::value::Shared;

    #[test]
    fn a_check_and_its_gate_share_the_values_of_data() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("d.json"), r#"{"a": {"b": 1}}"#).unwrap();
        std::fs::write(folder.path().join("p.rego"), "package p\n\ndeny := data.a.b\n").unwrap();
        let paths = [folder.path().to_string_lossy().into_owned()];
        let material = Material::read(&paths, &[]).unwrap();
        let gathered = material.gathered.as_ref().unwrap();
        match (&*material.sources.data, &*gathered.files.data) {
            ([own], [gates]) => match (&own.value, &gates.value) {
                (Value::Object(own), Value::Object(gates)) => assert!(Shared::ptr_eq(own, gates)),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
        assert!(material.refused(LoadOptions::default()).1.is_none());
    }
}
