//! Loads a gate from paths: its packages, and their description for reports.
//!
//! Owns telling Rego, bundles and policy documents apart. Each module of a policy document is
//! loaded on its own, since they all have the same package.

mod authors;
mod closed;
mod document;
mod material;
mod policy;
mod refusals;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use rego_platform::evaluate::{Policies, is_network};
use rego_platform::http::Http;
use rego_platform::load::LoadOptions;
use rego_platform::load::roles::PackageOrigin;
use rego_platform::rego::Value;
use rego_platform::sources::{
    Account, Bundle, BundleKeys, Fetched, Gathered, Ignore, ReadOptions, Sources, is_contract,
};
use rego_platform::{Diagnostic, Error, Product};
use rego_platform_client::text::escape;
use rego_platform_materials::Kind;
use sha2::{Digest as _, Sha256};

use super::annotations::describe;
use super::documents::{Elsewhere, PolicyInputs};
use super::parameters::Parameters;
use super::reach::{Reach, Site};
use super::{packages, vulnerability};
use crate::digest;
use crate::input::{InputValues, argument, kinds};
use crate::report::model::{CallSite, Inventory, PackageUse, Policy, Source};

#[doc(hidden)]
pub use authors::{EmbeddedText, document_options, with_modules};
use document::{Document, split_off_documents};
use material::Loaded;
pub use material::Material;
pub(crate) use policy::Check;
use refusals::{not_by_data, refuse_lost, refuse_replaced, refuse_untaken};

/// Options for loading a gate.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct GateOptions {
    /// Options for loading the policies.
    pub load: LoadOptions,
    /// The packages and policy documents to evaluate; all if empty.
    pub packages: Vec<String>,
    /// The packages and policy documents that aren't evaluated, as the vendor's `skip` of a group.
    pub skip: Vec<String>,
    /// The kind of material of the inputs. Policies for different kinds are left out, and policies find the
    /// kind in the input's metadata ([`Product::metadata_field`]).
    pub kind: Option<String>,
    /// The arguments for `input.args`.
    pub arguments: BTreeMap<String, String>,
    /// Inputs of policies that replace or extend the arguments of contracts and documents.
    pub policy_inputs: PolicyInputs,
    /// The file of a contract, whose materials, policies and groups are evaluated in addition.
    pub contract: Option<String>,
    /// Values to put into the input.
    pub values: InputValues,
    /// The files and folders to leave out.
    pub ignore: Ignore,
    /// The client for modules at `https://` addresses in policy documents, if enabled.
    pub http: Option<Http>,
    /// Bundles to load in addition: archives, whatever their names, and folders.
    pub bundles: Vec<String>,
    /// The fetched sources of paths and bundles that are addresses.
    pub fetched: Vec<Fetched>,
    /// Set to load signed bundles without verifying their signatures.
    pub skip_verify: bool,
    /// Keys, one of which must have signed each bundle.
    pub bundle_keys: Option<BundleKeys>,
    /// Set to note unused rules, and unknown fields, values, rules and data, instead of refusing the
    /// policies.
    pub allow_warnings: bool,
}

/// Loaded policies that give verdicts.
#[derive(Debug, Default)]
pub struct Gate {
    pub(crate) checks: Vec<Check>,
    pub(crate) policies: Vec<Policy>,
    pub(crate) sources: Vec<Source>,
    pub(crate) product: Product,
    /// The kind of all inputs, if it is given.
    pub(crate) kind: Option<&'static Kind>,
    /// The materials of groups.
    pub(crate) materials: Vec<crate::input::Material>,
    /// `true` if any policy calls the service, or a built-in that accesses the network.
    pub(crate) waits: bool,
    /// `true` if any policy calls the service.
    asks: bool,
    /// Notes about policies that aren't evaluated or found, and about the limits of reports, a line each.
    pub(crate) notes: Vec<String>,
    /// Warnings that refuse the policies, unless they are allowed.
    pub(crate) warnings: Vec<Diagnostic>,
    accounts: Vec<Account>,
    packages: Vec<PackageUse>,
    /// The number of signed bundles that were loaded without verification.
    unverified_bundles: u64,
    /// The canonical paths of the files of data.
    data: HashSet<FileId>,
    /// The policies that are already loaded.
    loaded: Loaded,
    /// The parameters of plain packages, if there are arguments.
    parameters: Parameters,
}

