//! Kinds of inputs, and the values that policies get for them.
//!
//! The kind is the one that is given for all inputs, that of the material which the input is, or else the
//! one that accepts its content. What a kind accepts belongs to `rego_platform_materials`, verifying
//! signatures to `attestation`.

use std::path::Path;

use rego_platform::Error;
use rego_platform::rego::Value;
use rego_platform_client::text::escape;
use rego_platform_materials::{Content, File, Kind, Name, RUN_PREDICATE};

use super::attestation;
use super::material::{ATTESTATION, Material};
use super::metadata::{Facts, Metadata};
use super::parser::{Parsed, Parser};
use crate::digest;
use crate::provenance::Signatures;
use crate::setting;

/// The kind whose inputs may be folders.
pub(crate) const IMAGE: &str = "CONTAINER_IMAGE";

/// Returns the kind with a name.
///
/// # Errors
/// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) for an unknown one.
pub(crate) fn named(name: &str) -> Result<&'static Kind, Error> {
    Kind::named(name).ok_or_else(|| {
        let known: Vec<&str> = Kind::all().iter().map(|kind| kind.name).collect();
        Error::configuration(format!("unknown kind `{}`", escape(name)))
            .with_hint(format!("use one of {}", known.join(", ")))
    })
}

/// The way to read an input.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected {
    /// By parser: no policy is for a kind.
    Any,
    /// As a kind.
    Of(&'static Kind),
    /// As the only kind that accepts the file.
    Detected,
}

/// The kinds of the inputs of a run.
#[derive(Debug, Clone)]
pub(crate) struct InputKinds {
    /// The kind of all inputs, if the caller set it.
    pub given: Option<&'static Kind>,
    /// The materials of groups that have a name and a kind.
    pub materials: Vec<(Material, &'static Kind)>,
    /// `true` if a policy is for a kind.
    pub is_needed: bool,
    pub metadata: Metadata,
    pub name_annotation: String,
    /// The verification of the signatures of attestations.
    pub signatures: Option<Signatures>,
}

/// The content of an input to read as its kind.
#[derive(Debug)]
pub(crate) struct RawMaterial {
    kind: &'static Kind,
    /// The name of its file, without folders.
    name: String,
    bytes: Vec<u8>,
}

/// An input that was read as its kind.
#[derive(Debug)]
pub(crate) struct ReadMaterial {
    pub facts: Facts,
    pub parsed: Parsed,
}

impl InputKinds {
    /// Returns the way to read the input of a file.
    pub fn expected(&self, file: &str) -> Expected {
        let name = self.metadata.material(&self.name_annotation, Some(file));
        let of_material = || {
            let mut all = self.materials.iter();
            all.find(|(material, _)| material.is(name)).map(|(_, kind)| *kind)
        };
        match self.given.or_else(of_material) {
            Some(kind) => Expected::Of(kind),
            None if self.is_needed => Expected::Detected,
            None => Expected::Any,
        }
    }

    /// Returns the kind of the input of a file, if it is known before reading.
    pub fn known(&self, file: Option<&str>) -> Option<&'static str> {
        let kind = match file.map(|file| self.expected(file)) {
            Some(Expected::Of(kind)) => Some(kind),
            _ => self.given,
        };
        kind.map(|kind| kind.name)
    }

    /// Reads a file as the only kind that accepts it.
    pub fn detect(&self, file: &File<'_>) -> Result<(&'static Kind, ReadMaterial), Error> {
        let mut found = Kind::detect(file);
        if let Some(kind) = Kind::named(ATTESTATION)
            && found.is_empty()
            && is_statement(file)
        {
            found.push(kind);
        }
        match found[..] {
            [kind] => Ok((kind, read(kind, file, self.signatures.as_ref())?)),
            [] => Err(Error::invalid_argument("unknown kind of the input: no kind accepts it")
                .by_setting(setting::KINDS)),
            _ => {
                let names: Vec<&str> = found.iter().map(|kind| kind.name).collect();
                let message =
                    format!("ambiguous kind of the input: {} accept it", names.join(", "));
                Err(Error::invalid_argument(message).by_setting(setting::KINDS))
            }
        }
    }
}

/// Reads a file as a kind.
pub(crate) fn read(
    kind: &Kind,
    file: &File<'_>,
    signatures: Option<&Signatures>,
) -> Result<ReadMaterial, Error> {
    let refused = |reason: String| {
        Error::invalid_argument(format!("kind mismatch: expected {}: {reason}", kind.name))
            .by_setting(setting::KINDS)
    };
    let mut parsed = None;
    if kind.name == ATTESTATION {
        let text =
            std::str::from_utf8(file.bytes).map_err(|_| refused("invalid UTF-8".to_owned()))?;
        let value =
            Parser::Json.value(text, file.name, 1).map_err(|error| refused(error.to_string()))?;
        let missing = || {
            Error::invalid_argument("no signers for the attestation").by_setting(setting::SIGNERS)
        };
        let own = attestation::open(&value, signatures.ok_or_else(missing)?)?;
        if attestation::is_bare(&value) {
            return match own.predicate_type.as_deref() {
                Some(RUN_PREDICATE) => Ok(ReadMaterial { facts: Facts::statement(), parsed: own }),
                other => {
                    let other = other.unwrap_or_default();
                    Err(refused(format!("unexpected predicateType `{}`", escape(other))))
                }
            };
        }
        parsed = Some(own);
    }
    let material = kind.read(file).map_err(|error| refused(error.to_string()))?;
    let value = match material.content {
        Content::Input(value) => value,
        Content::NotJson(reason) => {
            return Err(Error::invalid_argument(format!("content isn't JSON: {reason}")));
        }
    };
    let canonical =
        material.canonical.map(|bytes| digest::sha256(bytes).replacen("sha256:", "", 1));
    let facts = Facts {
        annotations: material.annotations,
        name: match material.name {
            Name::File => Some(file.name.to_owned()),
            Name::Content(name) => Some(name),
            Name::Absent => None,
        },
        size: material.size,
        digest: material.digest.or(canonical),
        content: material.text,
        is_statement: false,
    };
    // A statement's value is the one that was verified.
    Ok(ReadMaterial { facts, parsed: parsed.unwrap_or_else(|| Parsed::of(value)) })
}

/// Returns `true` for the statement of one of the vendor's attestations, without an envelope.
fn is_statement(file: &File<'_>) -> bool {
    let value = std::str::from_utf8(file.bytes).ok().and_then(|text| Value::from_json(text).ok());
    value.is_some_and(|value| {
        attestation::is_bare(&value)
            && value.get_str("predicateType").and_then(Value::as_str) == Some(RUN_PREDICATE)
    })
}

impl RawMaterial {
    /// Creates the content of a file with a name.
    pub fn new(kind: &'static Kind, file: &str, bytes: Vec<u8>) -> Self {
        Self { kind, name: base_name(file).to_owned(), bytes }
    }

    /// Reads the content of anything but an attestation.
    pub fn read(&self) -> Result<ReadMaterial, Error> {
        read(self.kind, &File::new(&self.name, &self.bytes), None)
    }
}

/// Returns a file's name without its folders.
pub(super) fn base_name(file: &str) -> &str {
    Path::new(file).file_name().and_then(|name| name.to_str()).unwrap_or(file)
}
