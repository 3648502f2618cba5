//! Arguments that may be absent.
//!
//! Owns finding references that may be undefined because a field is optional, according to the
//! function they come from or the schema of their document. A call with such an argument is
//! undefined, and the statement silently fails.

use super::infer::Types;
use super::model::{Usage, WholeList};
use super::{File, Inspected};
use crate::Diagnostic;
use crate::rego::Value;
use crate::rego::annotations::{AnnotationSet, Schema};
use crate::rego::builtins::lookup;
use crate::rego::syntax::tree::{Module, Rule, Span, Term, TermKind};
use crate::rego::types::{Schemas, terms};
use crate::sources::DataSource;

/// The most references of a schema that are followed.
const MAX_STEPS: usize = 100;

/// Finds arguments that may be absent and aren't tested elsewhere in their rule.
pub(super) fn check<'a>(
    all: &Inspected<'_>,
    (at, file): (usize, &'a File<'a>),
    types: &Types<'a>,
    declared: &DeclaredSchemas<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let infix = |name: &str| lookup(name).is_some_and(|it| it.infix.is_some());
    let calls = file.model.others.iter();
    let calls = calls.filter(|(name, ..)| !infix(name) && !name.starts_with("internal."));
    let counted = file.model.wholes.iter().filter_map(|whole| match (whole.list, whole.usage) {
        (WholeList::Term(list), Usage::Counted(_)) => Some(list),
        _ => None,
    });
    let arguments: Vec<&Term> = calls
        .flat_map(|(_, arguments, _)| arguments.iter())
        .chain(counted)
        .filter(|argument| matches!(argument.kind, TermKind::Ref(_)))
        .collect();
    for argument in &arguments {
        let of_function = types
            .infer(at, argument)
            .filter(|shape| shape.optional && !shape.practice)
            .map(|shape| shape.field.to_owned());
        let of_document = || declared.absent(file, argument);
        let Some(field) = of_function.or_else(of_document) else { continue };
        if is_looked_at(file, &arguments, argument) {
            continue;
        }
        out.push(
            Diagnostic::warning("optional-argument", format!("`{field}` may be absent"))
                .with_hint(
                    "the call is undefined then: give it a default with `object.get`, or ask for \
                     the field in a statement of its own",
                )
                .at(all.position(argument.span)),
        );
    }
}

/// Returns `true` if the same rule also has the reference outside an argument.
fn is_looked_at(file: &File<'_>, arguments: &[&Term], argument: &Term) -> bool {
    let Some(rule) = rule_of(file, argument) else { return false };
    file.model.references.iter().any(|other| {
        within(rule.span, other.span)
            && !arguments.iter().any(|it| std::ptr::eq(*it, *other))
            && terms::compare(other, argument).is_eq()
    })
}

/// Returns the rule that contains a term.
fn rule_of<'a>(file: &File<'a>, term: &Term) -> Option<&'a Rule> {
    file.module.rules.iter().find(|rule| within(rule.span, term.span))
}

fn within(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The schemas of documents: that of `input` in all rules, and those of annotations.
pub(super) struct DeclaredSchemas<'a> {
    given: Option<&'a Schemas>,
    annotations: AnnotationSet,
    data: &'a [DataSource],
    /// The path of `input`.
    input: [Term; 1],
}

/// A schema, and the path of the document that has it.
type Declared<'s> = (&'s [Term], &'s Value);

impl<'a> DeclaredSchemas<'a> {
    pub fn new(all: &Inspected<'a>) -> Self {
        // Annotations that can't be read are errors of the compilation.
        let annotations = AnnotationSet::of_modules(all.authors.iter().copied(), all.sources);
        let input = TermKind::Var("input".into());
        Self {
            given: all.schemas,
            annotations: annotations.unwrap_or_default(),
            data: all.data,
            input: [Term { kind: input, span: Span::default() }],
        }
    }

    /// Returns the schemas that apply in a rule, in ascending order of precedence.
    fn of_rule(&self, module: &Module, rule: &Rule) -> Vec<Declared<'_>> {
        let of_input = self.given.and_then(|given| given.get(&self.input));
        let annotated = self.annotations.about(&module.package.path, rule);
        let schemas = annotated.flat_map(|block| &block.schemas).filter_map(|annotation| {
            let schema = match &annotation.schema {
                Schema::Definition(schema) => schema,
                Schema::Reference(reference) => self.given?.get(reference)?,
            };
            Some((annotation.path.as_slice(), schema))
        });
        of_input.map(|schema| (self.input.as_slice(), schema)).into_iter().chain(schemas).collect()
    }

    /// Returns `true` if a reference is to loaded data.
    fn is_loaded(&self, parts: &[Term]) -> bool {
        let Some((head, rest)) = parts.split_first() else { return false };
        let step = |node: &'a Value, part: &Term| match &part.kind {
            TermKind::String(name) => node.get_str(name),
            _ => None,
        };
        matches!(&head.kind, TermKind::Var(name) if &**name == "data")
            && self.data.iter().any(|it| rest.iter().try_fold(&it.value, step).is_some())
    }

    /// Returns the property of a reference that the schema of its document doesn't require.
    fn absent(&self, file: &File<'_>, reference: &Term) -> Option<String> {
        let TermKind::Ref(parts) = &reference.kind else { return None };
        if self.given.is_none() && !self.annotations.has_schemas() {
            return None;
        }
        if self.is_loaded(parts) {
            return None;
        }
        let declared = self.of_rule(file.module, rule_of(file, reference)?);
        // The part of the path below another schema's document is that schema's.
        let mut parts = parts.as_slice();
        for (path, schema) in declared.iter().rev() {
            let Some((start, rest)) = parts.split_at_checked(path.len()) else { continue };
            if !start.iter().zip(*path).all(|(a, b)| terms::compare(a, b).is_eq()) {
                continue;
            }
            if let Some(found) = absent(schema, rest) {
                return Some(found);
            }
            parts = start;
        }
        None
    }
}

/// Returns the property on a path that the schema doesn't require. An object schema that requires no
/// property at all makes no statement about absence.
fn absent(schema: &Value, path: &[Term]) -> Option<String> {
    let mut node = followed(schema, schema)?;
    let mut found = None;
    for part in path {
        let next = match &part.kind {
            TermKind::String(name) => {
                if let Some(Value::Array(required)) = node.get_str("required")
                    && !required.is_empty()
                    && !required.iter().any(|it| it.as_str() == Some(name))
                {
                    found = Some(name.to_string());
                }
                node.get_str("properties").and_then(|properties| properties.get_str(name))
            }
            _ => node.get_str("items"),
        };
        // The rest of the path isn't described.
        let Some(next) = next.and_then(|next| followed(schema, next)) else { break };
        node = next;
    }
    found
}

/// Resolves a schema's reference within its document, if it has one.
fn followed<'s>(document: &'s Value, schema: &'s Value) -> Option<&'s Value> {
    let mut node = schema;
    for _ in 0..MAX_STEPS {
        let Some(reference) = node.get_str("$ref") else { return Some(node) };
        let path = reference.as_str()?.strip_prefix("#")?;
        node = path.split('/').skip(1).try_fold(document, |node, part| node.get_str(part))?;
    }
    None
}
