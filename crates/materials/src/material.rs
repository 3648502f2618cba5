//! The result of reading a file as a kind.

use std::collections::BTreeMap;
use std::fmt;

use rego::Value;
use rego::value::JsonStyle;

use crate::file::File;
use crate::reference;

/// The content of a material as a policy gets it.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// The policy's `input`, an object, before `args` and metadata are added.
    Input(Value),
    /// The file is of the kind, but isn't JSON: evaluating a policy is an error. Holds the reason.
    NotJson(String),
}

/// The name in a material's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// The file's name.
    File,
    /// A name from the content, such as an image's repository.
    Content(String),
    /// No name.
    Absent,
}

/// A file that was read as a kind.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Material {
    /// The content for policies.
    pub content: Content,
    /// Annotations beyond type, name and size. Keys lack the prefix `<product>.material.`.
    pub annotations: BTreeMap<&'static str, Value>,
    /// The name in the metadata.
    pub name: Name,
    /// The size in bytes; `None` if there is no annotation for it.
    pub size: Option<usize>,
    /// The bytes that count for digest and size, if they aren't the file's.
    pub canonical: Option<&'static [u8]>,
    /// The digest in hexadecimal digits, if it isn't the one of the bytes.
    pub digest: Option<String>,
    /// The member `content` of the metadata, in base64.
    pub text: Option<String>,
}

impl Material {
    /// Creates a material of a file with an input.
    pub(crate) fn new(file: &File<'_>, input: Value) -> Self {
        Self::with(file, Content::Input(input))
    }

    /// Creates a material of a file with content that may not be JSON.
    pub(crate) fn with(file: &File<'_>, content: Content) -> Self {
        Self {
            content,
            annotations: BTreeMap::new(),
            name: Name::File,
            size: Some(file.bytes.len()),
            canonical: None,
            digest: None,
            text: None,
        }
    }

    /// Adds an annotation.
    #[must_use]
    pub(crate) fn annotate(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.annotations.insert(key, value.into());
        self
    }

    /// Adds an annotation unless the text is empty.
    #[must_use]
    pub(crate) fn annotate_text(self, key: &'static str, text: &str) -> Self {
        if text.is_empty() { self } else { self.annotate(key, text) }
    }

    /// Adds the annotations of tools, each a name and a version.
    #[must_use]
    pub(crate) fn with_tools(self, tools: &[(String, String)]) -> Self {
        let Some((name, version)) = tools.first() else { return self };
        let all = tools.iter().map(|(name, version)| {
            Value::from(if version.is_empty() { name.clone() } else { format!("{name}@{version}") })
        });
        let all = Value::from(all.collect::<Vec<_>>());
        let mut style = JsonStyle::default();
        style.escape_html = true;
        let all = all.to_json_styled(style);
        self.annotate("tools", all)
            .annotate_text("tool.name", name)
            .annotate_text("tool.version", version)
    }

    /// Adds the annotations of an SBOM's main component. A container's name loses its tag.
    #[must_use]
    pub(crate) fn with_main_component(self, name: &str, kind: &str, version: &str) -> Self {
        let repository = Some(name).filter(|_| kind == "container").and_then(reference::repository);
        self.annotate("sbom.main_component.name", repository.unwrap_or_else(|| name.to_owned()))
            .annotate("sbom.main_component.type", kind)
            .annotate("sbom.main_component.version", version)
    }

    /// Leaves the annotation `size` out.
    #[must_use]
    pub(crate) fn without_size(mut self) -> Self {
        self.size = None;
        self
    }
}

/// The error for a file that isn't of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotOfKind(String);

impl NotOfKind {
    /// Creates an error from its reason.
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl From<String> for NotOfKind {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

impl fmt::Display for NotOfKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotOfKind {}
