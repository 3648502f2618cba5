//! `GITLEAKS_JSON`, `TRUFFLEHOG_JSON` and `YELP_DETECT_SECRETS_BASELINE`: reports of secrets.

use rego::Value;
use rego::value::Object;

use super::{missing, scans, typed};
use crate::file::File;
use crate::json::{self, Document, Json};
use crate::material::{Material, NotOfKind};
use crate::types::Types;

const GITLEAKS: &str = include_str!("../types/gitleaks.txt");

/// Reads a list of Gitleaks' findings, which may be empty.
pub(crate) fn read_gitleaks(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, GITLEAKS, "[Finding]")?;
    let all = document.root().elements().unwrap_or_default();
    match all.first() {
        Some(first) if first.text_at(&["Fingerprint"]).is_empty() => {
            Err(missing("[0].Fingerprint"))
        }
        _ => Ok(material.annotate("tool.name", "gitleaks")),
    }
}

/// Reads a baseline of detect-secrets.
pub(crate) fn read_detect_secrets(file: &File<'_>) -> Result<Material, NotOfKind> {
    let (document, material) = typed(file, scans::TYPES, "DetectSecrets")?;
    let root = document.root();
    let version = root.text_at(&["version"]);
    let is_there = |name: &&str| root.member(name).is_some_and(|value| !value.is_null());
    if let Some(name) = ["plugins_used", "results"].iter().find(|name| !is_there(name)) {
        return Err(missing(name));
    }
    if version.is_empty() {
        return Err(missing("version"));
    }
    Ok(material.annotate("tool.name", "detect-secrets").annotate("tool.version", version))
}

/// The members of a `TruffleHog` finding with the values that they have if they are missing.
const FINDING: [(&str, Default); 9] = [
    ("SourceID", Default::Zero),
    ("SourceType", Default::Zero),
    ("SourceName", Default::Empty),
    ("DetectorType", Default::Zero),
    ("DetectorName", Default::Empty),
    ("DecoderName", Default::Empty),
    ("Verified", Default::False),
    ("Raw", Default::Empty),
    ("Redacted", Default::Empty),
];

#[derive(Debug, Clone, Copy)]
enum Default {
    Zero,
    Empty,
    False,
}

impl Default {
    fn value(self) -> Value {
        match self {
            Self::Zero => Value::from(0),
            Self::Empty => Value::from(""),
            Self::False => Value::Bool(false),
        }
    }
}

/// Reads `TruffleHog`'s findings: JSON lines, or one array. A scan without findings writes an empty file.
pub(crate) fn read_trufflehog(file: &File<'_>) -> Result<Material, NotOfKind> {
    let findings = findings(file.bytes)?;
    let name =
        |finding: &Value| finding.get_str("DetectorName").and_then(Value::as_str) == Some("");
    if findings.first().is_some_and(name) {
        return Err(missing("DetectorName"));
    }
    let mut material = Material::new(file, json::input(Value::from(findings)));
    if file.bytes.is_empty() {
        const NONE: &[u8] = b"[]";
        (material.canonical, material.size) = (Some(NONE), Some(NONE.len()));
    }
    Ok(material.annotate("tool.name", "trufflehog"))
}

fn findings(bytes: &[u8]) -> Result<Vec<Value>, String> {
    let types = Types::new(scans::TYPES);
    let converted = |document: &Document<'_>| -> Result<Vec<Value>, String> {
        let root = document.root();
        let all = if document.value.as_array().is_some() {
            root.elements().unwrap_or_default()
        } else {
            vec![root]
        };
        let one = |one: Json<'_>| types.check(one, "TruffleHog").map(|()| finding(one));
        all.into_iter().map(one).collect()
    };
    if bytes.trim_ascii_start().starts_with(b"[") {
        return converted(&json::only(bytes)?);
    }
    let mut rest = bytes;
    let mut all = Vec::new();
    while !rest.trim_ascii().is_empty() {
        let (value, after) = json::first_and_rest(rest)?;
        if value.as_array().is_some() {
            return Err("unexpected type of a line: expected an object, found an array".to_owned());
        }
        let line = rest.get(..rest.len() - after.len()).unwrap_or_default();
        all.extend(converted(&json::only(line)?)?);
        rest = after;
    }
    Ok(all)
}

/// Returns a finding with exactly the members that policies may rely on.
fn finding(found: Json<'_>) -> Value {
    let members = found.members().unwrap_or_default();
    let given = |name: &str| {
        let mut all = members.iter().rev();
        let own = all.find(|(own, value)| json::is_same(own, name) && !value.is_null());
        own.map(|(_, value)| *value)
    };
    let data = given("SourceMetadata").and_then(|source| source.member("Data"));
    let data = data.map(|data| (Value::from("Data"), data.value())).into_iter().collect::<Object>();
    let mut all = Object::from([(Value::from("SourceMetadata"), Value::from(data))]);
    for (name, default) in FINDING {
        all.insert(Value::from(name), given(name).map_or_else(|| default.value(), Json::value));
    }
    Value::from(all)
}
