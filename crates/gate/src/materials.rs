//! Which inputs the policies of a gate are for: those of their kind, and of the material that a group
//! attaches them to.

use std::borrow::Cow;

use rego_platform::{Error, ErrorKind};
use rego_platform_client::text::escape;

use super::load::{Check, Gate};
use super::metadata::Metadata;
use super::model::Run;
use super::policy_documents::missing;
use crate::setting;

impl Gate {
    /// Returns the name of the file's input as a material, if a group has materials.
    fn material<'a>(&self, metadata: &'a Metadata, file: Option<&'a str>) -> Option<&'a str> {
        if self.materials.is_empty() {
            return None;
        }
        metadata.material(&self.product.name_annotation(), file)
    }

    /// Returns the kind of an input, if that is known: the one that is given for all, or else that of the
    /// material that it is.
    pub(super) fn kind_of(&self, metadata: &Metadata, file: Option<&str>) -> Option<&str> {
        let name = self.material(metadata, file);
        let own = || {
            let mut named = self.materials.iter().filter(|material| material.name.is_some());
            named.find(|material| material.is(name))?.kind.as_deref()
        };
        self.kind.as_deref().or_else(own)
    }

    /// Returns `true` if a policy is evaluated for an input: it is of the policy's kind, as far as that is
    /// known, and it is the material that a group attaches the policy to.
    pub(super) fn is_for(&self, check: &Check, metadata: &Metadata, file: Option<&str>) -> bool {
        let kind = self.kind_of(metadata, file).zip(check.kind.as_deref());
        let name = self.material(metadata, file);
        kind.is_none_or(|(of_input, of_policy)| of_input == of_policy)
            && check.material.as_ref().is_none_or(|material| material.is(name))
    }

    /// Refuses inputs among which a material is missing that a group needs, or of which one is two
    /// materials of different kinds. Each input is given by its file, if it has one.
    pub(super) fn refuse_materials(
        &self,
        files: &[Option<Cow<'_, str>>],
        metadata: &Metadata,
    ) -> Result<(), Error> {
        let wrong = |message: String| {
            Error::new(ErrorKind::Configuration, message).by_setting(setting::MATERIALS)
        };
        let names = || files.iter().map(|file| self.material(metadata, file.as_deref()));
        if let Some(message) = missing(&self.materials, &names().collect::<Vec<_>>()) {
            return Err(wrong(message));
        }
        for input in names().flatten() {
            let named = self.materials.iter().filter(|material| material.name.is_some());
            let kinds = named.filter(|material| material.is(Some(input)));
            let mut kinds = kinds.filter_map(|material| material.kind.as_deref());
            let first = kinds.next();
            if let Some((first, other)) = first.zip(kinds.find(|kind| first != Some(kind))) {
                let (input, first, other) = (escape(input), escape(first), escape(other));
                return Err(wrong(format!(
                    "the input `{input}` is the material of two types, `{first}` and `{other}`"
                )));
            }
        }
        Ok(())
    }

    /// Returns the policies that no input is for, with the reasons.
    pub(super) fn unasked(
        &self,
        files: &[Option<Cow<'_, str>>],
        metadata: &Metadata,
    ) -> Vec<(String, String)> {
        let is_unasked = |check: &&Check| {
            !files.iter().any(|file| self.is_for(check, metadata, file.as_deref()))
        };
        let reason = |check: &Check| {
            let name = check.material.as_ref().and_then(|material| material.name.as_deref());
            let reason = match (name, check.kind.as_deref()) {
                (Some(name), _) => format!("no input is the material `{}`", escape(name)),
                (None, kind) => {
                    format!("no input is of the kind `{}`", escape(kind.unwrap_or_default()))
                }
            };
            (check.package.name.clone(), reason)
        };
        self.checks.iter().filter(is_unasked).map(reason).collect()
    }
}

/// Records the policies that no input is for.
pub(super) fn note_unasked(unasked: Vec<(String, String)>, run: &mut Run) {
    for (policy, reason) in unasked {
        run.notes.push(format!("the policy `{}` wasn't evaluated: {reason}", escape(&policy)));
        let mut packages = run.inventory.packages.iter_mut();
        if let Some(package) = packages.find(|package| package.name == policy) {
            (package.asked, package.reason) = (false, Some(reason));
        }
    }
}
