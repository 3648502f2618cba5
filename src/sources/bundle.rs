//! Bundles: policies and data with a manifest, as an archive (`.tar.gz`) or a folder.
//!
//! Owns which files of a bundle are read, their place below `data`, and what OPA requires of a
//! bundle. Nothing is written to disk. A signed bundle is loaded only if its signature is verified, or if that
//! is explicitly left out.

mod archive;
mod folder;
mod manifest;
mod signed;

use std::collections::HashSet;
use std::fmt::Display;
use std::io::Read;
use std::path::Path;

use super::account::Account;
use super::files::BundleArgument;
use super::{DataSource, ModuleSource, ReadOptions, RegoVersion, documents, json};
use crate::rego::FileId;
use crate::rego::Value;
use crate::rego::syntax::tree::TermKind;
use crate::rego::syntax::{BaseVersion, ParseOptions, parse_module};
use crate::rego::value::Object;
use crate::text::escape;
use crate::{Diagnostic, setting};
use manifest::{Manifest, overlap};
pub use signed::BundleKeys;
use signed::Hashes;

/// A bundle that was read.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct Bundle {
    /// The path of its file or folder.
    pub path: String,
    pub is_folder: bool,
    /// Set if the bundle is signed, and its signatures weren't verified.
    pub is_unverified: bool,
    pub modules: Vec<ModuleSource>,
    /// The versions of Rego of its modules, where the manifest gives one.
    pub versions: Vec<(String, RegoVersion)>,
    pub data: Vec<DataSource>,
    manifest_path: Option<String>,
    /// The manifest as policies see it.
    manifest: Value,
    roots: Vec<String>,
    prefix: Vec<String>,
    asked: BundleArgument,
}

impl Bundle {
    /// Returns `true` if a bundle contains neither policies nor data.
    pub fn is_empty(&self) -> bool {
        self.modules.is_empty() && self.data.is_empty()
    }

    /// Returns the paths of its policies, its data and its manifest.
    #[doc(hidden)]
    pub fn files(&self) -> impl Iterator<Item = &str> {
        let modules = self.modules.iter().map(|module| &*module.path);
        let data = self.data.iter().map(|data| &*data.path);
        modules.chain(data).chain(self.manifest_path.as_deref())
    }
}

/// The reading of a bundle.
struct Reading<'a> {
    path: &'a str,
    /// The archive, if it isn't on the disk.
    content: Option<&'a [u8]>,
    options: &'a ReadOptions<'a>,
    account: &'a mut Account,
    is_folder: bool,
    seen: HashSet<String>,
    total: u64,
    manifest: Option<(String, Manifest)>,
    /// Modules, each with the path for which the manifest may have a version.
    modules: Vec<(ModuleSource, String)>,
    /// Data below its folders, which `Data` names too.
    data: Vec<Data>,
    is_unverified: bool,
    /// The files, and their signature, if that is to be verified.
    hashes: Option<Hashes>,
    signatures: Option<Vec<u8>>,
}

struct Data {
    path: String,
    folders: Vec<String>,
    value: Value,
}

/// The name of the file with the signatures of a bundle.
const SIGNATURES: &str = ".signatures.json";

/// Reads a file of at most `limit` bytes.
fn bytes_of(content: &mut dyn Read, limit: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    content.take(limit + 1).read_to_end(&mut bytes).map_err(|error| format!("is cut: {error}"))?;
    if bytes.len() as u64 > limit {
        return Err(format!("is larger than {}", crate::text::size(limit)));
    }
    Ok(bytes)
}

/// Returns the path of a file within a bundle, for positions.
fn file_path(bundle: &str, is_folder: bool, name: &str) -> String {
    let separator = if is_folder { "/" } else { ":/" };
    let bundle = if is_folder { bundle.trim_end_matches('/') } else { bundle };
    format!("{bundle}{separator}{name}")
}

