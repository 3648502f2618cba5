//! Policy documents: YAML files with Rego modules in them. Each module is evaluated alone.
//!
//! The server doesn't know their format: the functions of [`PolicyDocuments`] read and check them. A module is
//! parsed as a text with the lines of its document, of which all but its own are empty. So each position in it is
//! the one in the document.

use std::sync::Arc;

use lsp_types::{Position, TextEdit};
use rego::BaseVersion;
use rego_platform::load::LoadOptions;
use rego_platform::{Diagnostic, Error};

use crate::file::{EmbeddedModule, File, Open};
use crate::text::Text;

/// The functions for policy documents.
#[derive(Debug, Clone)]
pub struct PolicyDocuments {
    /// The options for loading a module of a document.
    pub load: LoadOptions,
    /// Returns the modules of a document, by its path and its text.
    pub modules: fn(&str, &str) -> Result<Vec<EmbeddedModule>, Error>,
    /// Returns the findings of a document, by its path and its text, with the options for plain policies.
    pub check: fn(&str, &str, &LoadOptions) -> Vec<Diagnostic>,
}

/// A policy document of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub text: Arc<Text>,
    /// The modules. If the text can't be read, they are those of the last one that could, and broken.
    pub modules: Vec<File>,
    pub open: Option<Open>,
}

impl Document {
    pub fn new(
        content: String,
        found: Result<Vec<EmbeddedModule>, Error>,
        open: Option<Open>,
        rego: BaseVersion,
        known: Option<&Self>,
    ) -> Self {
        let known = known.map(|document| document.modules.as_slice()).unwrap_or_default();
        let modules = match found {
            Ok(found) => (0..)
                .zip(found)
                .map(|(number, module)| {
                    let own = module.masked(&content);
                    let mut file = File::new(own, None, rego, known.get(number));
                    file.embedded = Some(Arc::new(module));
                    file
                })
                .collect(),
            Err(_) => {
                let mut known = known.to_vec();
                for file in &mut known {
                    file.is_broken = true;
                }
                known
            }
        };
        Self { text: Arc::new(Text::new(content)), modules, open }
    }

    /// Returns the module at a line, counted from 0.
    pub fn module_at(&self, line: u32) -> Option<&File> {
        let is_there = |file: &&File| {
            file.embedded.as_ref().is_some_and(|module| module.line_of(line).is_some())
        };
        self.modules.iter().find(is_there)
    }
}

impl EmbeddedModule {
    /// Returns the document with all lines but those of the module empty.
    fn masked(&self, document: &str) -> String {
        let own = self.line..self.line + self.lines;
        let line = |(number, line): (usize, &'_ str)| {
            if own.contains(&number) {
                return line.to_owned();
            }
            line.chars().rev().take_while(|c| *c == '\n').collect()
        };
        document.split_inclusive('\n').enumerate().map(line).collect()
    }

    /// Returns the number of a document's line within the module.
    fn line_of(&self, line: u32) -> Option<u32> {
        let own = usize::try_from(line).ok()?.checked_sub(self.line)?;
        (own < self.lines).then(|| u32::try_from(own).ok())?
    }

    /// Returns a finding in the document with its position in the module's text.
    pub(crate) fn located(&self, finding: &Diagnostic) -> Option<Diagnostic> {
        let mut finding = finding.clone();
        let at = finding.position.as_mut()?;
        let line = self.line_of(at.line.checked_sub(1)?)?;
        at.line = line + 1;
        // `check` counts the columns of such comments without the indentation.
        let is_comment = self.text.lines().nth(usize::try_from(line).ok()?)?.starts_with('#');
        let indent = if is_comment { 0 } else { self.indent.chars().count() };
        at.column = at.column.checked_sub(u32::try_from(indent).ok()?)?;
        Some(finding)
    }

    /// Returns the edit that replaces the module by a text without indentation. `text` is the module in the lines of
    /// its document.
    pub(crate) fn edit(&self, text: &Text, new: &str) -> TextEdit {
        let indented = new.lines().map(|line| match line {
            "" => "\n".to_owned(),
            line => format!("{}{line}\n", self.indent),
        });
        let mut indented: String = indented.collect();
        let start = |line| text.offset(Position::new(u32::try_from(line).unwrap_or(u32::MAX), 0));
        let end = start(self.line + self.lines);
        // A document that ends with the module ends as it did.
        if end == text.content.len() && !text.content.ends_with('\n') {
            indented.truncate(indented.trim_end().len());
        }
        TextEdit::new(text.range(start(self.line), end), indented)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn module(text: &str) -> EmbeddedModule {
        EmbeddedModule {
            line: 1,
            lines: text.lines().count(),
            indent: "  ".to_owned(),
            text: text.to_owned(),
            omitted_rules: String::new(),
        }
    }

    #[test]
    fn positions_in_a_module_are_those_in_its_document() {
        for (document, expected) in [
            ("a: |\n  package p\n\n  x := 1\nb: 1\n", "\n  package p\n\n  x := 1\n\n"),
            ("a: |\r\n  package p\r\n\r\n  x := 1\r\n", "\n  package p\r\n\r\n  x := 1\r\n"),
            ("a: |\n  package p\n\n  x := 1", "\n  package p\n\n  x := 1"),
        ] {
            let own = module("package p\n\nx := 1\n");
            assert_eq!(own.masked(document), expected);
            let file = File::new(expected.to_owned(), None, BaseVersion::V1, None);
            let document = Text::new(document.to_owned());
            let head = file.names.rules.first().unwrap().head;
            assert_eq!(file.text.position(head.0), Position::new(3, 2));
            assert_eq!(own.line_of(3), Some(2));
            assert_eq!((own.line_of(0), own.line_of(4)), (None, None));
            // The edit ends where the module does, in both texts.
            let edit = own.edit(&file.text, "package q\n\ny := 2\n");
            assert_eq!(edit.range.start, Position::new(1, 0));
            let end = document.offset(edit.range.end);
            let ends_with_module = !document.content.ends_with('\n');
            assert_eq!(end, document.offset(Position::new(4, 0)), "{}", document.content);
            let text = "  package q\n\n  y := 2";
            assert_eq!(
                edit.new_text,
                if ends_with_module { text.to_owned() } else { format!("{text}\n") }
            );
        }
    }

    #[test]
    fn a_broken_document_keeps_its_last_modules() {
        let text = "a: |\n  package p\n\n  x := 1\n";
        let found = Ok(vec![module("package p\n\nx := 1\n")]);
        let known = Document::new(text.to_owned(), found, None, BaseVersion::V1, None);
        assert!(known.module_at(0).is_none());
        assert!(!known.module_at(3).unwrap().is_broken);
        let error = rego_platform::Error::policy(Vec::new());
        let open = Some((1, "".into()));
        let broken =
            Document::new(format!("{text} b"), Err(error), open, BaseVersion::V1, Some(&known));
        let file = broken.module_at(3).unwrap();
        assert!(file.is_broken && file.names.rules.len() == 1);
    }
}
