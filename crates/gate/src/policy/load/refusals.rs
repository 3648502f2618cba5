//! Checks before an evaluation: refuses options and files without an effect, or with two roles.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use rego_platform::check::{INPUT_FILE, SIGNERS};
use rego_platform::evaluate::Policies;
use rego_platform::load::position;
use rego_platform::{Diagnostic, Error, Level};
use rego_platform_client::text::{data_reference, escape, nearest};

use super::document::Document;
use super::{Check, FileId, Gate, GateOptions};
use crate::input::{ARGUMENTS, InputSource, InputValues, Metadata};
use crate::policy::documents::{PolicyDocument, PolicyInputs};
use crate::report::model::Inventory;
use crate::setting;

/// The maximum number of packages whose reasons a message states.
const MAX_REASONS: usize = 5;

impl Gate {
    /// Returns the warnings that refuse the policies, unless they are allowed. That a rule is unused is only
    /// noted.
    pub(super) fn refusing(&self) -> impl Iterator<Item = &Diagnostic> {
        self.warnings.iter().filter(|warning| warning.code != "unused-rule")
    }

    /// Returns `true` if a finding is an error that refuses the policies.
    #[doc(hidden)]
    pub fn refuses(&self, finding: &Diagnostic) -> bool {
        self.refusing().any(|own| own.code == finding.code && own.position == finding.position)
    }

    /// Refuses policies with warnings, unless these are allowed.
    pub(super) fn refuse_warnings(&self, allowed: bool) -> Result<(), Error> {
        if allowed {
            return Ok(());
        }
        let mut refused: Vec<_> = self.refusing().cloned().collect();
        for warning in &mut refused {
            warning.level = Level::Error;
        }
        match refused.pop() {
            None => Ok(()),
            // The option is named once.
            Some(last) => {
                let setting = setting::WARNINGS.of(last.code);
                refused.push(last.by_setting(setting));
                Err(Error::policy(refused))
            }
        }
    }

    /// Returns the error for a gate without policies, with the reason why each isn't evaluated.
    pub(super) fn nothing_to_evaluate(&self, kind: Option<&str>) -> Error {
        let reasons: Vec<String> = self
            .packages
            .iter()
            .filter_map(|package| Some((&package.name, package.reason.as_ref()?)))
            .take(MAX_REASONS)
            .map(|(name, reason)| format!("`{}`: {reason}", escape(name)))
            .collect();
        let hint = match (kind, reasons.is_empty()) {
            (_, false) => reasons.join("; "),
            (Some(kind), true) => format!("load a policy for the kind `{}`", escape(kind)),
            (None, true) => "name Rego files, bundles or policy documents".to_owned(),
        };
        Error::configuration("no policies to evaluate").with_hint(hint)
    }

    /// Refuses an input that is also data of the policies or a file of waivers: its author could change the
    /// verdict.
    pub(crate) fn refuse_own_judge(
        &self,
        sources: &[InputSource],
        given: &Inventory,
    ) -> Result<(), Error> {
        let waiving = given.waivers.iter().chain(&given.vex);
        let waiving: HashSet<FileId> =
            waiving.filter_map(|source| FileId::of(Path::new(&source.path)).ok()).collect();
        for source in sources {
            let InputSource::File(path) = source else { continue };
            let Ok(file) = FileId::of(path) else { continue };
            let refused = |what: &str| {
                Error::configuration(format!(
                    "the input `{}` {what}",
                    escape(&path.to_string_lossy())
                ))
            };
            if self.data.contains(&file) {
                return Err(refused("is also loaded as data").by_setting(setting::IGNORED));
            }
            if waiving.contains(&file) {
                return Err(refused("is also a file of waivers").by_setting(setting::IGNORED));
            }
        }
        Ok(())
    }

