//! Documents and the standards' own schemas, which `schemas/README.md` lists.
//!
//! A schema is unpacked and compiled when the first document needs it. Formats are checked as the vendor's
//! client does, for which URLs and regular expressions are those of Go.

use std::error::Error;
use std::io::Read as _;
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use jsonschema::{Retrieve, Uri, ValidationError, Validator};
use rego::internal::builtins::{GoRegex, is_absolute_url};
use serde_json::Value;

/// The longest message about a document, in characters.
const MAX_MESSAGE: usize = 300;

macro_rules! files {
    ($($uri:literal: $file:literal,)+) => {
        &[$(($uri, include_bytes!(concat!("../schemas/", $file, ".json.gz")))),+]
    };
}

/// The schemas, by the addresses under which they refer to each other.
const FILES: &[(&str, &[u8])] = files! {
    "asyncapi-2.6": "asyncapi-2.6",
    "asyncapi-3.0": "asyncapi-3.0",
    "csaf-2.0": "csaf-2.0",
    "cyclonedx-1.6": "cyclonedx-1.6",
    "http://cyclonedx.org/schema/jsf-0.82.SNAPSHOT.schema.json": "cyclonedx-jsf-0.82",
    "http://cyclonedx.org/schema/spdx.SNAPSHOT.schema.json": "cyclonedx-spdx",
    "https://www.first.org/cvss/cvss-v2.0.json": "cvss-2.0",
    "https://www.first.org/cvss/cvss-v3.0.json": "cvss-3.0",
    "https://www.first.org/cvss/cvss-v3.1.json": "cvss-3.1",
    "https://www.first.org/cvss/cvss-v4.0.json": "cvss-4.0",
    "openapi-2.0": "openapi-2.0",
    "openapi-3.0": "openapi-3.0",
    "openapi-3.1": "openapi-3.1",
    "openapi-3.2": "openapi-3.2",
};

/// Reads a document to be checked.
pub(crate) fn document(bytes: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

/// A schema that is compiled once.
pub(crate) struct Schema {
    file: &'static str,
    /// Changes the schema before it is compiled.
    derive: fn(&mut Value),
    compiled: OnceLock<Result<Validator, String>>,
}

impl Schema {
    /// Creates the schema of a file.
    pub const fn new(file: &'static str) -> Self {
        Self::derived(file, |_| {})
    }

    /// Creates a schema that differs from the one of a file.
    pub const fn derived(file: &'static str, derive: fn(&mut Value)) -> Self {
        Self { file, derive, compiled: OnceLock::new() }
    }

    /// Checks a document. Violations that are let through don't count.
    pub fn check(
        &self,
        document: &Value,
        is_let_through: fn(&ValidationError<'_>) -> bool,
    ) -> Result<(), String> {
        let validator =
            self.compiled.get_or_init(|| self.compile()).as_ref().map_err(Clone::clone)?;
        if validator.is_valid(document) {
            return Ok(());
        }
        let Some(error) = validator.iter_errors(document).find(|error| !is_let_through(error))
        else {
            return Ok(());
        };
        let message = error.to_string();
        let end = message.char_indices().nth(MAX_MESSAGE).map_or(message.len(), |(end, _)| end);
        let message = message.get(..end).unwrap_or_default();
        Err(format!("schema violation at `{}`: {message}", error.instance_path()))
    }

    fn compile(&self) -> Result<Validator, String> {
        let mut schema = unpacked(self.file).map_err(|error| error.to_string())?;
        (self.derive)(&mut schema);
        let is_reference = |text: &str| is_absolute_url(text).is_some() && !text.contains('\\');
        let options = jsonschema::options()
            .with_retriever(Files)
            .with_format("uri", |text: &str| is_absolute_url(text) == Some(true))
            .with_format("uri-reference", is_reference)
            .with_format("iri-reference", is_reference)
            .with_format("regex", |text: &str| GoRegex::new(text).is_ok())
            .with_format("idn-email", |_: &str| true);
        options.build(&schema).map_err(|error| error.to_string())
    }
}

struct Files;

impl Retrieve for Files {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn Error + Send + Sync>> {
        unpacked(uri.as_str())
    }
}

fn unpacked(uri: &str) -> Result<Value, Box<dyn Error + Send + Sync>> {
    let (_, packed) =
        FILES.iter().find(|(own, _)| *own == uri).ok_or_else(|| format!("unknown schema {uri}"))?;
    let mut text = Vec::new();
    GzDecoder::new(*packed).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