/// The reason of packages that weren't selected.
const NOT_CHOSEN: &str = "not a selected package";

/// The reason of packages skipped by name.
const SKIPPED: &str = "skipped by name";

impl GateOptions {
    /// Returns the remote sources of modules.
    fn elsewhere(&self) -> Elsewhere<'_> {
        Elsewhere { http: self.http.as_ref(), fetched: &self.fetched }
    }
}

/// Reads the files of a gate. Of some paths, only `policies` are read.
fn gather(paths: &[String], policies: &[String], options: &GateOptions) -> Result<Gathered, Error> {
    let mut how = ReadOptions::default();
    how.policies = policies;
    how.ignore = Some(&options.ignore);
    how.bundles = &options.bundles;
    how.skip_verify = options.skip_verify;
    how.bundle_keys = options.bundle_keys.as_ref();
    how.fetched = &options.fetched;
    Sources::gather(paths, how)
}

impl Gate {
    /// Loads policies from Rego and data files, folders, bundles and policy documents.
    ///
    /// # Errors
    /// As `Policies::load`; also for packages without a verdict rule, arguments that no policy
    /// document declares, and missing arguments.
    pub fn load(paths: &[String], options: &GateOptions) -> Result<Self, Error> {
        Self::load_gathered(gather(paths, &[], options)?, options)
    }

