//! Rego modules of policy documents: their location, the rules added by default, and their syntax.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use rego_platform::Error;
use rego_platform::http::Http;
use rego_platform::rego::syntax::tree::FileId;
use rego_platform::rego::syntax::{BaseVersion, ParseOptions, parse_module, visit};
use rego_platform::sources::{Fetched, ModuleSource};
use rego_platform_client::files::bounded;
use rego_platform_client::text::escape;

use super::fetch::fetch;
use super::file::DocumentFile;
use crate::digest;
use crate::policy::annotations::rule_name;

/// The hint for a path outside of its folder.
const RELATIVE: &str = "move the file below the document's folder (for a module) or the working folder (for `file://`)";

/// The maximum size of a module in a file, in bytes.
const MAX_MODULE: u64 = 16 << 20;

/// The rules that a module may use without a definition, each after the rules that use it.
const OMITTED: [(&str, &str); 5] = [
    ("skipped", "default skipped := true\n\nskipped := false if valid_input\n"),
    (
        "skip_reason",
        "default skip_reason := \"\"\n\nskip_reason := \"the file content is not recognized\" if not valid_input\n",
    ),
    ("valid_input", "default valid_input := true\n"),
    ("ignore", "default ignore := false\n"),
    ("violations", "default violations := []\n"),
];

/// The rule that the vendor's engine queries.
const RESULT: (&str, &str) = (
    "result",
    "result := {\"skipped\": skipped, \"violations\": violations, \"skip_reason\": skip_reason, \"ignore\": ignore}\n",
);

/// A module of a policy document.
#[derive(Debug, Clone)]
pub(crate) struct Module {
    /// The text, with the default definitions of used rules.
    source: ModuleSource,
    /// `true` if the vendor's engine, which reads v0, can't read it.
    is_newer: bool,
}

impl Module {
    /// Returns the text, with the default definitions of used rules.
    ///
    /// # Errors
    /// For a module that the vendor's engine can't read.
    pub fn source(&self) -> Result<&ModuleSource, Error> {
        if !self.is_newer {
            return Ok(&self.source);
        }
        let message =
            format!("{}: missing `import rego.v1` in the module", escape(&self.source.path));
        Err(Error::configuration(message).with_hint(
            "add `import rego.v1` below the `package` line: policy documents are parsed as Rego v0",
        ))
    }

    /// Returns the text with all rules that the vendor's engine adds, including unused ones.
    ///
    /// # Errors
    /// For a module that the vendor's engine can't read.
    pub fn whole(&self) -> Result<ModuleSource, Error> {
        let mut source = self.source()?.clone();
        let options = ParseOptions::version(BaseVersion::V1);
        let Ok(module) = parse_module(FileId(0), &source.text, &options) else { return Ok(source) };
        let defined: BTreeSet<&str> = module.rules.iter().filter_map(rule_name).collect();
        append(&mut source.text, [RESULT].iter().chain(&OMITTED), &defined);
        Ok(source)
    }

    pub fn path(&self) -> &str {
        &self.source.path
    }
}

/// Appends the default definitions of used rules. They come last, so that its lines keep their numbers. A
/// module that doesn't parse is left to loading.
fn finished(module: ModuleSource) -> Module {
    let ModuleSource { path, mut text, .. } = module;
    let Ok(module) = parse_module(FileId(0), &text, &ParseOptions::version(BaseVersion::V1)) else {
        return Module { source: ModuleSource::new(path, text), is_newer: false };
    };
    let defined: BTreeSet<&str> = module.rules.iter().filter_map(rule_name).collect();
    let is_newer = is_newer(&text, &defined);
    let mut used = visit::vars(&module);
    for own in &OMITTED {
        if used.contains(own.0) && !defined.contains(own.0) {
            append(&mut text, [own], &defined);
            used.extend(own.1.contains("valid_input").then(|| "valid_input".into()));
        }
    }
    Module { source: ModuleSource::new(path, text), is_newer }
}

