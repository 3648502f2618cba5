//! Parsers of inputs, and their selection by file name.

use std::path::Path;

use rego_platform::rego::Value;
use rego_platform::sources::document;
use rego_platform::{Diagnostic, Error};
#[cfg(feature = "formats")]
use rego_platform_formats::{Format, refused_file, refused_name};

use crate::report::model::{Signer, Subject};

/// The extensions of files that are JSON.
const JSON: [&str; 12] = [
    "json",
    "jsonl",
    "ndjson",
    "sarif",
    "avsc",
    "geojson",
    "har",
    "ipynb",
    "jsonld",
    "tfstate",
    "topojson",
    "webmanifest",
];

/// The names of other files that are JSON.
const JSON_FILES: [&str; 5] =
    ["composer.lock", "deno.lock", "flake.lock", "package.resolved", "pipfile.lock"];

/// The maximum number of values in a JSON document, as for YAML. A value of two bytes takes far more memory
/// once parsed.
pub(super) const MAX_VALUES: usize = 10_000_000;

/// A parsed input, with the subjects of an attestation.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub value: Value,
    pub subjects: Vec<Subject>,
    pub predicate_type: Option<String>,
    /// Who signed it; `None` if that wasn't checked.
    pub signers: Option<Vec<Signer>>,
}

impl Parsed {
    /// Creates an input other than an attestation.
    pub fn of(value: Value) -> Self {
        Self { value, subjects: Vec::new(), predicate_type: None, signers: None }
    }
}

/// A parser of inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Parser {
    /// JSON, and several values one after the other (JSON Lines)
    Json,
    /// YAML, of one or several documents
    Yaml,
    /// Another format, whose text is one document
    #[cfg(feature = "formats")]
    Format(Format),
}

impl Parser {
    /// Returns the parser of a file. Only the name decides.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        if JSON_FILES.contains(&name.as_str()) {
            return Some(Self::Json);
        }
        if name == "pubspec.lock" {
            return Some(Self::Yaml);
        }
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        if JSON.contains(&extension) {
            return Some(Self::Json);
        }
        match extension {
            "yaml" | "yml" | "cff" => Some(Self::Yaml),
            #[cfg(feature = "formats")]
            _ => Format::of(path).map(Self::Format),
            #[cfg(not(feature = "formats"))]
            _ => None,
        }
    }

    /// Returns the parser of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "json" => Some(Self::Json),
            "yaml" => Some(Self::Yaml),
            #[cfg(feature = "formats")]
            _ => Format::named(name).map(Self::Format),
            #[cfg(not(feature = "formats"))]
            _ => None,
        }
    }

    /// Returns the name of the parser.
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
            #[cfg(feature = "formats")]
            Self::Format(format) => format.name(),
        }
    }

    /// Returns the names of all parsers.
    pub fn names() -> Vec<&'static str> {
        let all = vec!["json", "yaml"];
        #[cfg(feature = "formats")]
        let all = [all, Format::all().map(Format::name).collect()].concat();
        all
    }

    /// Returns `true` if a text may hold several documents: JSON and YAML may, another format is one.
    pub(super) fn has_documents(self) -> bool {
        matches!(self, Self::Json | Self::Yaml)
    }

    /// Parses the value of a text that begins at a line of its stream.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](rego_platform::ErrorKind::InvalidArgument) with the position of the problem.
    pub(super) fn value(self, text: &str, name: &str, line: usize) -> Result<Value, Error> {
        self.read(name, text).map_err(|found| {
            let message = match &found.position {
                Some(at) => {
                    let line = at.line as usize + line - 1;
                    format!("{name}:{line}:{}: {}", at.column, found.message)
                }
                None => format!("{name}: {}", found.message),
            };
            let error = Error::invalid_argument(message);
            match found.hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        })
    }

    /// Reads a document.
    ///
    /// # Errors
    /// Returns the problem with its position.
    #[doc(hidden)]
    #[allow(clippy::result_large_err, reason = "an error ends the run: its size costs nothing")]
    pub fn read(self, name: &str, text: &str) -> Result<Value, Diagnostic> {
        match self {
            Self::Json => document(name, text, false),
            Self::Yaml => document(name, text, true),
            #[cfg(feature = "formats")]
            Self::Format(format) => format.read(text).map_err(|problem| {
                let at = rego_platform::sources::place(name, text, problem.line, problem.column);
                Diagnostic::error("data-error", problem.message).at(at)
            }),
        }
    }
}

/// Returns the hint for converting a file that only conftest can parse.
#[doc(hidden)]
pub fn conversion_of(path: &Path) -> Option<&'static str> {
    #[cfg(feature = "formats")]
    return refused_file(path);
    #[cfg(not(feature = "formats"))]
    return {
        let _ = path;
        None
    };
}

/// Returns the hint for converting files for a parser that only conftest has.
#[doc(hidden)]
pub fn conversion_for(parser: &str) -> Option<&'static str> {
    #[cfg(feature = "formats")]
    return refused_name(parser);
    #[cfg(not(feature = "formats"))]
    return {
        let _ = parser;
        None
    };
}
