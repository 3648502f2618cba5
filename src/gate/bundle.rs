//! OPA bundles: `.tar.gz` archives of policies and data.
//!
//! Owns unpacking them, within limits and without writing anything to disk. Signatures aren't
//! verified: a signed bundle is loaded only if that is explicitly allowed.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{Read, Take};
use std::path::{Component, Path};

use crate::rego::Value;
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use tar::EntryType;

use super::{documents, policy_yaml};
use crate::sources::{
    Account, DataSource, ModuleSource, SourceLimits, Sources, document, is_bundle_name,
};
use crate::text::escape;
use crate::unreadable::unreadable;
use crate::{Error, ErrorKind, Setting};

/// Returns `true` if a path is that of a bundle.
pub(super) fn is_bundle(path: &str) -> bool {
    is_bundle_name(Path::new(path)) && Path::new(path).is_file()
}

#[derive(Deserialize)]
struct Manifest {
    roots: Option<Vec<String>>,
    rego_version: Option<u8>,
    #[serde(default)]
    file_rego_versions: BTreeMap<String, u8>,
}

/// Adds the modules and data of the bundle at `path`. Returns an account of its files, and whether
/// it is signed.
pub(super) fn read(
    path: &str,
    into: &mut Sources,
    limits: SourceLimits,
    skip_verify: bool,
) -> Result<(Account, bool), Error> {
    let shown = escape(path);
    let wrong =
        |what: String| Error::new(ErrorKind::Configuration, format!("the bundle `{shown}` {what}"));
    let failed = |error: std::io::Error| wrong("can't be read".to_owned()).with_source(error);
    let file = File::open(path)
        .map_err(|error| unreadable("the bundle", std::path::Path::new(path), error))?;
    // The limit applies to all unpacked bytes, including headers and files that aren't used.
    let unpacked = MultiGzDecoder::new(file).take(limits.total_bytes + 1);
    let mut archive = tar::Archive::new(unpacked);
    let mut found = Sources::default();
    let mut seen = HashSet::new();
    let mut manifest = None;
    let (mut account, mut signed) = (Account::new(path), false);
    for entry in archive.entries().map_err(failed)? {
        let mut entry = entry.map_err(failed)?;
        let name = entry.path().map_err(failed)?.into_owned();
        let name = inner(&name).ok_or_else(|| {
            wrong(format!("holds the path `{}`", escape(&name.display().to_string())))
                .with_hint("paths in a bundle are relative and lead nowhere else")
        })?;
        match entry.header().entry_type() {
            EntryType::Directory | EntryType::XGlobalHeader => continue,
            EntryType::Regular | EntryType::Continuous => {}
            _ => return Err(wrong(format!("holds `{}`, which isn't a file", escape(&name)))),
        }
        if !seen.insert(name.clone()) {
            return Err(wrong(format!("holds `{}` twice", escape(&name))));
        }
        if seen.len() > limits.files {
            return Err(wrong(format!("holds more than {} files", limits.files)));
        }
        if name == ".signatures.json" {
            if !skip_verify {
                return Err(wrong("is signed, and signatures aren't checked here".to_owned())
                    .with_hint("check it with `opa`")
                    .by_setting(Setting::SignedBundles));
            }
            signed = true;
        }
        if name == "patch.json" {
            return Err(wrong("is a delta (`patch.json`), which holds no policies".to_owned())
                .with_hint("build a whole one with `opa build -b`"));
        }
        let last = name.rsplit('/').next().unwrap_or(&name);
        let rego = Path::new(last).extension().is_some_and(|extension| extension == "rego");
        if !rego && !matches!(last, "data.json" | "data.yaml" | "data.yml") && name != ".manifest" {
            refuse_unread(&mut entry, &name, &limits)
                .map_err(|what| wrong(format!("holds `{}`, which {what}", escape(&name))))?;
            account.leave(Path::new(&name), "it is neither Rego nor data of a bundle");
            continue;
        }
        account.taken += 1;
        let text = text(&mut entry, &limits)
            .map_err(|what| wrong(format!("holds `{}`, which {what}", escape(&name))))?;
        if name == ".manifest" {
            let parsed: Manifest = serde_json::from_str(&text)
                .map_err(|error| wrong("has a broken `.manifest`".to_owned()).with_source(error))?;
            manifest = Some(parsed);
        } else if rego {
            found.modules.push(ModuleSource { path: format!("{path}:/{name}"), text });
        } else {
            let value = data(&text, &name).ok_or_else(|| {
                wrong(format!("holds `{}`, which isn't an object", escape(&name)))
            })?;
            found.data.push(DataSource { path: format!("{path}:/{name}"), value });
        }
    }
    if archive.into_inner().limit() == 0 {
        return Err(wrong(format!(
            "is larger than {} unpacked",
            crate::text::size(limits.total_bytes)
        )));
    }
    let manifest = manifest.ok_or_else(|| {
        wrong("has no `.manifest`".to_owned()).with_hint("`opa build -b` makes bundles")
    })?;
    if manifest.rego_version == Some(0) || manifest.file_rego_versions.values().any(|v| *v == 0) {
        return Err(wrong("holds Rego v0".to_owned())
            .with_hint("unpack it")
            .by_setting(Setting::RegoV0));
    }
    if found.modules.is_empty() {
        return Err(wrong("contains no Rego".to_owned())
            .with_hint("bundles of compiled policies alone can't be evaluated"));
    }
    check_roots(&found, manifest.roots.as_deref().unwrap_or(&[String::new()])).map_err(wrong)?;
    into.modules.append(&mut found.modules);
    into.data.append(&mut found.data);
    Ok((account, signed))
}