/// Appends rules, each a name with its text, except for those that are defined.
fn append<'r>(
    text: &mut String,
    rules: impl IntoIterator<Item = &'r (&'r str, &'r str)>,
    defined: &BTreeSet<&str>,
) {
    for (_, rules) in rules.into_iter().filter(|(name, _)| !defined.contains(name)) {
        text.extend(["\n\n", rules]);
    }
}

/// Returns `true` for a module with the syntax of v1 that doesn't import it. The engine of policy documents reads
/// v0, after it has added the rules about skipping that aren't defined, which use `if`.
fn is_newer(text: &str, defined: &BTreeSet<&str>) -> bool {
    let mut text = text.to_owned();
    append(&mut text, OMITTED.iter().filter(|(name, _)| name.starts_with("skip")), defined);
    parse_module(FileId(0), &text, &ParseOptions::version(BaseVersion::V0)).is_err()
}

/// Returns a module embedded in a document, below a line (counted from 1). Its positions are those in the
/// document's file, if it stands there as it is; otherwise it is a file of its own, with the `number` behind
/// the document's path.
pub(crate) fn embedded(file: DocumentFile<'_>, line: usize, module: &str, number: usize) -> Module {
    let own = |text: String| ModuleSource::new(format!("{}#{number}", file.path), text);
    finished(match in_place(file.text, line, module) {
        Some(text) => ModuleSource::new(file.path, text),
        None => own(module.to_owned()),
    })
}

/// Returns a module with its lines and columns in the document, if the document contains it verbatim below
/// the line, indented. Comments aren't indented, since a `METADATA` block begins in the first column.
fn in_place(document: &str, line: usize, module: &str) -> Option<String> {
    let mut text = "\n".repeat(line);
    let mut lines = document.lines().skip(line);
    for own in module.lines() {
        let indented = lines.next().filter(|indented| indented.trim() == own.trim())?;
        text += if own.starts_with('#') { own } else { indented };
        text.push('\n');
    }
    // White space counts in a string of several lines.
    (printed(&text) == printed(module)).then_some(text)
}

/// Returns a module without comments and formatting; `None` if it doesn't parse.
fn printed(text: &str) -> Option<String> {
    let module = parse_module(FileId(0), text, &ParseOptions::version(BaseVersion::V1)).ok()?;
    let imports = module.imports.iter().map(|import| format!("{import}\n"));
    let rules = module.rules.iter().map(|rule| format!("{rule}\n"));
    let all = imports.chain(rules).collect::<String>();
    Some(format!("{}\n{all}", module.package))
}

/// A module with the digest of its bytes.
type Digested = (Module, Option<String>);

/// Remote sources of the modules of documents.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Elsewhere<'a> {
    /// The client for modules at `https://` addresses, if enabled.
    pub http: Option<&'a Http>,
    /// The fetched sources. Their documents refer only to modules of the same source.
    pub fetched: &'a [Fetched],
}

/// Reads a module by its `path`, which must stay within the document's folder.
pub(crate) fn read(
    document: &str,
    path: &str,
    elsewhere: Elsewhere<'_>,
) -> Result<Digested, Error> {
    let (path, bytes) = beside(document, path, elsewhere)?;
    let digest = digest::sha256(&bytes);
    digested(document, path, bytes, digest)
}

/// Reads a module by its `ref`: a file in the document's folder, or an address with its digest.
pub(crate) fn referred(
    document: &str,
    reference: &str,
    elsewhere: Elsewhere<'_>,
) -> Result<Digested, Error> {
    if !reference.contains("://") {
        return read(document, reference, elsewhere);
    }
    let (path, bytes, digest) = found(document, reference, elsewhere, ReferenceTarget::Module)?;
    digested(document, path, bytes, digest)
}

/// Reads the policy document that a group refers to, as [`found`] does. Returns its path, its text, and its
/// digest.
pub(crate) fn document(
    group: &str,
    reference: &str,
    elsewhere: Elsewhere<'_>,
) -> Result<(String, String, String), Error> {
    let (path, bytes, digest) = found(group, reference, elsewhere, ReferenceTarget::Document)?;
    let (path, text) = utf8(group, &path, bytes)?;
    Ok((path, text, digest))
}