    /// Loads policies from files that were read before, with their options. Those for reading don't matter.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_gathered(mut gathered: Gathered, options: &GateOptions) -> Result<Self, Error> {
        let contract = options.contract.as_deref();
        let documents = split_off_documents(&mut gathered, contract, options.elsewhere())?;
        let contracts = gathered.files.data.iter().filter(|source| is_contract(&source.value));
        let contract = contracts.map(|source| source.path.clone()).next();
        let gate = Self::of(gathered, &documents, options, Loaded::default())?;
        gate.refuse_warnings(options.allow_warnings)?;
        if gate.checks.is_empty() {
            return Err(match contract {
                Some(path) => not_by_data(&path),
                None => gate.nothing_to_evaluate(options.kind.as_deref()),
            });
        }
        Ok(gate)
    }

    /// Returns the number of warnings for which the policies would be refused.
    pub fn allowed_warnings(&self) -> u64 {
        self.refusing().count() as u64
    }

    /// Loads as [`Gate::load`] does, but accepts policies without a verdict, such as libraries.
    fn of(
        mut gathered: Gathered,
        documents: &[Document],
        options: &GateOptions,
        loaded: Loaded,
    ) -> Result<Self, Error> {
        if options.bundle_keys.is_some() && gathered.bundles.is_empty() {
            return Err(Error::configuration("key without a bundle")
                .with_hint("name a bundle, or leave the key out"));
        }
        if let Some(empty) = gathered.bundles.iter().find(|bundle| bundle.is_empty()) {
            return Err(Error::configuration(format!(
                "no policies and no data in the bundle `{}`",
                escape(&empty.path)
            )));
        }
        if let Some(empty) = gathered.accounts.iter().find(|account| account.taken == 0) {
            let argument = escape(&empty.argument);
            return Err(Error::configuration(format!("no policies and no data in `{argument}`"))
                .with_hint("check the path, or leave it out"));
        }
        let mut gate = Self {
            product: options.load.product.clone(),
            kind: options.kind.as_deref().map(kinds::named).transpose()?,
            accounts: std::mem::take(&mut gathered.accounts),
            data: data_files(&gathered, documents),
            loaded,
            ..Self::default()
        };
        gate.record_files(&gathered, documents, &options.fetched)?;
        for bundle in &gathered.bundles {
            gate.record_bundle(bundle, &options.fetched)?;
        }
        let sources = gathered.sources()?;
        let chosen: Vec<String> = options
            .packages
            .iter()
            .map(|name| name.strip_prefix("data.").unwrap_or(name).to_owned())
            .collect();
        let mut known = gate.load_modules(&sources, &chosen, options)?;
        if !documents.is_empty() {
            refuse_lost(options)?;
        }
        for document in documents {
            document.refuse_versions(&options.load.product)?;
        }
        for document in documents {
            known.extend(document.names());
            gate.load_document(document, &chosen, options)?;
        }
        packages::refuse_unknown(&chosen, known.iter().map(String::as_str))?;
        packages::refuse_unknown(&options.skip, known.iter().map(String::as_str))?;
        gate.refuse_unread(documents, &options.arguments)?;
        refuse_untaken(documents, &options.policy_inputs)?;
        gate.note_unread(&options.values);
        let mut seen = HashSet::new();
        gate.warnings.retain(|warning| seen.insert(warning.clone()));
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

    /// Returns the gate with the policies that `change` returns for its own.
    #[doc(hidden)]
    #[must_use]
    pub fn map_policies(mut self, change: impl Fn(Policies) -> Policies) -> Self {
        for check in &mut self.checks {
            check.policies = change(check.policies.clone());
        }
        self
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
        origin: PackageOrigin,
    ) -> Result<Policies, Error> {
        let (policies, warnings) = match self.loaded.find(sources, origin) {
            Some(loaded) => loaded,
            None => {
                let options = vulnerability::options(&options.load, origin);
                Policies::load_with_warnings(sources, options)?
            }
        };
        self.warnings.extend(warnings);
        refuse_replaced(&policies)?;
        Ok(policies)
    }

    fn note_calls(&mut self, policies: &Policies) {
        let mut sites = policies.sites();
        sites.retain(|site| !vulnerability::is_call(&site.function, &self.product));
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

    fn record_skipped(&mut self, name: String) {
        self.notes.push(format!("the policy `{}` wasn't evaluated: {SKIPPED}", escape(&name)));
        self.record_not_asked(name, SKIPPED);
    }

    fn record_asked(&mut self, check: &Check) {
        self.packages.push(PackageUse {
            name: check.package.name.clone(),
            rules: check.package.rules.iter().map(|rule| rule.name.clone()).collect(),
            asked: true,
            reason: None,
            calls: 0,
        });
    }

    /// Returns `true` if a verdict may depend on `input`.
    pub fn reads_input(&self) -> bool {
        self.checks.iter().any(|check| check.context.reads_input)
    }

    /// Returns `true` if a verdict may depend on this member of `input`.
    #[doc(hidden)]
    pub fn reads_field(&self, name: &str) -> bool {
        self.checks.iter().any(|check| check.reads.fields.has(name))
    }

    /// Returns the packages that are evaluated, in the order of reports.
    pub fn policies(&self) -> &[Policy] {
        &self.policies
    }

    /// Records the digest of every file.
    fn record_files(
        &mut self,
        gathered: &Gathered,
        documents: &[Document],
        fetched: &[Fetched],
    ) -> Result<(), Error> {
        for module in &gathered.files.modules {
            let digest = digest::sha256(&module.text);
            self.sources.push(Source { path: module.path.clone(), digest });
        }
        let data = gathered.files.data.iter().map(|source| source.path.as_str());
        let own = documents.iter().filter(|document| !document.is_recorded());
        for path in data.chain(own.map(Document::path)) {
            self.sources.push(Source { path: path.to_owned(), digest: digest_of(path, fetched)? });
        }
        Ok(())
    }

    /// Records the digest of a bundle, or of the files of its folder.
    fn record_bundle(&mut self, bundle: &Bundle, fetched: &[Fetched]) -> Result<(), Error> {
        self.unverified_bundles += u64::from(bundle.is_unverified);
        let mut record = |path: &str| {
            self.sources.push(Source { path: path.to_owned(), digest: digest_of(path, fetched)? });
            Ok(())
        };
        if bundle.is_folder { bundle.files().try_for_each(record) } else { record(&bundle.path) }
    }

    /// Loads Rego and data together. Returns the names of all packages.
    fn load_modules(
        &mut self,
        sources: &Sources,
        chosen: &[String],
        options: &GateOptions,
    ) -> Result<Vec<String>, Error> {
        if sources.modules.is_empty() {
            return Ok(Vec::new());
        }
        let policies = self.load_policies(sources, options, PackageOrigin::Plain)?;
        // Packages that aren't evaluated anyway need no verdict.
        self.warnings.retain(|found| chosen.is_empty() || found.code != "no-verdict");
        let reach = Reach::new(&policies);
        let arguments: BTreeMap<String, Value> = options
            .arguments
            .iter()
            .filter_map(|(name, text)| Some((name.clone(), argument(text)?)))
            .collect();
        self.note_calls(&policies);
        let mut packages = packages::verdict_packages(
            &policies,
            (chosen, &options.skip),
            PackageOrigin::Plain,
            &reach,
        )?;
        packages.retain(|own| {
            let is_skipped = packages::is_chosen(&options.skip, &own.name);
            if is_skipped {
                self.record_skipped(own.name.clone());
            }
            !is_skipped
        });
        self.parameters = Parameters::new(&packages, &policies, &options.arguments)?;
        for mut asked in packages {
            asked.any_field |= options.allow_warnings;
            let (policy, notes) = describe(&asked, &policies);
            self.policies.push(policy);
            self.notes.extend(notes);
            let mut check = Check::new(policies.clone(), asked, &arguments, options, &reach);
            check.set_parameters(&self.parameters, &options.arguments)?;
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
                    "test package"
                } else {
                    "no verdict rule"
                };
                self.record_not_asked(name, reason);
            }
        }
        Ok(policies.packages().map(|package| packages::dotted(&package.path)).collect())
    }
}