/// Refuses an unread file that other tools would evaluate: OPA prefers compiled policies, and a
/// policy document in a bundle isn't meant to be left out.
fn refuse_unread<R: Read>(
    entry: &mut tar::Entry<'_, Take<R>>,
    name: &str,
    limits: &SourceLimits,
) -> Result<(), String> {
    let extension = Path::new(name).extension().unwrap_or_default().to_ascii_lowercase();
    match extension.to_str().unwrap_or_default() {
        "rego" => Err("OPA doesn't take for Rego: its name ends in `.rego`".to_owned()),
        "wasm" => Err("is a compiled policy: only Rego is evaluated here".to_owned()),
        "yaml" | "yml" | "json" if policy_yaml::is_policy(&text(entry, limits)?) => {
            Err("is a policy document: unpack it, and name it with `-d`".to_owned())
        }
        _ => Ok(()),
    }
}

/// Normalises a path to names joined by `/`; `None` if it leads out of the bundle.
fn inner(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::CurDir | Component::RootDir => {}
            _ => return None,
        }
    }
    Some(parts.join("/"))
}

fn text<R: Read>(
    entry: &mut tar::Entry<'_, Take<R>>,
    limits: &SourceLimits,
) -> Result<String, String> {
    let mut bytes = Vec::new();
    let limit = limits.file_bytes;
    entry.by_ref().take(limit + 1).read_to_end(&mut bytes).map_err(|e| format!("is cut: {e}"))?;
    if bytes.len() as u64 > limit {
        return Err(format!("is larger than {}", crate::text::size(limit)));
    }
    String::from_utf8(bytes).map_err(|_| "isn't UTF-8".to_owned())
}

/// Parses a data document and places it at the path of its folder.
fn data(text: &str, name: &str) -> Option<Value> {
    let yaml = Path::new(name).extension().is_none_or(|extension| extension != "json");
    let value = document(name, text, yaml).ok()?;
    if !matches!(value, Value::Object(_)) {
        return None;
    }
    let folders = name.rsplit_once('/').map_or("", |(folders, _)| folders);
    let folders = folders.split('/').filter(|part| !part.is_empty());
    Some(folders.rev().fold(value, |value, folder| documents::object(folder, value)))
}

/// Checks that everything is below one of the roots that the manifest claims.
fn check_roots(sources: &Sources, roots: &[String]) -> Result<(), String> {
    let roots: Vec<Vec<&str>> = roots
        .iter()
        .map(|root| root.split('/').filter(|part| !part.is_empty()).collect())
        .collect();
    let package = |text: &str| {
        let line = text.lines().find_map(|line| line.trim_start().strip_prefix("package "))?;
        Some(line.split(['#', ';', ' ', '\t']).find(|word| !word.is_empty())?.to_owned())
    };
    for module in &sources.modules {
        let name = package(&module.text).unwrap_or_default();
        let path: Vec<&str> = name.split('.').collect();
        if !roots.iter().any(|root| path.starts_with(root)) {
            return Err(format!("has the package `{}` outside its roots", escape(&name)));
        }
    }
    for data in &sources.data {
        if !roots.iter().any(|root| lies_below(&data.value, root)) {
            return Err(format!("has data outside its roots, in `{}`", escape(&data.path)));
        }
    }
    Ok(())
}