/// The type of a reference's target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReferenceTarget {
    Module,
    Document,
}

/// Reads the target of a reference: with `file://` a policy document below the working folder, as in the
/// vendor's client, or with `https://` a file of an allowed host. `@sha256:…` behind it is its digest,
/// without which nothing is fetched. The client takes neither `file://` nor a digest for modules.
fn found(
    document: &str,
    reference: &str,
    elsewhere: Elsewhere<'_>,
    wanted: ReferenceTarget,
) -> Result<(PathBuf, Vec<u8>, String), Error> {
    let shown = escape(reference);
    let (place, digest) = match reference.rsplit_once("@sha256:") {
        Some((place, digest)) => (place, Some(format!("sha256:{digest}"))),
        None => (reference, None),
    };
    let (path, bytes) = match place.split_once("://") {
        Some(("file", path))
            if wanted == ReferenceTarget::Document && elsewhere.source(document).is_none() =>
        {
            bytes(document, Path::new(""), path, wanted)?
        }
        Some(("https", _)) if digest.is_none() => {
            let message = format!("{}: missing digest of the policy `{shown}`", escape(document));
            return Err(Error::configuration(message)
                .with_hint(format!("review the policy and write `ref: {shown}@sha256:…`")));
        }
        Some(("https", _)) => {
            let body = fetch(place, elsewhere.http).map_err(|error| {
                let message = format!("{}: the policy `{shown}`: {error}", escape(document));
                let failed = Error::configuration(message);
                match error.setting() {
                    Some(setting) => failed.by_setting(setting),
                    None => failed,
                }
            })?;
            (PathBuf::from(place), body)
        }
        _ => {
            let message =
                format!("{}: unsupported reference to a policy: `{shown}`", escape(document));
            return Err(Error::configuration(message).with_hint(match wanted {
                ReferenceTarget::Module => {
                    "write a file in the document's folder, without `file://`, or an `https://` address with its digest `@sha256:…`"
                }
                ReferenceTarget::Document => {
                    "write a file with `file://`, or an `https://` address with its digest `@sha256:…`"
                }
            }));
        }
    };
    let own = digest::sha256(&bytes);
    if let Some(given) = digest.filter(|given| *given != own) {
        let (document, given) = (escape(document), escape(&given));
        let message =
            format!("{document}: digest mismatch for `{shown}`: expected `{given}`, got `{own}`");
        return Err(Error::configuration(message).with_hint("review the file and pin its digest"));
    }
    Ok((path, bytes, own))
}

/// Returns the folder of a document.
fn folder_of(document: &str) -> Result<&Path, Error> {
    if document.starts_with("https://") {
        let message =
            format!("{}: relative path of a module in a fetched document", escape(document));
        return Err(Error::configuration(message)
            .with_hint("embed the module, or write its `https://` address with its digest"));
    }
    Ok(Path::new(document).parent().unwrap_or(Path::new("")))
}

impl Elsewhere<'_> {
    /// Returns the source that a document was fetched with, and the document's name in it.
    fn source<'d>(&self, document: &'d str) -> Option<(&Fetched, &'d str)> {
        self.fetched.iter().find_map(|fetched| Some((fetched, fetched.name(document)?)))
    }
}

/// Reads a file in the document's folder.
fn beside(
    document: &str,
    module: &str,
    elsewhere: Elsewhere<'_>,
) -> Result<(PathBuf, Vec<u8>), Error> {
    let Some((source, name)) = elsewhere.source(document) else {
        return bytes(document, folder_of(document)?, module, ReferenceTarget::Module);
    };
    let below = module.strip_prefix("./").unwrap_or(module);
    let name = match name.rsplit_once('/') {
        Some((folder, _)) => format!("{folder}/{below}"),
        None => below.to_owned(),
    };
    let content = source.content(&name).ok_or_else(|| {
        let address = escape(source.address());
        let shown = escape(module);
        Error::configuration(format!("{}: no file `{shown}` in `{address}`", escape(document)))
            .with_hint("write a path relative to the document, without leaving the source")
    })?;
    Ok((PathBuf::from(format!("{}/{name}", source.address())), content.to_vec()))
}