fn refused(path: &str, what: impl Display) -> Diagnostic {
    Diagnostic::error("bundle", format!("the bundle `{}` {what}", escape(path)))
}

/// Reads the bundle at `path`, a file or a folder, unless its content is given.
pub(super) fn read(
    (path, content): (&str, Option<&[u8]>),
    prefix: &[String],
    asked: BundleArgument,
    options: &ReadOptions<'_>,
    account: &mut Account,
) -> Result<Bundle, Diagnostic> {
    let is_folder = content.is_none() && Path::new(path).is_dir();
    let mut reading = Reading {
        path,
        content,
        options,
        account,
        is_folder,
        seen: HashSet::new(),
        total: 0,
        manifest: None,
        modules: Vec::new(),
        data: Vec::new(),
        is_unverified: false,
        hashes: options.bundle_keys.map(|_| Hashes::default()),
        signatures: None,
    };
    if is_folder {
        folder::read(&mut reading)?;
    } else {
        archive::read(&mut reading)?;
    }
    reading.finish(prefix, asked)
}

impl Reading<'_> {
    fn refused(&self, what: impl Display) -> Diagnostic {
        refused(self.path, what)
    }

    /// Takes the file `name`, whose parts are joined by single slashes; `raw` is its name as OPA
    /// compares it with the patterns of versions.
    fn take(&mut self, name: &str, raw: &str, content: &mut dyn Read) -> Result<(), Diagnostic> {
        let shown = escape(name);
        let holds =
            |path: &str, what: &str| refused(path, format!("holds `{shown}`, which {what}"));
        if !self.seen.insert(name.to_owned()) {
            return Err(self.refused(format!("holds `{shown}` twice")));
        }
        let files = self.options.limits.files;
        if self.seen.len() > files {
            return Err(self.refused(format!("holds more than {files} files")));
        }
        let is_signature = last_of(name) == SIGNATURES;
        if let Some(hashes) = &mut self.hashes {
            let read = bytes_of(content, self.options.limits.file_bytes)
                .map_err(|what| holds(self.path, &what))?;
            if !is_signature {
                hashes.take(&file_path(self.path, self.is_folder, name), name, &read)?;
                return self.place(name, raw, &mut read.as_slice());
            }
            if self.signatures.replace(read).is_some() {
                return Err(self.refused(format!("has two signatures, one of them in `{shown}`")));
            }
            return Ok(());
        }
        if !is_signature {
            return self.place(name, raw, content);
        }
        if !self.options.skip_verify {
            return Err(self
                .refused("is signed, and no key is given that verifies it")
                .by_setting(setting::SIGNED_BUNDLES));
        }
        self.is_unverified = true;
        self.account.leave(Path::new(name), "its signatures weren't checked");
        Ok(())
    }

    /// Takes a file that is no signature.
    fn place(&mut self, name: &str, raw: &str, content: &mut dyn Read) -> Result<(), Diagnostic> {
        let shown = escape(name);
        let holds =
            |path: &str, what: &str| refused(path, format!("holds `{shown}`, which {what}"));
        let last = last_of(name);
        let is_rego = ending_of(name) == "rego";
        let is_data = matches!(last, "data.json" | "data.yaml" | "data.yml");
        let is_manifest = name.ends_with(".manifest");
        if last == "patch.json" {
            return Err(self
                .refused(format!("is a delta (`{shown}`), which holds no policies"))
                .with_hint("build a whole one with `opa build -b`"));
        }
        if !is_rego && name.ends_with(".manifest.pb") {
            return Err(holds(self.path, "is a manifest, but not in JSON")
                .with_hint("build it with a manifest in JSON"));
        }
        // The manifest decides what the other files are.
        if !is_manifest && let Some(reason) = self.ignored(name) {
            self.account.leave(Path::new(name), reason);
            return Ok(());
        }
        if !(is_rego || is_data || is_manifest) {
            if ending_of(name).eq_ignore_ascii_case("wasm") {
                return Err(holds(self.path, "is a compiled policy: only Rego is evaluated here")
                    .by_setting(setting::IGNORED_IN_BUNDLES));
            }
            self.account.leave(Path::new(name), "it is neither Rego nor data of a bundle");
            return Ok(());
        }
        let text = self.text(content).map_err(|what| holds(self.path, &what))?;
        self.account.taken += 1;
        let path = file_path(self.path, self.is_folder, name);
        if is_rego {
            self.modules.push((ModuleSource { path, text }, raw.to_owned()));
            return Ok(());
        }
        if is_data {
            let data = data(path, name, &text)?;
            let Data { value, folders, .. } = &data.0;
            if folders.is_empty() && !matches!(value, Value::Object(_)) {
                return Err(holds(self.path, "isn't an object")
                    .with_hint("its keys become paths below `data`"));
            }
            if documents::is_policy(value) {
                return Err(holds(self.path, "is a policy document")
                    .with_hint("a bundle has Rego and data: name the document itself instead"));
            }
            if data.1 > 0 {
                let reason = format!("{} further documents: one is read", data.1);
                self.account.leave(Path::new(name), reason);
            }
            self.data.push(data.0);
            return Ok(());
        }
        if let Some((other, _)) = &self.manifest {
            let other = escape(other);
            return Err(self.refused(format!("has two manifests: `{other}` and `{shown}`")));
        }
        let manifest = Manifest::parse(&text)
            .map_err(|what| self.refused(format!("has a `{shown}` {what}")))?;
        self.manifest = Some((name.to_owned(), manifest));
        Ok(())
    }

    /// Returns the reason for which a file or folder is left out, if it is.
    fn ignored(&self, name: &str) -> Option<String> {
        let path = file_path(self.path, self.is_folder, name);
        let path = Path::new(&path);
        self.options.ignore.and_then(|ignore| {
            if self.is_folder {
                return ignore.reason(path);
            }
            ignore.reason_within(&format!("{}:", self.path), path)
        })
    }

    /// Reads a file as text, within the limits.
    fn text(&mut self, content: &mut dyn Read) -> Result<String, String> {
        let limits = self.options.limits;
        let bytes = bytes_of(content, limits.file_bytes)?;
        self.total += bytes.len() as u64;
        if self.total > limits.total_bytes {
            let most = crate::text::size(limits.total_bytes);
            return Err(format!("makes the bundle larger than {most}"));
        }
        String::from_utf8(bytes).map_err(|_| "isn't UTF-8".to_owned())
    }

    /// Checks who signed the bundle, if that is asked for.
    fn verify(&mut self) -> Result<(), Diagnostic> {
        let Some((keys, hashes)) = self.options.bundle_keys.zip(self.hashes.as_ref()) else {
            return Ok(());
        };
        let refused = |what: String| refused(self.path, what).by_setting(setting::SIGNED_BUNDLES);
        let signatures =
            self.signatures.as_ref().ok_or_else(|| refused("isn't signed".to_owned()))?;
        let signer = keys.signer(signatures, hashes).map_err(refused)?;
        self.account.signers.insert(signer.to_owned());
        Ok(())
    }

    fn finish(mut self, prefix: &[String], asked: BundleArgument) -> Result<Bundle, Diagnostic> {
        self.verify()?;
        let (path, is_folder) = (self.path, self.is_folder);
        let (manifest_path, manifest) = match self.manifest {
            Some((name, manifest)) => (Some(file_path(path, is_folder, &name)), manifest),
            None => (None, Manifest::absent()),
        };
        let mut versions = Vec::new();
        let mut modules = Vec::new();
        for (module, raw) in self.modules {
            let version = manifest.version_of(&raw);
            if !manifest.has_whole_root() {
                check_package(&manifest, &module).map_err(|what| refused(path, what))?;
            }
            versions.extend(version.map(|version| (module.path.clone(), version)));
            modules.push(module);
        }
        // What the bundle's own files hold must be distinct, and within the roots.
        let sources: Vec<DataSource> = self.data.iter().map(Data::source).collect();
        let mut found = Vec::new();
        let merged = super::merge::merge(&sources, &mut found);
        if let Some(conflict) = found.into_iter().next() {
            return Err(conflict);
        }
        if !manifest.has_whole_root() {
            check_data(&manifest, &merged, "").map_err(|at| {
                refused(path, format!("has data outside its roots, at `{}`", escape(&at)))
            })?;
        }
        let below = |mut source: DataSource| {
            if asked == BundleArgument::AsBundle && !manifest.has_whole_root() {
                source.value = at_roots(&source.value, &manifest.roots);
            }
            source.value = nested(prefix, source.value);
            source
        };
        Ok(Bundle {
            path: path.to_owned(),
            is_folder,
            is_unverified: self.is_unverified,
            modules,
            versions,
            data: sources.into_iter().map(below).collect(),
            manifest_path,
            manifest: manifest.value(),
            roots: manifest.roots,
            prefix: prefix.to_vec(),
            asked,
        })
    }
}

