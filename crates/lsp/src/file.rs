//! Policies: files, or modules of policy documents.

use std::sync::Arc;

use rego::BaseVersion;

use crate::names::Names;
use crate::text::Text;

/// The editor's version of an open text, and its spelling of the address.
pub(crate) type Open = (i32, Arc<str>);

/// A policy file, or a module of a policy document.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub text: Arc<Text>,
    /// The declarations and references of the last text that could be parsed.
    pub names: Arc<Names>,
    /// `true` if the text can't be parsed.
    pub is_broken: bool,
    /// The last text that could be parsed.
    pub last: Option<Arc<Text>>,
    /// `None` if it isn't open.
    pub open: Option<Open>,
    /// The position in a policy document, for modules of documents.
    pub embedded: Option<Arc<EmbeddedModule>>,
}

impl File {
    pub fn new(
        content: String,
        open: Option<Open>,
        rego: BaseVersion,
        known: Option<&Self>,
    ) -> Self {
        let text = Arc::new(Text::new(content));
        let names = Names::of(&text, rego);
        let is_broken = names.is_none();
        let last = if is_broken {
            known.and_then(|file| file.last.clone())
        } else {
            Some(Arc::clone(&text))
        };
        let known = || known.map(|file| Arc::clone(&file.names)).unwrap_or_default();
        let names = names.unwrap_or_else(known);
        Self { text, names, is_broken, last, open, embedded: None }
    }

    /// Returns a text as it is loaded: with the rules that a module of a document omits.
    pub fn loaded(&self, mut text: String) -> String {
        text.extend(self.embedded.iter().map(|module| module.omitted_rules.as_str()));
        text
    }
}

/// A Rego module embedded in a policy document as a block of lines.
#[derive(Debug, Clone)]
pub struct EmbeddedModule {
    /// The number of its first line, from 0.
    pub line: usize,
    /// The number of its lines.
    pub lines: usize,
    /// The white space that its lines begin with in the document.
    pub indent: String,
    /// The text without the indentation.
    pub text: String,
    /// The default definitions of rules that the module uses, as Rego.
    pub omitted_rules: String,
}
