//! References that modules of policy documents can't have: undeclared inputs, unknown members of the input's
//! metadata, and functions that the vendor's engine lacks.

use rego_platform::Error;
use rego_platform::evaluate::Policies;
use rego_platform::load::position;
use rego_platform::rego::syntax::tree::{Span, Term, TermKind, With};
use rego_platform::rego::syntax::visit::{Visit, walk_term};
use rego_platform::{Diagnostic, Position};
use rego_platform_client::text::{did_you_mean, escape};

use crate::input::ARGUMENTS;
use crate::policy::documents::PolicyDocument;

/// The functions that the vendor's engine rejects, even in unreachable code.
const UNKNOWN: [&str; 3] = ["opa.runtime", "trace", "rego.parse_module"];

/// The members of the input's metadata: those of an in-toto descriptor, and the project's.
const METADATA: [&str; 9] = [
    "name",
    "uri",
    "digest",
    "content",
    "downloadLocation",
    "mediaType",
    "annotations",
    "project_name",
    "project_version_name",
];

/// Refuses references that a document can't have.
pub(super) fn refuse_undeclared(
    policies: &Policies,
    document: &PolicyDocument,
) -> Result<(), Error> {
    let program = policies.program();
    let field = policies.product().metadata_field();
    let mut references = References { field: &field, found: Vec::new() };
    for module in &program.compiled().modules {
        references.module(module);
    }
    let mut refused: Vec<Diagnostic> = Vec::new();
    for (reference, span) in references.found {
        let at = || position(program.sources(), span);
        refused.extend(refusal(&reference, &field, document, at));
    }
    refused.dedup_by(|one, other| one.position == other.position && one.message == other.message);
    if refused.is_empty() { Ok(()) } else { Err(Error::policy(refused)) }
}

/// A reference of a module.
enum Reference {
    Argument(String),
    Metadata(String),
    Function(&'static str),
}

fn refusal(
    reference: &Reference,
    field: &str,
    document: &PolicyDocument,
    at: impl Fn() -> Position,
) -> Option<Diagnostic> {
    let refused = |message: String, hint: String| {
        Diagnostic::error("policy-document", message).with_hint(hint).at(at())
    };
    match reference {
        Reference::Argument(_) if document.inputs.is_empty() => None,
        Reference::Argument(name) => {
            if document.inputs.names().any(|own| own == name) {
                return None;
            }
            let policy = escape(&document.name);
            let message = format!("undeclared input of the policy `{policy}`: `{}`", escape(name));
            Some(refused(message, document.inputs.hint(name)))
        }
        Reference::Metadata(name) if METADATA.contains(&name.as_str()) => None,
        Reference::Metadata(name) => {
            let message = format!("unknown member of `input.{field}`: `{}`", escape(name));
            let known = METADATA.iter().copied();
            let all = format!("use one of {}", METADATA.join(", "));
            Some(refused(message, did_you_mean(name, known, all)))
        }
        Reference::Function(name) => Some(refused(
            format!("unknown function `{name}` in a policy document"),
            "remove the call: the vendor's engine rejects the module".to_owned(),
        )),
    }
}

struct References<'f> {
    /// The field of the input's metadata.
    field: &'f str,
    found: Vec<(Reference, Span)>,
}

impl Visit for References<'_> {
    fn term(&mut self, term: &Term) {
        match &term.kind {
            TermKind::Ref(parts) => self.reference(parts, term.span),
            TermKind::Var(name) => {
                if let Some(known) = UNKNOWN.iter().find(|known| **known == &**name) {
                    self.found.push((Reference::Function(known), term.span));
                }
            }
            _ => {}
        }
        walk_term(self, term);
    }

    /// Skips the target of a modifier, which isn't a reference.
    fn with(&mut self, with: &With) {
        self.term(&with.value);
    }
}

impl References<'_> {
    fn reference(&mut self, parts: &[Term], span: Span) {
        let name = |term: &Term| match &term.kind {
            TermKind::String(name) => Some(name.to_string()),
            _ => None,
        };
        let Some((head, operands)) = parts.split_first() else { return };
        let TermKind::Var(head) = &head.kind else { return };
        let mut names = operands.iter().map_while(name);
        if **head == *"input" {
            match (names.next(), names.next()) {
                (Some(first), Some(member)) if first == ARGUMENTS => {
                    self.found.push((Reference::Argument(member), span));
                }
                (Some(first), Some(member)) if first == self.field => {
                    self.found.push((Reference::Metadata(member), span));
                }
                _ => {}
            }
            return;
        }
        let dotted = [head.to_string()].into_iter().chain(names).collect::<Vec<_>>().join(".");
        if let Some(known) = UNKNOWN.iter().find(|known| **known == dotted) {
            self.found.push((Reference::Function(known), span));
        }
    }
}