impl Data {
    fn source(&self) -> DataSource {
        let value = nested(&self.folders, self.value.clone());
        DataSource { path: self.path.clone(), value }
    }
}

/// Puts a value below a path.
fn nested(path: &[String], value: Value) -> Value {
    path.iter().rev().fold(value, |value, key| {
        let object: Object = [(Value::from(key.as_str()), value)].into();
        Value::from(object)
    })
}

/// Returns what follows the last slash of a name.
fn last_of(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Returns what follows the last dot of a name, whose case counts.
fn ending_of(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, ending)| ending)
}

/// Reads a document of data, and returns the number of those that follow it too.
fn data(path: String, name: &str, text: &str) -> Result<(Data, usize), Diagnostic> {
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    // As in OPA, a folder at the top may be hidden.
    let folders: Vec<String> = folder
        .trim_start_matches(['/', '.'])
        .split('/')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect();
    let is_yaml = ending_of(name) != "json";
    let read = match json::read(text) {
        Ok(value) if is_yaml => documents::Data { value, further: 0 },
        _ => documents::of_bundle(&path, text, is_yaml)?,
    };
    Ok((Data { path, folders, value: read.value }, read.further))
}

/// Checks that a module's package is within the roots. All versions of Rego have the same packages;
/// a module that is none of them is refused when it is loaded.
fn check_package(manifest: &Manifest, module: &ModuleSource) -> Result<(), String> {
    let parsed =
        [BaseVersion::V1, BaseVersion::V0, BaseVersion::V2].into_iter().find_map(|version| {
            parse_module(FileId(0), &module.text, &ParseOptions::version(version)).ok()
        });
    let Some(parsed) = parsed else { return Ok(()) };
    let path: Vec<&str> = parsed
        .package
        .path
        .iter()
        .skip(1)
        .filter_map(|term| match &term.kind {
            TermKind::String(name) | TermKind::Var(name) => Some(&**name),
            _ => None,
        })
        .collect();
    if manifest.contains(&path) {
        return Ok(());
    }
    Err(format!("has the package `{}` outside its roots", escape(&path.join("."))))
}