    /// Refuses annotations without an effect.
    pub(crate) fn refuse_unread_annotations(&self, given: &Metadata) -> Result<(), Error> {
        let is_annotated = |check: &Check| check.context.metadata.is_annotated();
        match given.annotations.keys().next() {
            Some(name) if !self.checks.iter().any(is_annotated) => {
                let (name, field) = (escape(name), self.product.metadata_field());
                Err(Error::configuration(format!("unused annotation: `{name}`"))
                    .with_hint(format!("read it as `input.{field}.annotations` in a policy")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a run without an input if a verdict may depend on it.
    #[doc(hidden)]
    pub fn refuse_no_input(&self) -> Result<(), Error> {
        if !self.reads_input() {
            return Ok(());
        }
        let message = "no input for policies that use `input`";
        Err(Error::configuration(message).by_setting(setting::WITHOUT_INPUT))
    }

    /// Refuses an argument without an effect: no policy document declares it and no policy can read it.
    pub(super) fn refuse_unread(
        &self,
        documents: &[Document],
        given: &BTreeMap<String, String>,
    ) -> Result<(), Error> {
        // Only a group gives arguments to its policies.
        let own = || self.checks.iter().filter(|check| check.material.is_none());
        let is_read = |name: &str| {
            documents.iter().flat_map(Document::declared).any(|declared| declared == name)
                || own().any(|check| check.reads.arguments.has(name))
                || self.parameters.has(name)
        };
        let Some(name) = given.keys().find(|name| !is_read(name)) else { return Ok(()) };
        let read = own().flat_map(|check| &check.reads.arguments.keys).map(String::as_str);
        let parameters = || self.parameters.names.iter().map(String::as_str);
        let known = documents.iter().flat_map(Document::declared).chain(read).chain(parameters());
        let error = Error::configuration(format!("unused argument: `{}`", escape(name)));
        let all = parameters().collect::<Vec<_>>().join(", ");
        Err(match nearest(name, known) {
            Some(near) => {
                error.by_setting(setting::INPUT_VALUES).with_hint(format!("did you mean `{near}`?"))
            }
            None if all.is_empty() => error.by_setting(setting::INPUT_VALUES),
            None => error.with_hint(format!("the parameters of the rules are {all}")),
        })
    }

    /// Notes values of the input that no policy reads, probably because of a typo.
    pub(super) fn note_unread(&mut self, values: &InputValues) {
        let fields = || self.checks.iter().map(|check| &check.reads.fields);
        let is_unread = |name: &&str| !fields().any(|fields| fields.has(name));
        let unread: BTreeSet<&str> = values.fields().filter(is_unread).collect();
        let note = |name: &str| {
            let known = fields().flat_map(|fields| &fields.keys).map(String::as_str);
            let near = nearest(name, known).map(|near| format!("; did you mean `{near}`?"));
            format!("unused value: no policy reads `{}`{}", escape(name), near.unwrap_or_default())
        };
        let notes: Vec<String> = unread.into_iter().map(note).collect();
        self.notes.extend(notes);
    }

    /// Refuses duplicate policy names: a waiver for one policy would cover both.
    pub(super) fn refuse_same_name(
        &self,
        document: &PolicyDocument,
        name: &str,
    ) -> Result<(), Error> {
        let Some(other) = self.policies.iter().find(|policy| policy.name == name) else {
            return Ok(());
        };
        let other = other.files.first().map_or("", String::as_str);
        Err(Error::configuration(format!(
            "duplicate policy name in `{}` and `{}`: `{}`",
            escape(other),
            escape(&document.path),
            escape(name)
        ))
        .with_hint("rename one of the policies, so that a waiver can't cover both"))
    }
}

/// Refuses an input for one run without an effect.
pub(super) fn refuse_untaken(documents: &[Document], inputs: &PolicyInputs) -> Result<(), Error> {
    let takes = |name: &str, policy: Option<&str>| {
        documents.iter().any(|document| document.takes(inputs, name, policy))
    };
    let Some(untaken) = inputs.unused(takes) else { return Ok(()) };
    let message = format!("unused input: `{}`", escape(&untaken));
    Err(Error::configuration(message)
        .with_hint("declare the input in `spec.inputs` of the policy or its group"))
}

/// Refuses rules in the place of what the gate supplies for each input: nothing would evaluate them.
pub(super) fn refuse_replaced(policies: &Policies) -> Result<(), Error> {
    let program = policies.program();
    let places = [data_reference(&INPUT_FILE), data_reference(&SIGNERS)];
    let is_below = |own: &str, place: &str| {
        own.strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    for rule in program.rules() {
        let replaced = |place: &&String| is_below(&rule.path, place) || is_below(place, &rule.path);
        let Some(place) = places.iter().find(replaced) else { continue };
        let message = format!("rule in the place of `{place}`, which the gate supplies");
        let mut found =
            Diagnostic::error("supplied-data", message).with_hint("rename the package or the rule");
        if let Some(at) = rule.definitions.first() {
            found = found.at(position(program.sources(), *at));
        }
        return Err(Error::policy(vec![found]));
    }
    Ok(())
}

/// Returns the error for a contract given as the only policy.
pub(super) fn not_by_data(path: &str) -> Error {
    let path = escape(path);
    Error::configuration(format!("no policies to evaluate: `{path}` is a contract"))
        .by_setting(setting::CONTRACT)
}

/// Refuses values of the input that policy documents can't read.
pub(super) fn refuse_lost(options: &GateOptions) -> Result<(), Error> {
    let field = options.load.product.metadata_field();
    let lost = |name: &str, what: &str| {
        Error::configuration(format!(
            "unused value in `{name}`: policy documents get only {what} there"
        ))
    };
    if options.values.has(ARGUMENTS) {
        Err(lost(ARGUMENTS, "arguments").by_setting(setting::ARGUMENTS))
    } else if options.values.has(&field) {
        Err(lost(&field, "the input's metadata").by_setting(setting::ANNOTATIONS))
    } else {
        Ok(())
    }
}
