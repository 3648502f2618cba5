//! The manifest of a bundle: `.manifest`, a JSON document.
//!
//! Owns reading it as OPA does, the roots, and the version of Rego of each module. OPA's JSON
//! ignores the case of keys, so `Roots` are roots.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::rego::Value;
use crate::rego::internal::builtins::PathGlob;
use crate::rego::value::Object;
use crate::sources::{RegoVersion, json};
use crate::text::escape;

/// The manifest of a bundle.
#[derive(Default)]
pub(super) struct Manifest {
    revision: String,
    /// Without slashes at their ends; the whole of `data` if the manifest names none.
    pub roots: Vec<String>,
    /// The version of modules for which there is no other.
    version: Option<RegoVersion>,
    /// Versions of the modules whose path matches, in the order in which OPA tries them.
    file_versions: Vec<(String, PathGlob, RegoVersion)>,
    metadata: Option<Value>,
}

/// The members of an object, in their order.
struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

/// The keys that OPA knows.
const KEYS: [&str; 6] =
    ["revision", "roots", "wasm", "rego_version", "file_rego_versions", "metadata"];

/// Returns a key as OPA's JSON compares it: two letters beyond ASCII have an ASCII one as their
/// other case.
fn folded(key: &str) -> String {
    let fold = |c| match c {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        c => c.to_ascii_lowercase(),
    };
    key.chars().map(fold).collect()
}

fn parsed<'t, T: Deserialize<'t>>(text: &'t RawValue, key: &str, what: &str) -> Result<T, String> {
    serde_json::from_str(text.get()).map_err(|_| format!("in which `{key}` isn't {what}"))
}

fn version(number: i64, of: &str) -> Result<RegoVersion, String> {
    match number {
        0 => Ok(RegoVersion::V0),
        1 => Ok(RegoVersion::V1),
        2 => Ok(RegoVersion::V2),
        _ => Err(format!("with the unknown version of Rego {number}{of}")),
    }
}

impl Manifest {
    /// The manifest of a bundle without one.
    pub fn absent() -> Self {
        Self { roots: vec![String::new()], ..Self::default() }
    }

    /// Reads a manifest. An error ends the sentence "has a `.manifest` ...".
    pub fn parse(text: &str) -> Result<Self, String> {
        let broken = |error: serde_json::Error| format!("that can't be read: {error}");
        let members: Option<Members> = serde_json::from_str(text).map_err(broken)?;
        let mut manifest = Self::absent();
        let mut seen: Vec<&str> = Vec::new();
        for (name, raw) in members.map(|members| members.0).unwrap_or_default() {
            let Some(key) = KEYS.into_iter().find(|key| folded(&name) == **key) else { continue };
            if seen.contains(&key) {
                return Err(format!(
                    "with `{key}` twice: OPA takes `{}` for it too",
                    escape(&name)
                ));
            }
            seen.push(key);
            manifest.take(key, &raw)?;
        }
        manifest.check_roots()?;
        Ok(manifest)
    }