/// Checks that data is within the roots, as OPA does: an object beside a root is allowed if a part
/// of its path is the root's first. Returns the path of data that isn't.
fn check_data(manifest: &Manifest, value: &Value, path: &str) -> Result<(), String> {
    let path = path.trim_matches('/');
    let parts: Vec<&str> = path.split('/').collect();
    if manifest.contains(&parts) {
        return Ok(());
    }
    let first = |root: &String| root.split('/').next().unwrap_or_default().to_owned();
    let beside = |root: &String| parts.iter().any(|part| part.is_empty() || *part == first(root));
    match value {
        Value::Object(object) if manifest.roots.iter().any(beside) => {
            object.iter().try_for_each(|(key, value)| {
                let key = key.as_str().unwrap_or_default();
                check_data(manifest, value, &format!("{path}/{key}"))
            })
        }
        _ => Err(format!("/{path}")),
    }
}

/// Returns the parts of a value that are at roots: OPA stores nothing else of a bundle.
fn at_roots(value: &Value, roots: &[String]) -> Value {
    let parts = roots.iter().filter_map(|root| {
        let path: Vec<String> = root.split('/').map(str::to_owned).collect();
        let found = path.iter().try_fold(value, |value, key| match value {
            Value::Object(_) => value.get_str(key),
            _ => None,
        })?;
        let value = nested(&path, found.clone());
        Some(DataSource { path: String::new(), value })
    });
    // Distinct roots have nothing in common.
    super::merge::merge(&parts.collect::<Vec<_>>(), &mut Vec::new())
}

