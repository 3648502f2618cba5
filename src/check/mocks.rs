//! Mocks of the product's functions, compared with the types of their results.
//!
//! Owns what can be read of a mock: literals, in place, through variables and constant rules, and as
//! values of a function that stands for another. What a mock gives when its test runs is held against
//! the type then. An answer may lack fields; any other type or field is one that no test should rely
//! on.

use std::collections::{HashMap, HashSet};

use super::model::function_name;
use super::{Constants, File, Inspected, arguments, names};
use crate::functions::known_fields::known_field;
use crate::functions::{self, Field, Type};
use crate::rego::Value;
use crate::rego::internal::deeper;
use crate::rego::syntax::tree::{Collection, Rule, Span, Term, TermKind};
use crate::text::escape;
use crate::{Diagnostic, Error, Product};

const HINT: &str = "give it the type of the function's result; fields may be left out";

/// The definitions of policies' functions, by full name, each with its file.
type Functions<'a> = HashMap<String, Vec<(&'a File<'a>, &'a Rule)>>;

/// Finds mocks that aren't of the type of the function's answer, each with its modifier.
pub(super) fn check<'a>(
    all: &Inspected<'_>,
    files: &'a [File<'a>],
    constants: &Constants<'a>,
    out: &mut Vec<(Span, Diagnostic)>,
) {
    let own = functions_of(files);
    for file in files {
        for (function, with) in &file.model.mocks {
            let value = &with.value;
            let name = function_name(value).filter(|_| constants.find(value).is_none());
            let definitions = name.and_then(|name| own.get(&name));
            let values: Vec<_> = match definitions {
                Some(all) => all
                    .iter()
                    .flat_map(|(of, rule)| values_of(rule).map(move |value| (*of, value)))
                    .collect(),
                None => vec![(file, value)],
            };
            for (of, part) in values {
                let Err((at, what)) = (Mock { file: of, constants }).fits(part, function.result)
                else {
                    continue;
                };
                let at = if at.file == file.id() { at } else { value.span };
                let name = all.product.function(function.name);
                let finding =
                    Diagnostic::warning("wrong-mock", format!("a mock of `{name}` {what}"))
                        .with_hint(HINT)
                        .at(all.position(at));
                out.push((with.span, finding));
            }
        }
    }
}

fn functions_of<'a>(files: &'a [File<'a>]) -> Functions<'a> {
    let mut found = Functions::new();
    for file in files {
        for rule in file.module.rules.iter().filter(|rule| rule.head.is_function()) {
            if let Some(path) = names::rule_path(file.module, rule) {
                found.entry(format!("data.{}", path.join("."))).or_default().push((file, rule));
            }
        }
    }
    found
}

/// Returns the values of a definition and of its `else` branches.
fn values_of(rule: &Rule) -> impl Iterator<Item = &Term> {
    let all = std::iter::successors(Some(rule), |rule| rule.else_rule.as_deref());
    all.filter_map(|rule| rule.head.value.as_ref())
}

/// A part of a mock that doesn't fit, and why.
type Wrong = (Span, String);

struct Mock<'l, 'a> {
    file: &'l File<'a>,
    constants: &'l Constants<'a>,
}

impl<'a> Mock<'_, 'a> {
    /// Returns the part of a value that doesn't have a type. A part that isn't known may have it.
    fn fits(&self, value: &'a Term, ty: Type) -> Result<(), Wrong> {
        let literal = arguments::literal(self.file, self.constants, value);
        let at = if literal.span.file == self.file.id() { literal.span } else { value.span };
        let is = |what: &str| Err((at, format!("has {what} where the type is `{ty}`")));
        deeper(|| match (&literal.kind, ty) {
            (_, Type::Any)
            | (TermKind::Var(_) | TermKind::Ref(_) | TermKind::Call(_), _)
            | (TermKind::Null, Type::Null)
            | (TermKind::Bool(_), Type::Boolean)
            | (TermKind::Number(_), Type::Integer | Type::Number)
            | (
                TermKind::String(_) | TermKind::Template(_),
                Type::String | Type::Digest | Type::Uuid | Type::Timestamp | Type::Count,
            ) => Ok(()),
            (_, Type::Either(one, other)) => {
                self.fits(literal, *one).or_else(|_| self.fits(literal, *other))
            }
            (TermKind::Object(members), Type::Object(fields)) => self.members(members, fields),
            (TermKind::Object(members), Type::Map(of)) => {
                members.iter().try_for_each(|(_, value)| self.fits(value, *of))
            }
            (TermKind::Array(items), Type::Array(of)) => {
                items.iter().try_for_each(|item| self.fits(item, *of))
            }
            (TermKind::Comprehension(Collection::Array, inner), Type::Array(of)) => {
                self.fits(&inner.value, *of)
            }
            (TermKind::Comprehension(Collection::Object, _), Type::Object(_) | Type::Map(_)) => {
                Ok(())
            }
            (TermKind::Null, _) => is("null"),
            (TermKind::Bool(_), _) => is("a boolean"),
            (TermKind::Number(_), _) => is("a number"),
            (TermKind::String(_) | TermKind::Template(_), _) => is("a string"),
            (TermKind::Array(_) | TermKind::Comprehension(Collection::Array, _), _) => {
                is("an array")
            }
            (TermKind::Set(_) | TermKind::Comprehension(Collection::Set, _), _) => is("a set"),
            (TermKind::Object(_) | TermKind::Comprehension(Collection::Object, _), _) => {
                is("an object")
            }
            (TermKind::Group(_), _) => Ok(()),
        })
    }

    fn members(&self, members: &'a [(Term, Term)], fields: &'static [Field]) -> Result<(), Wrong> {
        for (key, value) in members {
            let TermKind::String(name) = &key.kind else { continue };
            let Some(ty) = field_type(fields, name) else {
                let at = if key.span.file == self.file.id() { key.span } else { value.span };
                return Err((at, format!("has the unknown field `{name}`")));
            };
            self.fits(value, ty)?;
        }
        Ok(())
    }
}

