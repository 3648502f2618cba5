//! Metadata of an input for policies, in the field `<product>_metadata`.
//!
//! Owns its members. Everything else that is put into an input belongs to `prepare`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rego_platform::rego::Value;
use rego_platform::rego::value::Object;
use rego_platform::{Error, Product};
use rego_platform_client::text::{data_reference, escape};

use crate::report::model::Signer;

/// Metadata of inputs besides their names and digests.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Metadata {
    /// `project_name`.
    pub project: Option<String>,
    /// `project_version_name`.
    pub version: Option<String>,
    /// Members of `annotations`.
    pub annotations: BTreeMap<String, String>,
    /// The names of inputs as materials, by the names of their files.
    pub materials: BTreeMap<String, String>,
}

/// The metadata of an input as a material of a kind.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The keys lack the prefix `<product>.material.`.
    pub annotations: BTreeMap<&'static str, Value>,
    /// The name; `None` if the material has none.
    pub name: Option<String>,
    pub size: Option<usize>,
    /// The digest in hexadecimal digits, if it differs from the file's.
    pub digest: Option<String>,
    /// The member `content`, in base64.
    pub content: Option<String>,
    /// `true` for the statement of an attestation, which has no metadata.
    pub is_statement: bool,
}

impl Facts {
    /// Creates the facts of an attestation's statement.
    pub fn statement() -> Self {
        Self { is_statement: true, ..Self::none() }
    }

    /// Creates empty facts.
    pub fn none() -> Self {
        Self {
            annotations: BTreeMap::new(),
            name: None,
            size: None,
            digest: None,
            content: None,
            is_statement: false,
        }
    }
}

/// The origin of an input.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Origin<'a> {
    /// The name of its file; `None` for all inputs combined, and for none.
    pub file: Option<&'a str>,
    /// The digest of its bytes.
    pub digest: Option<&'a str>,
    /// The kind, if that is known.
    pub kind: Option<&'a str>,
    /// Who signed it; `None` if that wasn't checked.
    pub signers: Option<&'a [Signer]>,
    /// The metadata as a material of its kind.
    pub facts: Option<&'a Facts>,
}

/// The metadata that a policy reads.
#[derive(Debug, Clone)]
pub(crate) struct MetadataReader {
    pub product: Product,
    /// `true` for a policy document: the metadata never comes from the input itself.
    pub document: bool,
    /// The declared inputs of a policy document, if any.
    pub declared: Option<Arc<[String]>>,
    /// `true` if the policy refers to the field.
    pub names: bool,
    /// The default kind of inputs.
    pub kind: Option<String>,
}

impl MetadataReader {
    /// Returns the kind of an input.
    pub fn kind<'a>(&'a self, origin: Origin<'a>) -> Option<&'a str> {
        origin.kind.or(self.kind.as_deref())
    }

    /// Returns `true` if the policy gets annotations.
    pub fn is_annotated(&self) -> bool {
        self.document || self.names
    }
}

impl Metadata {
    /// Returns the material name of an input: the configured name, or else the file's name.
    pub(crate) fn material<'a>(&'a self, own: &str, file: Option<&'a str>) -> Option<&'a str> {
        let file = file?;
        let given = self.materials.get(file).or_else(|| self.annotations.get(own));
        given.map(String::as_str).or_else(|| Path::new(file).file_name()?.to_str())
    }

    /// Returns the metadata of an input for a policy.
    pub(crate) fn members(&self, reader: &MetadataReader, origin: Origin<'_>) -> Object {
        let mut members = Object::new();
        let project = [("project_name", &self.project), ("project_version_name", &self.version)];
        for (name, text) in project {
            if let Some(text) = text {
                members.insert(Value::from(name), Value::from(text.as_str()));
            }
        }
        if origin.facts.is_some_and(|facts| facts.is_statement) {
            return members;
        }
        let mut annotations: BTreeMap<String, Value> = BTreeMap::new();
        let (kind, name) = (reader.product.kind_annotation(), reader.product.name_annotation());
        if reader.document || origin.facts.is_some() && reader.names {
            let file = || origin.file.and_then(|file| Path::new(file).file_name()?.to_str());
            let own = origin.facts.map_or_else(file, |facts| facts.name.as_deref());
            let digest = origin.digest.and_then(|digest| digest.strip_prefix("sha256:"));
            let digest = origin.facts.and_then(|facts| facts.digest.as_deref()).or(digest);
            let digest =
                digest.map(|digest| Value::from(Object::from([("sha256".into(), digest.into())])));
            let content = origin.facts.and_then(|facts| facts.content.as_deref());
            let all = [
                ("name", own.map(Value::from)),
                ("digest", digest),
                ("content", content.map(Value::from)),
            ];
            members.extend(
                all.into_iter().filter_map(|(name, value)| Some((Value::from(name), value?))),
            );
            annotations
                .extend(self.material(&name, origin.file).map(|of| (name.clone(), of.into())));
        }
        if reader.is_annotated() {
            let given = self.annotations.iter();
            annotations.extend(given.map(|(name, text)| (name.clone(), text.as_str().into())));
            let material = origin.file.and_then(|file| self.materials.get(file));
            annotations.extend(material.map(|of| (name, of.as_str().into())));
            annotations.extend(reader.kind(origin).map(|of| (kind, of.into())));
            if let Some(facts) = origin.facts {
                let key = |key: &str| reader.product.material_annotation(key);
                annotations.extend(facts.size.map(|size| (key("size"), size.to_string().into())));
                let own = facts.annotations.iter();
                annotations.extend(own.map(|(name, value)| (key(name), value.clone())));
            }
        }
        if !annotations.is_empty() {
            let all = annotations.into_iter();
            let all: Object = all.map(|(name, value)| (Value::from(name), value)).collect();
            members.insert(Value::from("annotations"), Value::from(all));
        }
        members
    }
}

