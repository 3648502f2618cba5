//! Fields of results that look like documented ones and aren't.
//!
//! Owns what is known about the types of expressions. Results may have undocumented fields, so
//! only a near miss of a documented one is a finding.

use regorus::unstable as ast;

use ast::{Expr, ExprRef};

use super::walk::{Binding, Model};
use crate::Diagnostic;
use crate::builtins::{self, Field, Type};
use crate::evaluate::load::{Meaning, ModuleSyntax, Step, bytes, chain};

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
pub(super) fn check(module: &ModuleSyntax<'_>, model: &Model<'_>, out: &mut Vec<Diagnostic>) {
    let types = Types { module, model };
    for expr in &model.chains {
        let (base, steps) = chain(expr);
        let Some((shape, skip)) = types.start(base, steps.len(), MAX_DEPTH) else { continue };
        types.steps(shape, steps.get(skip..).unwrap_or(&[]), Some(out));
    }
    for (name, params, _) in &model.builtins {
        if let ("object.get", [object, key, _]) = (*name, *params)
            && let Some(fields) = types.of(object, MAX_DEPTH).and_then(Shape::fields)
            && let Some((key, name)) = first_key(key)
        {
            out.extend(near_miss(module, fields, name, bytes(key)));
        }
    }
}

/// The key that `object.get` looks for first.
fn first_key(key: &ExprRef) -> Option<(&ExprRef, &str)> {
    match key.as_ref() {
        Expr::String { value, .. } => Some((key, value.as_string().ok()?.as_ref())),
        Expr::Array { items, .. } => match items.first() {
            Some(first) if !matches!(first.as_ref(), Expr::Array { .. }) => first_key(first),
            _ => None,
        },
        _ => None,
    }
}

struct Types<'a> {
    module: &'a ModuleSyntax<'a>,
    model: &'a Model<'a>,
}

impl Types<'_> {
    /// The shape of an expression, where it comes from one of the functions.
    fn of(&self, expr: &ExprRef, depth: usize) -> Option<Shape> {
        let depth = depth.checked_sub(1)?;
        match expr.as_ref() {
            Expr::ArrayCompr { term, .. } | Expr::SetCompr { term, .. } => {
                let shape = self.of(term, depth)?;
                Some(Shape { lists: shape.lists + 1, ..shape })
            }
            _ => {
                let (base, steps) = chain(expr);
                let (shape, skip) = self.start(base, steps.len(), depth)?;
                self.steps(shape, steps.get(skip..)?, None)
            }
        }
    }

    /// The shape of what a reference starts from, and how many of its steps lead there.
    fn start(&self, base: &ExprRef, steps: usize, depth: usize) -> Option<(Shape, usize)> {
        let at = match base.as_ref() {
            Expr::Call { fcn, .. } => chain(fcn).0.span().start as usize,
            Expr::Var { span, .. } => span.start as usize,
            Expr::ArrayCompr { .. } | Expr::SetCompr { .. } => {
                return Some((self.of(base, depth)?, 0));
            }
            _ => return None,
        };
        if let Some(variable) = self.model.variable(at) {
            let shape = match variable.binding {
                Binding::Value(value) => self.of(value, depth)?,
                Binding::Element(list) => self.of(list, depth)?.element()?,
                Binding::Unknown => return None,
            };
            return Some((shape, 0));
        }
        match self.module.meaning(at)? {
            Meaning::Call(name) => {
                Some((Shape { ty: builtins::function(name)?.result, lists: 0 }, 0))
            }
            Meaning::Rule { rule, steps: own } if own <= steps => {
                let value = self.module.all().constant(rule)?;
                // Of another file's names nothing is known here.
                let here = value.span().source.file() == self.module.path();
                here.then(|| self.of(value, depth)).flatten().map(|shape| (shape, own))
            }
            _ => None,
        }
    }

    /// Follows steps; what is no field of its object and resembles one is a finding.
    fn steps(
        &self,
        mut shape: Shape,
        steps: &[Step<'_>],
        mut out: Option<&mut Vec<Diagnostic>>,
    ) -> Option<Shape> {
        for step in steps {
            shape = match (step, shape.fields()) {
                (Step::Key(key, at), Some(fields)) => {
                    let Some(field) = fields.iter().find(|f| f.name == key.as_ref()) else {
                        if let Some(out) = out.as_deref_mut() {
                            out.extend(near_miss(self.module, fields, key, *at));
                        }
                        return None;
                    };
                    Shape { ty: field.ty, lists: 0 }
                }
                (Step::Index(_), None) => shape.element()?,
                _ => return None,
            };
        }
        Some(shape)
    }
}

fn near_miss(
    module: &ModuleSyntax<'_>,
    fields: &[Field],
    name: &str,
    (start, end): (usize, usize),
) -> Option<Diagnostic> {
    if fields.iter().any(|f| f.name == name) {
        return None;
    }
    let near = fields.iter().map(|f| f.name).find(|field| resembles(name, field))?;
    Some(
        Diagnostic::warning("unknown-field", format!("`{name}` is no documented field"))
            .with_hint(format!("did you mean `{near}`?"))
            .at(module.position(start, end)),
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