fn lies_below(value: &Value, root: &[&str]) -> bool {
    let Some((first, rest)) = root.split_first() else { return true };
    match value {
        Value::Object(object) => object.iter().all(|(key, value)| {
            matches!(key, Value::String(key) if key.as_ref() == *first) && lies_below(value, rest)
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    const MODULE: &str = "package p.q\n\ndeny := []\n";

    fn bundle(files: &[(&str, &str)]) -> tempfile::TempPath {
        let mut file = tempfile::Builder::new().suffix(".tar.gz").tempfile().unwrap();
        let gzip = flate2::write::GzEncoder::new(&mut file, flate2::Compression::fast());
        let mut archive = tar::Builder::new(gzip);
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_entry_type(EntryType::Regular);
            // Set directly: the library refuses to write paths that an attacker would use.
            header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            archive.append(&header, text.as_bytes()).unwrap();
        }
        archive.into_inner().unwrap().finish().unwrap();
        file.into_temp_path()
    }

    fn load(files: &[(&str, &str)], limits: SourceLimits) -> Result<Sources, String> {
        let file = bundle(files);
        let path = file.to_str().unwrap();
        assert!(is_bundle(path));
        let mut sources = Sources::default();
        read(path, &mut sources, limits, false).map_err(|error| error.to_string())?;
        Ok(sources)
    }

    #[test]
    fn modules_and_data_are_read_from_a_bundle() {
        let files = [
            ("/.manifest", "{\"revision\": \"1\", \"roots\": [\"p/q\", \"x\"]}"),
            ("./p/m.rego", MODULE),
            ("x/y/data.json", "{\"z\": 1}"),
            ("README", "no"),
        ];
        let sources = load(&files, SourceLimits::default()).unwrap();
        assert!(sources.modules[0].path.ends_with(".tar.gz:/p/m.rego"));
        let data = serde_json::to_string(&sources.data[0].value).unwrap();
        assert_eq!(data, r#"{"x":{"y":{"z":1}}}"#);
    }

    #[test]
    fn invalid_bundles_are_refused() {
        let good = [(".manifest", "{}"), ("m.rego", MODULE)];
        load(&good, SourceLimits::default()).unwrap();
        let with = |extra: (&'static str, &'static str)| {
            load(&[good[0], good[1], extra], SourceLimits::default()).unwrap_err()
        };
        assert!(with(("../x.rego", MODULE)).contains("`../x.rego`"));
        assert!(with(("./m.rego", MODULE)).contains("twice"));
        assert!(with(("data.json", "[]")).contains("isn't an object"));
        assert!(with((".signatures.json", "{}")).contains("is signed"));
        assert!(with(("patch.json", "{}")).contains("is a delta"));
        let refused = |files: &[(&str, &str)]| load(files, SourceLimits::default()).unwrap_err();
        assert!(refused(&good[1..]).contains("no `.manifest`"));
        assert!(refused(&good[..1]).contains("no Rego"));
        assert!(refused(&[(".manifest", "{\"roots\": [\"x\"]}"), good[1]]).contains("outside"));
        assert!(refused(&[(".manifest", "{\"rego_version\": 0}"), good[1]]).contains("v0"));
        assert!(with(("x.REGO", MODULE)).contains("OPA doesn't take for Rego"));
        assert!(with(("policy.wasm", "x")).contains("only Rego"));
        let document = "apiVersion: x/v1\nkind: Policy\nspec: {}\n";
        assert!(with(("more/p.yaml", document)).contains("is a policy document"));
        let versions = "{\"file_rego_versions\": {\"/m.rego\": 0}}";
        assert!(refused(&[(".manifest", versions), good[1]]).contains("v0"));
        let small = SourceLimits { total_bytes: 2000, ..SourceLimits::default() };
        load(&good, small).unwrap_err();
        let short = SourceLimits { file_bytes: 10, ..SourceLimits::default() };
        assert!(load(&good, short).unwrap_err().contains("larger than 10"));
    }
}