/// Reads a file in a folder.
fn bytes(
    document: &str,
    folder: &Path,
    module: &str,
    wanted: ReferenceTarget,
) -> Result<(PathBuf, Vec<u8>), Error> {
    let shown = escape(module);
    let root = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let outside = || {
        let root = escape(&root.to_string_lossy());
        Error::configuration(format!("{}: `{shown}` is outside of `{root}`", escape(document)))
            .with_hint(RELATIVE)
    };
    let relative = Path::new(module);
    let is_inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !relative.components().all(is_inside) {
        return Err(outside());
    }
    let extension = relative.extension().and_then(|extension| extension.to_str());
    match (wanted, extension) {
        (ReferenceTarget::Module, Some("rego"))
        | (ReferenceTarget::Document, Some("yaml" | "yml" | "json")) => {}
        (ReferenceTarget::Module, _) => {
            let hint = if module.contains("@sha256:") {
                "remove the digest: the vendor's client reads it as a part of the file's name"
            } else {
                "use a file that ends in `.rego`; WASM isn't supported"
            };
            return Err(Error::configuration(format!(
                "{}: unexpected extension of the module `{shown}`: expected `.rego`",
                escape(document)
            ))
            .with_hint(hint));
        }
        (ReferenceTarget::Document, _) => {
            let message = format!(
                "{}: unexpected extension of the policy document `{shown}`",
                escape(document)
            );
            return Err(Error::configuration(message)
                .with_hint("use a file that ends in `.yaml` or `.json`"));
        }
    }
    let path = folder.join(relative);
    let failed = |error: std::io::Error| {
        Error::configuration(format!("{}: can't read the policy `{shown}`", escape(document)))
            .with_source(error)
            .with_hint(RELATIVE)
    };
    let real = std::fs::canonicalize(&path).map_err(failed)?;
    if !real.starts_with(std::fs::canonicalize(root).map_err(failed)?) {
        return Err(outside());
    }
    let bytes = bounded(&real, MAX_MODULE).map_err(failed)?;
    Ok((path, bytes))
}

fn digested(
    document: &str,
    path: PathBuf,
    bytes: Vec<u8>,
    digest: String,
) -> Result<Digested, Error> {
    let (path, text) = utf8(document, &path, bytes)?;
    Ok((finished(ModuleSource::new(path, text)), Some(digest)))
}

