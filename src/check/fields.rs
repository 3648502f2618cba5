//! Fields of results that look like documented ones and aren't.
//!
//! Owns what is known about the types of expressions. Results may have undocumented fields, so
//! only a near miss of a documented one is a finding.

use super::model::{Binding, function_name};
use super::{Constants, File, Policies};
use crate::Diagnostic;
use crate::builtins::{self, Field, Type};
use crate::rego::syntax::tree::{Span, Term, TermKind};

/// How far variables and rules are followed.
const MAX_DEPTH: usize = 20;

/// A type, in so many arrays or sets.
#[derive(Debug, Clone, Copy)]
struct Shape {
    ty: Type,
    lists: usize,
}

impl Shape {
    fn element(self) -> Option<Self> {
        match (self.lists, self.ty) {
            (0, Type::Array(of) | Type::Map(of)) => Some(Self { ty: *of, lists: 0 }),
            (0, _) => None,
            (lists, ty) => Some(Self { ty, lists: lists - 1 }),
        }
    }

    fn fields(self) -> Option<&'static [Field]> {
        match self.ty {
            Type::Object(fields) if self.lists == 0 => Some(fields),
            _ => None,
        }
    }
}

/// Finds near misses of documented fields.
pub(super) fn check(
    all: &Policies<'_>,
    file: &File<'_>,
    constants: &Constants<'_>,
    out: &mut Vec<Diagnostic>,
) {
    let types = Types { all, file, constants };
    for term in &file.model.references {
        types.of(term, MAX_DEPTH, Some(out));
    }
    for (name, arguments, _) in &file.model.others {
        if let ("object.get", [object, key, _]) = (name.as_str(), *arguments)
            && let Some(fields) = types.of(object, MAX_DEPTH, None).and_then(Shape::fields)
            && let Some((span, name)) = first_key(key)
        {
            out.extend(near_miss(all, fields, name, span));
        }
    }
}

/// The key that `object.get` looks for first.
fn first_key(key: &Term) -> Option<(Span, &str)> {
    match &key.kind {
        TermKind::String(name) => Some((key.span, name)),
        TermKind::Array(items) => match items.first() {
            Some(first) if !matches!(first.kind, TermKind::Array(_)) => first_key(first),
            _ => None,
        },
        _ => None,
    }
}

struct Types<'a> {
    all: &'a Policies<'a>,
    file: &'a File<'a>,
    constants: &'a Constants<'a>,
}

impl Types<'_> {
    /// The shape of an expression, where it comes from one of the functions. Near misses on the
    /// way of this very reference go to `out`.
    fn of(&self, term: &Term, depth: usize, out: Option<&mut Vec<Diagnostic>>) -> Option<Shape> {
        let depth = depth.checked_sub(1)?;
        match &term.kind {
            TermKind::ArrayComprehension(it) | TermKind::SetComprehension(it) => {
                let shape = self.of(&it.term, depth, None)?;
                Some(Shape { lists: shape.lists + 1, ..shape })
            }
            TermKind::Call(terms) => {
                let name = function_name(terms.first()?)?;
                let short = name.strip_prefix(self.all.product.as_str())?.strip_prefix('.')?;
                Some(Shape { ty: builtins::function(short)?.result, lists: 0 })
            }
            TermKind::Var(name) => match self.file.model.variables.get(name)?.binding {
                Binding::Value(value) => self.of(value, depth, None),
                Binding::Element(list) => self.of(list, depth, None)?.element(),
                Binding::Unknown => None,
            },
            TermKind::Group(inner) => self.of(inner, depth, out),
            TermKind::Ref(parts) => {
                if let Some((value, length)) = self.constants.find(term) {
                    let shape = self.of(value, depth, None)?;
                    return self.steps(shape, parts.get(length + 1..)?, out);
                }
                let (head, rest) = parts.split_first()?;
                let shape = self.of(head, depth, None)?;
                self.steps(shape, rest, out)
            }
            _ => None,
        }
    }

    /// Follows operands; what is no field of its object and resembles one is a finding.
    fn steps(
        &self,
        mut shape: Shape,
        steps: &[Term],
        mut out: Option<&mut Vec<Diagnostic>>,
    ) -> Option<Shape> {
        for step in steps {
            shape = match (&step.kind, shape.fields()) {
                (TermKind::String(key), Some(fields)) => {
                    let Some(field) = fields.iter().find(|f| f.name == &**key) else {
                        if let Some(out) = out.as_deref_mut() {
                            out.extend(near_miss(self.all, fields, key, step.span));
                        }
                        return None;
                    };
                    Shape { ty: field.ty, lists: 0 }
                }
                (_, None) => shape.element()?,
                _ => return None,
            };
        }
        Some(shape)
    }
}

fn near_miss(all: &Policies<'_>, fields: &[Field], name: &str, span: Span) -> Option<Diagnostic> {
    if fields.iter().any(|f| f.name == name) {
        return None;
    }
    let near = fields.iter().map(|f| f.name).find(|field| resembles(name, field))?;
    Some(
        Diagnostic::warning("unknown-field", format!("`{name}` isn't a documented field"))
            .with_hint(format!("did you mean `{near}`?"))
            .renamed(name, near)
            .at(all.position(span)),
    )
}

/// Whether a name is so like a field's that it must be meant: other capitals or underscores, a
/// slip of the keyboard, two in a long name.
fn resembles(name: &str, field: &str) -> bool {
    let plain = |text: &str| text.replace('_', "").to_lowercase();
    let (name, field) = (plain(name), plain(field));
    let slips = match field.len() {
        0..=3 => 0,
        4..=7 => 1,
        _ => 2,
    };
    name == field || name.len() < 200 && strsim::damerau_levenshtein(&name, &field) <= slips
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_resemble_and_other_words_do_not() {
        for (name, field) in
            [("refernces", "references"), ("created_at", "createdAt"), ("knid", "kind")]
        {
            assert!(resembles(name, field), "{name}");
        }
        for (name, field) in [("id", "kind"), ("name", "kind"), ("metadata", "createdAt")] {
            assert!(!resembles(name, field), "{name}");
        }
    }
}
