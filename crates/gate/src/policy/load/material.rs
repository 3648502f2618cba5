//! The files for `check`, shared with a gate over the same files.

use rego_platform::evaluate::Policies;
use rego_platform::http::Http;
use rego_platform::load::LoadOptions;
use rego_platform::load::roles::PackageOrigin;
use rego_platform::rego::Source;
use rego_platform::sources::{Fetched, Gathered, ReadOptions, Sources};
use rego_platform::{Diagnostic, Error};
use rego_platform_client::text::escape;

use super::document::{Document, split_off_documents};
use super::{Gate, GateOptions, gather};
use crate::policy::documents::PolicyEntry;
use crate::policy::vulnerability;
use crate::setting;

/// The files for `check`.
#[derive(Debug)]
#[doc(hidden)]
pub struct Material {
    /// Rego and data that are loaded together, including bundles.
    pub sources: Sources,
    /// Each module of a policy document, on its own.
    pub documents: Vec<Sources>,
    /// The files of a gate over the same paths.
    gathered: Gathered,
    policy_documents: Vec<Document>,
    fetched: Vec<Fetched>,
    /// The policies loaded without an error.
    loaded: Loaded,
}

/// Loaded policies, with their origin and the warnings that a gate notes.
#[derive(Debug, Default)]
pub(super) struct Loaded(Vec<(PackageOrigin, Policies, Vec<Diagnostic>)>);

impl Loaded {
    /// Returns the policies of these sources. Within their origin, the first module tells them apart.
    pub(super) fn find(
        &self,
        sources: &Sources,
        origin: PackageOrigin,
    ) -> Option<(Policies, Vec<Diagnostic>)> {
        let first = sources.modules.first()?;
        let is_wanted = |(own, policies, _): &&(PackageOrigin, Policies, _)| {
            let mut texts = policies.program().sources().iter();
            let is_first = |text: &Source| {
                text.path() == first.path && text.all().as_ref() == first.text.as_str()
            };
            *own == origin && texts.any(|(_, text)| is_first(text))
        };
        self.0.iter().find(is_wanted).map(|(_, policies, found)| (policies.clone(), found.clone()))
    }
}

impl Material {
    /// Reads files, folders and bundles once. A gate shares the parsed data.
    ///
    /// # Errors
    /// For files that can't be read.
    pub fn read(paths: &[String], how: ReadOptions<'_>, http: Option<Http>) -> Result<Self, Error> {
        let options = GateOptions {
            bundles: how.bundles.to_vec(),
            skip_verify: how.skip_verify,
            bundle_keys: how.bundle_keys.cloned(),
            http,
            fetched: how.fetched.to_vec(),
            ignore: how.ignore.cloned().unwrap_or_default(),
            ..Default::default()
        };
        let gathered = gather(paths, how.policies, &options)?;
        for account in gathered.accounts.iter().rev().take(how.policies.len()) {
            if account.taken == 0 && !account.left_out.is_empty() {
                let message = format!("no policies in `{}`", escape(&account.argument));
                return Err(Error::configuration(message).by_setting(setting::DATA));
            }
        }
        Self::of(gathered, options)
    }

    /// Reads a policy document from this text instead of the disk.
    ///
    /// # Errors
    /// For a document that can't be read.
    pub fn of_document(path: &str, text: &str) -> Result<Self, Error> {
        let mut gathered = Gathered::default();
        gathered.policy_documents.insert(path.to_owned(), text.to_owned());
        Self::of(gathered, GateOptions::default())
    }

    fn of(mut gathered: Gathered, options: GateOptions) -> Result<Self, Error> {
        let policy_documents = split_off_documents(&mut gathered, None, options.elsewhere())?;
        let alone = |entry: &PolicyEntry| Ok(Sources::new([entry.module.source()?.clone()], []));
        let entries = policy_documents.iter().flat_map(Document::entries);
        let documents = entries.map(alone).collect::<Result<_, Error>>()?;
        let sources = gathered.clone().sources()?;
        let GateOptions { fetched, .. } = options;
        let loaded = Loaded::default();
        Ok(Self { sources, documents, gathered, policy_documents, fetched, loaded })
    }

    /// Returns every finding about the files. With `network`, a built-in that contacts a host is no error.
    pub fn check(&mut self, load: &LoadOptions, network: bool) -> Vec<Diagnostic> {
        let mut check = |sources: &Sources, origin| {
            let options = vulnerability::options(load, origin);
            let (policies, found) = Policies::load_with_findings(sources, options, network);
            if let Some(policies) = policies {
                let warnings = policies.gate_warnings(found.clone());
                self.loaded.0.push((origin, policies, warnings));
            }
            found
        };
        let mut found = check(&self.sources, PackageOrigin::Plain);
        for document in &self.documents {
            // The gate decides whether it has a verdict: parts that it lacks are supplied there.
            let own = check(document, PackageOrigin::Document);
            found.extend(own.into_iter().filter(|finding| finding.code != "no-verdict"));
        }
        found
    }

    /// Returns the sources, and their gate or its error. A gate without anything to evaluate, such as of a
    /// library, isn't refused. What [`check`](Self::check) has loaded isn't loaded again.
    pub fn into_gate(self, load: LoadOptions) -> (Sources, Result<Gate, Error>) {
        let options = GateOptions { load, fetched: self.fetched, ..GateOptions::default() };
        let gate = Gate::of(self.gathered, &self.policy_documents, &options, self.loaded);
        (self.sources, gate)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;
    use rego_platform::rego::Value;
    use rego_platform::rego::value::Shared;

    #[test]
    fn a_check_and_its_gate_share_the_values_of_data() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("d.json"), r#"{"a": {"b": 1}}"#).unwrap();
        std::fs::write(folder.path().join("p.rego"), "package p\n\ndeny := data.a.b\n").unwrap();
        let paths = [folder.path().to_string_lossy().into_owned()];
        let material = Material::read(&paths, ReadOptions::default(), None).unwrap();
        match (&*material.sources.data, &*material.gathered.files.data) {
            ([own], [gates]) => match (&own.value, &gates.value) {
                (Value::Object(own), Value::Object(gates)) => assert!(Shared::ptr_eq(own, gates)),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
        assert!(material.into_gate(LoadOptions::default()).1.is_ok());
    }
}