/// Returns the path and the text of a file.
fn utf8(document: &str, path: &Path, bytes: Vec<u8>) -> Result<(String, String), Error> {
    let path = path.to_string_lossy().into_owned();
    let text = String::from_utf8(bytes).map_err(|_| {
        Error::configuration(format!(
            "{}: invalid UTF-8 in the policy `{}`",
            escape(document),
            escape(&path)
        ))
    })?;
    Ok((path, text))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn added(text: &str) -> String {
        finished(ModuleSource::new("p.yaml#1", text)).source.text
    }

    #[test]
    fn v1_without_its_import_is_refused() {
        let rules = "violations contains \"x\" if input.x\n";
        let complete = "skip_reason := \"\"\n\nskipped := false\n\nviolations := []\n";
        for (imports, rules, is_read) in [
            ("import rego.v1", rules, true),
            ("import future.keywords", rules, true),
            ("import future.keywords.contains\n\nimport future.keywords.if", rules, true),
            ("import future.keywords.contains", rules, false),
            ("", rules, false),
            // The rules that the engine adds to it have `if`.
            ("", "violations := []\n", false),
            ("", complete, true),
        ] {
            let text = format!("package main\n\n{imports}\n\n{rules}");
            let found = finished(ModuleSource::new("p.yaml#1", &text));
            match found.source() {
                Ok(_) => assert!(is_read, "{text}"),
                Err(error) => {
                    assert!(
                        !is_read && error.to_string().contains("`import rego.v1`"),
                        "{text}: {error}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_omitted_rules_that_a_module_uses_are_added() {
        let module = "package main\n\nimport rego.v1\n\nresult := {\"skipped\": skipped, \"violations\": []}\n\n\
            default skipped := true\n\nskipped := false if valid_input\n";
        let text = added(module);
        assert!(text.starts_with(module));
        assert!(text.contains("default valid_input := true"), "{text}");
        assert!(
            !text.contains("default violations") && text.matches("default skipped").count() == 1
        );
        let reason = added("package main\n\nimport rego.v1\n\nresult := skip_reason\n");
        assert!(reason.contains("default skip_reason") && reason.contains("default valid_input"));
        let plain = "package main\n\nimport rego.v1\n\nviolations contains \"skipped\" if input.skipped # skipped\n";
        assert_eq!(added(plain), plain);
    }

    #[test]
    fn module_paths_stay_in_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("d")).unwrap();
        std::fs::write(dir.path().join("out.rego"), "package out").unwrap();
        std::fs::write(dir.path().join("d/in.rego"), "package in\n\nimport rego.v1").unwrap();
        let document = dir.path().join("d/p.yaml");
        let document = document.to_str().unwrap();
        assert_eq!(
            read(document, "in.rego", Elsewhere::default()).unwrap().0.source.text,
            "package in\n\nimport rego.v1"
        );
        let digest = digest::sha256("package in\n\nimport rego.v1");
        for reference in ["in.rego", "./in.rego"] {
            let (found, of_bytes) = referred(document, reference, Elsewhere::default()).unwrap();
            assert_eq!(found.path(), document.replace("p.yaml", reference));
            assert_eq!(of_bytes.as_deref(), Some(digest.as_str()));
        }
        let pinned = format!("in.rego@{digest}");
        for (reference, says) in [
            (pinned.as_str(), "unexpected extension of the module"),
            ("in.rego@sha512:00", "unexpected extension of the module"),
            ("../out.rego", "is outside of"),
            ("file://in.rego", "unsupported reference to a policy"),
            ("file:///etc/x.rego", "unsupported reference to a policy"),
            ("https://x.example/p.rego@sha256:00", "p.rego@sha256:00`: "),
            ("https://x.example/p.rego", "missing digest of the policy"),
            ("http://x.example/p.rego@sha256:00", "unsupported reference to a policy"),
            ("chainloop://p", "unsupported reference to a policy"),
            ("policy.wasm", "unexpected extension of the module"),
        ] {
            let error =
                referred(document, reference, Elsewhere::default()).unwrap_err().to_string();
            assert!(error.contains(says), "{reference}: {error}");
        }
        let absolute = dir.path().join("d/in.rego");
        for path in ["../out.rego", absolute.to_str().unwrap(), "https://x.example/p.rego"] {
            read(document, path, Elsewhere::default()).unwrap_err();
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("../out.rego", dir.path().join("d/link.rego")).unwrap();
            read(document, "link.rego", Elsewhere::default()).unwrap_err();
        }
    }

    #[test]
    fn a_fetched_document_names_modules_of_its_source_alone() {
        let module = "package in\n\nimport rego.v1\n";
        let files = [("d/in.rego", module), ("up.rego", module)];
        let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec().into()));
        let fetched = [Fetched::files("oci://r.example/a:1", "sha256:0", files)];
        let elsewhere = Elsewhere { http: None, fetched: &fetched };
        let document = "oci://r.example/a:1/d/p.yaml";
        for path in ["in.rego", "./in.rego"] {
            let (module, digest) = read(document, path, elsewhere).unwrap();
            assert_eq!(module.path(), "oci://r.example/a:1/d/in.rego");
            assert!(digest.is_some());
        }
        assert!(referred(document, "in.rego", elsewhere).is_ok());
        for path in ["../up.rego", "up.rego", "/etc/hosts", "x/../in.rego"] {
            let error = read(document, path, elsewhere).unwrap_err().to_string();
            assert!(error.contains("in `oci://r.example/a:1`"), "{error}");
        }
        let error = referred(document, "file://Cargo.rego", elsewhere).unwrap_err().to_string();
        assert!(error.contains("unsupported reference to a policy"), "{error}");
    }
}