/// The member of a signer with the claims of its certificate.
pub(crate) const CLAIMS: &str = "claims";

/// Returns signers as policies see them: with the members that reports have.
pub(crate) fn signers_value(signers: &[Signer]) -> Value {
    Value::from_serialize(signers).unwrap_or(Value::Null)
}

/// Puts the metadata into an input. That of a policy document's input is replaced; otherwise, the input's
/// own has to agree: no verdict is about two projects.
pub(super) fn put(
    fields: &mut Object,
    members: Object,
    reader: &MetadataReader,
) -> Result<(), Error> {
    let name = reader.product.metadata_field();
    let key = Value::from(name.as_str());
    let own = fields.remove(&key).filter(|_| !reader.document);
    if !members.is_empty() || own.is_some() {
        let all = own.map_or(Ok(members.clone()), |own| merged(own, members, &[name]))?;
        fields.insert(key, Value::from(all));
    }
    Ok(())
}

/// Adds members to the object at `path` of the input.
fn merged(own: Value, members: Object, path: &[String]) -> Result<Object, Error> {
    let conflict = |message| Error::invalid_argument(message);
    let shown = |path: &[String]| data_reference(path).replacen("data.", "input.", 1);
    let Value::Object(own) = own else {
        return Err(conflict(format!("unexpected type of `{}`: expected an object", shown(path)))
            .with_hint("rename the member of the input"));
    };
    let mut own = Object::clone(&own);
    for (key, value) in members {
        let path: Vec<String> =
            path.iter().cloned().chain(key.as_str().map(str::to_owned)).collect();
        let value = match (own.remove(&key), value) {
            (Some(there), Value::Object(more)) => {
                Value::from(merged(there, Object::clone(&more), &path)?)
            }
            (Some(there), value) if there != value => {
                let given = escape(value.as_str().unwrap_or_default());
                let message = format!(
                    "conflicting `{}`: given `{given}`, but the input has a different value",
                    shown(&path)
                );
                return Err(conflict(message).with_hint("leave the value out"));
            }
            (_, value) => value,
        };
        own.insert(key, value);
    }
    Ok(own)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn put_into(
        text: &str,
        document: bool,
        given: &Metadata,
        origin: Origin<'_>,
    ) -> Result<String, Error> {
        let mut value = Value::from_json(text).unwrap();
        let kind = Some("SARIF".to_owned()).filter(|_| !given.annotations.is_empty());
        let reader = MetadataReader {
            product: Product::default(),
            document,
            declared: None,
            names: true,
            kind,
        };
        let members = given.members(&reader, origin);
        put(value.as_object_mut().unwrap(), members, &reader)?;
        Ok(serde_json::to_string(&value).unwrap())
    }

    #[test]
    fn an_input_of_another_project_is_refused() {
        let given = Metadata { project: Some("shop".to_owned()), ..Metadata::default() };
        let finish = |text: &str, document| put_into(text, document, &given, Origin::default());
        let own = r#"{"platform_metadata":{"project_name":"shop","project_version_name":"1"}}"#;
        assert_eq!(finish(own, false).unwrap(), own);
        let added = r#"{"platform_metadata":{"project_name":"shop"}}"#;
        assert_eq!(finish("{}", false).unwrap(), added);
        for other in [own.replace("shop", "other"), own.replace("\"shop\"", "null")] {
            let error = finish(&other, false).unwrap_err();
            assert!(
                error.to_string().contains("conflicting `input.platform_metadata.p"),
                "{error}"
            );
            // A policy document sees only what is given: nothing of the other project's.
            assert_eq!(finish(&other, true).unwrap(), added);
        }
        for other in ["\"shop\"", "null", "[]"] {
            finish(&format!(r#"{{"platform_metadata": {other}}}"#), false).unwrap_err();
        }
    }

    #[test]
    fn a_policy_document_knows_its_input() {
        let annotations = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
        let given = Metadata { annotations, ..Metadata::default() };
        let origin =
            Origin { file: Some("a/b.json"), digest: Some("sha256:aa"), ..Origin::default() };
        let own = r#"{"platform_metadata": {"name": "x", "digest": 1, "y": 1}}"#;
        let none = Metadata::default();
        for (given, origin, expected) in [
            (
                &none,
                origin,
                r#"{"platform_metadata":{"annotations":{"platform.material.name":"b.json"},"digest":{"sha256":"aa"},"name":"b.json"}}"#,
            ),
            (
                &given,
                origin,
                r#"{"platform_metadata":{"annotations":{"platform.material.name":"b.json","platform.material.type":"SARIF","team":"a"},"digest":{"sha256":"aa"},"name":"b.json"}}"#,
            ),
            (&none, Origin::default(), "{}"),
        ] {
            assert_eq!(put_into(own, true, given, origin).unwrap(), expected);
        }
        let other = r#"{"platform_metadata": {"annotations": {"team": "b"}}}"#;
        let error = put_into(other, false, &given, origin).unwrap_err().to_string();
        assert!(
            error.contains("conflicting `input.platform_metadata.annotations.team`: given `a`"),
            "{error}"
        );
    }
}