/// Returns the files of data, and of policy documents.
fn data_files(gathered: &Gathered, documents: &[Document]) -> HashSet<FileId> {
    let data = gathered.files.data.iter().map(|source| source.path.as_str());
    let files = data.chain(documents.iter().map(Document::path));
    let folders = gathered.bundles.iter().filter(|bundle| bundle.is_folder);
    files
        .chain(folders.flat_map(Bundle::files))
        .filter_map(|path| FileId::of(Path::new(path)).ok())
        .collect()
}

/// The identity of a file, independent of its path.
#[derive(Debug, PartialEq, Eq, Hash)]
struct FileId {
    #[cfg(unix)]
    device_and_inode: (u64, u64),
    #[cfg(not(unix))]
    path: std::path::PathBuf,
}

impl FileId {
    #[cfg(unix)]
    fn of(path: &Path) -> std::io::Result<Self> {
        use std::os::unix::fs::MetadataExt as _;
        let found = path.metadata()?;
        Ok(Self { device_and_inode: (found.dev(), found.ino()) })
    }

    /// There, a hard link counts as another file.
    #[cfg(not(unix))]
    fn of(path: &Path) -> std::io::Result<Self> {
        path.canonicalize().map(|path| Self { path })
    }
}

fn digest_of(path: &str, fetched: &[Fetched]) -> Result<String, Error> {
    use std::io::Read as _;
    let mut within = fetched.iter().filter_map(|source| source.content(source.name(path)?));
    if let Some(content) = within.next() {
        return Ok(digest::sha256(content));
    }
    let failed = |error: std::io::Error| {
        Error::configuration(format!("can't read `{}`", escape(path))).with_source(error)
    };
    let mut file = std::fs::File::open(path).map_err(failed)?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let length = file.read(&mut buffer).map_err(failed)?;
        if length == 0 {
            return Ok(digest::finished(hash));
        }
        hash.update(buffer.get(..length).unwrap_or_default());
    }
}
