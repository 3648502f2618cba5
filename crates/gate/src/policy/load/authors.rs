//! Modules of policy documents for their authors: as Rego for tests and queries, and as embedded text for
//! formatting.

use std::collections::BTreeMap;

use rego_platform::load::LoadOptions;
use rego_platform::load::roles::PackageOrigin;
use rego_platform::rego::BaseVersion;
use rego_platform::rego::syntax::tree::FileId;
use rego_platform::rego::syntax::{ParseOptions, parse_module};
use rego_platform::sources::{Fetched, Gathered, ModuleSource, Sources};
use rego_platform::{Error, Product};
use rego_platform_client::text::escape;

use super::document::{Document, split_off_documents};
use crate::policy::documents::{DocumentFile, Elsewhere, embedded_texts};
use crate::policy::vulnerability;

/// Replaces policy documents among the data by their modules as Rego. Their positions are those in the
/// document where a module stands there as it is.
///
/// # Errors
/// For documents that can't be read, and for two modules of one package, which each document would have alone.
#[doc(hidden)]
pub fn with_modules(
    mut gathered: Gathered,
    fetched: &[Fetched],
    product: &Product,
) -> Result<Sources, Error> {
    let elsewhere = Elsewhere { http: None, fetched };
    let documents = split_off_documents(&mut gathered, None, elsewhere)?;
    documents.iter().try_for_each(|document| document.refuse_versions(product))?;
    let mut own: Vec<ModuleSource> = Vec::new();
    for entry in documents.iter().flat_map(Document::entries) {
        let module = entry.module.whole()?;
        if !own.contains(&module) {
            own.push(module);
        }
    }
    refuse_same_package(&own)?;
    let mut sources = gathered.sources()?;
    sources.modules.extend(own);
    Ok(sources)
}

fn refuse_same_package(modules: &[ModuleSource]) -> Result<(), Error> {
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for module in modules {
        let options = ParseOptions::version(BaseVersion::V1);
        let Ok(parsed) = parse_module(FileId(0), &module.text, &options) else { continue };
        let package = parsed.package.to_string();
        if let Some(other) = known.insert(package.clone(), &module.path) {
            let (package, one) = (escape(&package), escape(&module.path));
            let message =
                format!("duplicate `{package}` of two policies: `{}` and `{one}`", escape(other));
            let hint = "load one of the policies, or rename one package";
            return Err(Error::configuration(message).with_hint(hint));
        }
    }
    Ok(())
}

/// Returns the options for loading modules of policy documents.
#[doc(hidden)]
#[must_use]
pub fn document_options(load: &LoadOptions) -> LoadOptions {
    vulnerability::options(load, PackageOrigin::Document)
}

/// Rego that is embedded in a document as a block of lines.
#[derive(Debug)]
#[doc(hidden)]
pub struct EmbeddedText {
    /// The number of its first line, from 0.
    pub line: usize,
    /// The number of its lines.
    pub lines: usize,
    /// The indentation of the lines in the document.
    pub indent: String,
    /// The text without the indentation.
    pub text: String,
}

impl EmbeddedText {
    /// Returns the texts in a policy document or a group; `None` if the file is neither.
    ///
    /// # Errors
    /// For a document that can't be read.
    pub fn all(path: &str, text: &str) -> Result<Option<Vec<Self>>, Error> {
        let Some(found) = embedded_texts(DocumentFile { path, text })? else { return Ok(None) };
        let own = found.into_iter().filter_map(|found| Self::of(text, found.line, &found.value));
        Ok(Some(own.collect()))
    }

    /// Returns a text below a line of the document, if the document contains it verbatim.
    fn of(document: &str, line: usize, text: &str) -> Option<Self> {
        let own: Vec<&str> = document.lines().skip(line).take(text.lines().count()).collect();
        let first = own.iter().find(|line| !line.trim().is_empty())?;
        let indent = first.get(..first.len() - first.trim_start().len())?.to_owned();
        let is_same = |(written, line): (&&str, &str)| match written.strip_prefix(indent.as_str()) {
            Some(rest) => rest == line,
            None => written.trim().is_empty() && line.is_empty(),
        };
        let is_whole = own.len() == text.lines().count();
        (is_whole && own.iter().zip(text.lines()).all(is_same)).then(|| Self {
            line,
            lines: own.len(),
            indent,
            text: format!("{}\n", text.trim_end_matches('\n')),
        })
    }
}