/// The mocks of loaded tests.
pub(crate) struct Mocks {
    product: Product,
    /// The modifiers of those that a comment allows to be of another type.
    silenced: HashSet<Span>,
}

impl Mocks {
    pub fn new(product: Product, silenced: HashSet<Span>) -> Self {
        Self { product, silenced }
    }

    /// Checks what a mock gave for a function, by its full name.
    pub fn check(&self, at: Span, function: &str, answer: &Value) -> Result<(), Error> {
        let known = self.product.short(function).and_then(functions::function);
        let Some(known) = known.filter(|_| !self.silenced.contains(&at)) else { return Ok(()) };
        has_type(answer, known.result).map_err(|what| {
            Error::policy_failed(format!("a mock of `{function}` {what}")).with_hint(HINT)
        })
    }
}

fn has_type(value: &Value, ty: Type) -> Result<(), String> {
    deeper(|| match (value, ty) {
        (_, Type::Any)
        | (Value::Null, Type::Null)
        | (Value::Bool(_), Type::Boolean)
        | (Value::Number(_), Type::Integer | Type::Number)
        | (
            Value::String(_),
            Type::String | Type::Digest | Type::Uuid | Type::Timestamp | Type::Count,
        ) => Ok(()),
        (_, Type::Either(one, other)) => has_type(value, *one).or_else(|_| has_type(value, *other)),
        (Value::Object(members), Type::Object(fields)) => {
            members.iter().try_for_each(|(key, value)| {
                let name = key.as_str().unwrap_or_default();
                let ty = field_type(fields, name)
                    .ok_or_else(|| format!("has the unknown field `{}`", escape(name)))?;
                has_type(value, ty)
            })
        }
        (Value::Object(members), Type::Map(of)) => {
            members.values().try_for_each(|value| has_type(value, *of))
        }
        (Value::Array(items), Type::Array(of)) => {
            items.iter().try_for_each(|item| has_type(item, *of))
        }
        _ => Err(format!("has the type `{}` instead of `{ty}`", value.type_name())),
    })
}

/// Returns the type of a field of an answer, documented or known from practice.
fn field_type(fields: &'static [Field], name: &str) -> Option<Type> {
    let documented = fields.iter().find(|field| field.name == name).map(|field| field.ty);
    documented.or_else(|| known_field(fields, name).map(|known| known.ty))
}