    fn take(&mut self, key: &str, raw: &RawValue) -> Result<(), String> {
        match key {
            "revision" => {
                self.revision = parsed::<Option<_>>(raw, key, "a string")?.unwrap_or_default();
            }
            "roots" => {
                let what = "an array of strings";
                if let Some(roots) = parsed::<Option<Vec<Option<String>>>>(raw, key, what)? {
                    let roots = roots.into_iter().map(Option::unwrap_or_default);
                    self.roots = roots.map(|root| root.trim_matches('/').to_owned()).collect();
                }
            }
            "wasm" => {
                let modules: Option<Vec<serde::de::IgnoredAny>> = parsed(raw, key, "an array")?;
                if modules.is_some_and(|modules| !modules.is_empty()) {
                    return Err("that names compiled policies: only Rego is evaluated".to_owned());
                }
            }
            "rego_version" => {
                if let Some(number) = parsed::<Option<i64>>(raw, key, "a version, such as 1")? {
                    self.version = Some(version(number, "")?);
                }
            }
            "file_rego_versions" => {
                let what = "an object of versions";
                let members: Option<Members> = parsed(raw, key, what)?;
                for (pattern, raw) in members.map(|members| members.0).unwrap_or_default() {
                    let number = parsed::<Option<i64>>(&raw, key, what)?.unwrap_or_default();
                    let shown = escape(&pattern);
                    let version = version(number, &format!(" for `{shown}`"))?;
                    if self.file_versions.iter().any(|(known, ..)| *known == pattern) {
                        return Err(format!("with two versions for `{shown}`"));
                    }
                    let glob = PathGlob::new(&pattern)
                        .map_err(|error| format!("with the pattern `{shown}`: {error}"))?;
                    self.file_versions.push((pattern, glob, version));
                }
                self.file_versions.sort_by(|a, b| a.0.cmp(&b.0));
            }
            _ => {
                let metadata: Option<Members> = parsed(raw, key, "an object")?;
                if metadata.is_some_and(|members| !members.0.is_empty()) {
                    let value = json::read(raw.get()).map_err(|wrong| {
                        format!("in which `{key}` can't be read: {}", wrong.message)
                    })?;
                    self.metadata = Some(value);
                }
            }
        }
        Ok(())
    }

    fn check_roots(&self) -> Result<(), String> {
        for (index, root) in self.roots.iter().enumerate() {
            // OPA compares it as it is written, and looks data up with its escapes resolved.
            if root.contains('%') {
                let root = escape(root);
                return Err(format!("with the root `{root}`, whose `%` OPA reads in two ways"));
            }
            let others = self.roots.get(index + 1..).unwrap_or_default();
            if let Some(other) = others.iter().find(|other| overlap(root, other)) {
                let (root, other) = (super::shown_root(root), super::shown_root(other));
                return Err(format!("with overlapping roots: {root} and {other}"));
            }
        }
        Ok(())
    }

    /// Returns the version of Rego of the module at `path`, which is the path as the archive has
    /// it, or with a slash at its beginning in a folder.
    pub fn version_of(&self, path: &str) -> Option<RegoVersion> {
        let matching = self.file_versions.iter().find(|(_, glob, _)| glob.matches(path));
        matching.map(|(.., version)| *version).or(self.version)
    }

    /// Returns `true` if everything is within the roots.
    pub fn has_whole_root(&self) -> bool {
        self.roots.iter().any(String::is_empty)
    }

    /// Returns `true` if one of the roots contains a path.
    pub fn contains(&self, path: &[&str]) -> bool {
        self.roots.iter().any(|root| contains(root, path))
    }

    /// Returns the manifest as policies see it.
    pub fn value(&self) -> Value {
        let number = |version: RegoVersion| Value::from(version.number());
        let mut members = vec![
            (Value::from("revision"), Value::from(self.revision.as_str())),
            (Value::from("roots"), self.roots.iter().map(|root| Value::from(&**root)).collect()),
        ];
        members.extend(self.version.map(|version| (Value::from("rego_version"), number(version))));
        if !self.file_versions.is_empty() {
            let versions: Object = self
                .file_versions
                .iter()
                .map(|(pattern, _, version)| (Value::from(&**pattern), number(*version)))
                .collect();
            members.push((Value::from("file_rego_versions"), Value::from(versions)));
        }
        members.extend(self.metadata.clone().map(|metadata| (Value::from("metadata"), metadata)));
        Value::from(members.into_iter().collect::<Object>())
    }
}

/// Returns `true` if a root contains a path; the empty root contains every path.
fn contains(root: &str, path: &[&str]) -> bool {
    root.is_empty() || {
        let parts: Vec<&str> = root.split('/').collect();
        path.starts_with(&parts)
    }
}

/// Returns `true` if one of two roots contains the other.
pub(super) fn overlap(one: &str, other: &str) -> bool {
    let within = |root: &str, path: &str| contains(root, &path.split('/').collect::<Vec<_>>());
    within(one, other) || within(other, one)
}
