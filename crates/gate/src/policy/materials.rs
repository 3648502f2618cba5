//! Selection of the policies for an input, by kind and material.

use std::borrow::Cow;

use rego_platform::Error;
use rego_platform_client::text::escape;
use rego_platform_materials::Kind;

use super::load::{Check, Gate};
use crate::input::{
    ATTESTATION, DocumentOptions, Expected, InputKinds, InputSource, Metadata, kinds, missing,
};
use crate::report::model::Run;
use crate::setting;

impl Gate {
    /// Returns the name of the file's input as a material, if a group has materials.
    fn material<'a>(&self, metadata: &'a Metadata, file: Option<&'a str>) -> Option<&'a str> {
        if self.materials.is_empty() {
            return None;
        }
        metadata.material(&self.product.name_annotation(), file)
    }

    /// Returns the kinds of the inputs of a run.
    ///
    /// # Errors
    /// [`ErrorKind::Configuration`](rego_platform::ErrorKind::Configuration) for a material of an unknown kind.
    pub(crate) fn input_kinds(&self, options: &DocumentOptions) -> Result<InputKinds, Error> {
        let named = self.materials.iter().filter(|material| material.name.is_some());
        let kinds = named.filter_map(|material| {
            let kind = material.kind.as_deref()?;
            Some(kinds::named(kind).map(|kind| (material.clone(), kind)))
        });
        // Inputs that are combined are none of a kind.
        let is_needed = !options.combine && self.checks.iter().any(|check| check.kind.is_some());
        let attestation = options.attestation.as_ref().filter(|_| is_needed);
        Ok(InputKinds {
            given: self.kind.or_else(|| attestation.and_then(|_| Kind::named(ATTESTATION))),
            materials: kinds.collect::<Result<_, _>>()?,
            is_needed,
            metadata: options.metadata.clone(),
            name_annotation: self.product.name_annotation(),
            signatures: options.signatures.as_ref().or(attestation).cloned(),
        })
    }

    /// Refuses signers if no input can be an attestation.
    pub(crate) fn refuse_signers(
        sources: &[InputSource],
        kinds: &InputKinds,
        options: &DocumentOptions,
    ) -> Result<(), Error> {
        let is_other = |source: &InputSource| match source.file().map(|file| kinds.expected(&file))
        {
            Some(Expected::Of(kind)) => kind.name != ATTESTATION,
            Some(Expected::Any) => true,
            Some(Expected::Detected) | None => false,
        };
        if options.signatures.is_none() || sources.is_empty() || !sources.iter().all(is_other) {
            return Ok(());
        }
        let message = "signers without an attestation";
        Err(Error::configuration(message).by_setting(setting::ATTESTATIONS))
    }

    /// Returns `true` if inputs have kinds, so that every extension is accepted.
    #[doc(hidden)]
    pub fn has_kinds(&self) -> bool {
        self.kind.is_some()
            || !self.materials.is_empty()
            || self.checks.iter().any(|check| check.kind.is_some())
    }

    /// Returns `true` if a folder, which is an image's layout, may be an input or the named material.
    #[doc(hidden)]
    pub fn takes_folder(&self, name: Option<&str>) -> bool {
        let named = || {
            let mut all = self.materials.iter().filter(|material| material.name.is_some());
            all.find(|material| material.is(name))?.kind.as_deref()
        };
        self.kind.map(|kind| kind.name).or_else(named) == Some(kinds::IMAGE)
    }

    /// Returns `true` if a policy is for images.
    #[doc(hidden)]
    pub fn is_for_images(&self) -> bool {
        self.checks.iter().any(|check| check.kind.as_deref() == Some(kinds::IMAGE))
    }

    /// Returns `true` if inputs may be attestations, by the given kind or else the kinds of policies and
    /// materials.
    #[doc(hidden)]
    pub fn takes_attestations(&self) -> bool {
        if let Some(kind) = self.kind {
            return kind.name == ATTESTATION;
        }
        let of_policies = self.checks.iter().map(|check| &check.kind);
        let mut all = of_policies.chain(self.materials.iter().map(|material| &material.kind));
        all.any(|kind| kind.as_deref() == Some(ATTESTATION))
    }

    /// Returns `true` if a policy is evaluated for an input: the kind matches, if known, and so does the
    /// material.
    pub(crate) fn is_for(
        &self,
        check: &Check,
        metadata: &Metadata,
        file: Option<&str>,
        kind: Option<&str>,
    ) -> bool {
        let kind = kind.zip(check.kind.as_deref());
        let name = self.material(metadata, file);
        kind.is_none_or(|(of_input, of_policy)| of_input == of_policy)
            && check.material.as_ref().is_none_or(|material| material.is(name))
    }

    /// Refuses inputs without a required material, and an input that is two materials of different kinds.
    /// Each input is given by its file, if it has one.
    pub(crate) fn refuse_materials(
        &self,
        files: &[Option<Cow<'_, str>>],
        metadata: &Metadata,
    ) -> Result<(), Error> {
        let invalid_material =
            |message: String| Error::configuration(message).by_setting(setting::MATERIALS);
        let names = || files.iter().map(|file| self.material(metadata, file.as_deref()));
        if let Some(message) = missing(&self.materials, &names().collect::<Vec<_>>()) {
            return Err(invalid_material(message));
        }
        for input in names().flatten() {
            let named = self.materials.iter().filter(|material| material.name.is_some());
            let kinds = named.filter(|material| material.is(Some(input)));
            let mut kinds = kinds.filter_map(|material| material.kind.as_deref());
            let first = kinds.next();
            if let Some((first, other)) = first.zip(kinds.find(|kind| first != Some(kind))) {
                let (input, first, other) = (escape(input), escape(first), escape(other));
                return Err(invalid_material(format!(
                    "conflicting types of the material `{input}`: `{first}` and `{other}`"
                )));
            }
        }
        Ok(())
    }

    /// Returns the policies without a matching input, with the reasons, if known before reading.
    pub(crate) fn unasked(
        &self,
        files: &[Option<Cow<'_, str>>],
        kinds: &InputKinds,
    ) -> Vec<(String, String)> {
        let is_unasked = |check: &&Check| {
            !files.iter().any(|file| {
                let kind = kinds.known(file.as_deref());
                self.is_for(check, &kinds.metadata, file.as_deref(), kind)
            })
        };
        let reason = |check: &Check| {
            let name = check.material.as_ref().and_then(|material| material.name.as_deref());
            let reason = match (name, check.kind.as_deref()) {
                (Some(name), _) => format!("no input for the material `{}`", escape(name)),
                (None, kind) => {
                    format!("no input of the kind `{}`", escape(kind.unwrap_or_default()))
                }
            };
            (check.package.name.clone(), reason)
        };
        self.checks.iter().filter(is_unasked).map(reason).collect()
    }
}

/// Records the policies without a matching input.
pub(crate) fn note_unasked(unasked: Vec<(String, String)>, run: &mut Run) {
    for (policy, reason) in unasked {
        run.notes.push(format!("the policy `{}` wasn't evaluated: {reason}", escape(&policy)));
        let mut packages = run.inventory.packages.iter_mut();
        if let Some(package) = packages.find(|package| package.name == policy) {
            (package.asked, package.reason) = (false, Some(reason));
        }
    }
}