/// Returns a root for a message.
fn shown_root(root: &str) -> String {
    if root.is_empty() { "all of `data`".to_owned() } else { format!("`{}`", escape(root)) }
}

/// Checks what bundles have in common.
pub(super) fn check_apart(bundles: &[Bundle]) -> Result<(), Diagnostic> {
    for (index, one) in bundles.iter().enumerate() {
        for other in bundles.get(index + 1..).unwrap_or_default() {
            let mut pairs = one.roots.iter().flat_map(|a| other.roots.iter().map(move |b| (a, b)));
            if let Some((a, b)) = pairs.find(|(a, b)| overlap(a, b)) {
                let (a, b, name) = (shown_root(a), shown_root(b), escape(&other.path));
                let what = format!("and `{name}` have roots that overlap: {a} and {b}");
                return Err(refused(&one.path, what).with_hint(
                    "`roots` in its manifest determines which part of `data` a bundle has",
                ));
            }
        }
    }
    Ok(())
}

/// Checks that no other data is where OPA would drop it: at a root of a bundle that isn't given as
/// data itself.
pub(super) fn check_beside(bundles: &[Bundle], others: &[DataSource]) -> Result<(), Diagnostic> {
    for bundle in bundles.iter().filter(|bundle| bundle.asked == BundleArgument::AsBundle) {
        for root in &bundle.roots {
            if let Some(source) = others.iter().find(|source| holds(&source.value, root)) {
                let (path, root) = (escape(&source.path), shown_root(root));
                let what =
                    format!("has {root} as its root, where `{path}` has data: OPA would drop that");
                return Err(refused(&bundle.path, what)
                    .with_hint("give the bundle other roots")
                    .by_setting(setting::MERGED_BUNDLES));
            }
        }
    }
    Ok(())
}

/// Returns the bundles' manifests as data: OPA has them below `data.system`.
pub(super) fn manifests(bundles: &[Bundle]) -> impl Iterator<Item = DataSource> {
    bundles.iter().map(|bundle| {
        let alone = bundles.iter().filter(|other| other.prefix == bundle.prefix).count() == 1;
        let (path, value) = if bundle.asked == BundleArgument::AsData && alone {
            (vec!["system", "bundle", "manifest"], bundle.manifest.clone())
        } else {
            let members: Object = [
                (Value::from("manifest"), bundle.manifest.clone()),
                (Value::from("etag"), Value::from("")),
            ]
            .into();
            (vec!["system", "bundles", &bundle.path], Value::from(members))
        };
        let path: Vec<String> =
            bundle.prefix.iter().cloned().chain(path.into_iter().map(str::to_owned)).collect();
        DataSource { path: format!("{}:/.manifest", bundle.path), value: nested(&path, value) }
    })
}

/// Returns `true` if there is anything in a document at a root.
fn holds(value: &Value, root: &str) -> bool {
    if root.is_empty() {
        return !matches!(value, Value::Object(object) if object.is_empty());
    }
    let mut parts = root.split('/');
    parts.try_fold(value, |value, key| value.get_str(key)).is_some()
}
