//! Arguments that are wrong whatever the input is.
//!
//! Owns the reading of literals: in place, through variables bound to them, and through constant
//! rules. The requirements on an argument are those of the function itself: unknown parts are
//! replaced by valid placeholders and the function is asked, so that only the author's own text can
//! be wrong.

use std::collections::HashMap;

use super::model::{Binding, CallSite};
use super::{Constants, File, Findings, Inspected};
use crate::Diagnostic;
use crate::functions::{Argument, Field, Type};
use crate::rego::Value;
use crate::rego::syntax::tree::{Collection, Term, TermKind};
use crate::rego::value::{Object, Set};

/// The most variables and rules that are followed to a literal.
const MAX_STEPS: usize = 20;

/// The most keys of an object, or elements of an array, that are looked at. Filters have a dozen
/// keys, but a file may call a function thousands of times with thousands of them.
const MAX_PARTS: usize = 100;

/// The most wrong arguments of one file that are reported: each finding holds the text of its line.
const MAX_FINDINGS: usize = 100;

/// The depth to which arrays and sets are read: no argument is deeper than an object of arrays.
const MAX_DEPTH: usize = 2;

/// Finds wrong arguments of all calls that aren't replaced.
pub(super) fn check(
    all: &Inspected<'_>,
    file: &File<'_>,
    constants: &Constants<'_>,
    found: &mut Findings,
) {
    let Findings { all: out, wrong_calls, .. } = found;
    let literals = Literals { file, constants };
    for call in file.model.calls.iter().filter(|call| !call.is_complete()) {
        let (product, function) = (all.product, call.function);
        let count = function.arguments.len();
        let message = format!(
            "`{}` takes {count} argument{}, not {}",
            product.function(function.name),
            if count == 1 { "" } else { "s" },
            call.arguments.len()
        );
        out.push(
            Diagnostic::error("arity", message)
                .with_hint(function.called_as(product))
                .at(all.position(call.span)),
        );
    }
    // A literal that several calls use by name is checked once for each function.
    let mut seen = HashMap::new();
    let before = out.len();
    for call in file.model.calls.iter().filter(|call| !call.replaced && call.is_complete()) {
        for (index, (argument, term)) in
            call.function.arguments.iter().zip(call.arguments).enumerate()
        {
            let given = (call.function.name, index, literals.follow(term).span);
            let is_wrong = *seen.entry(given).or_insert_with(|| {
                let check = Check { all, literals: &literals, call, index };
                out.len() - before < MAX_FINDINGS && check.argument(argument, term, out)
            });
            if is_wrong {
                wrong_calls.insert((call.span.file, call.span.start));
            }
        }
    }
}

/// Returns the expression that a term is bound to, as far as that is known.
pub(super) fn literal<'a>(file: &File<'a>, constants: &Constants<'a>, term: &'a Term) -> &'a Term {
    Literals { file, constants }.follow(term)
}

struct Literals<'f, 'a> {
    file: &'f File<'a>,
    constants: &'f Constants<'a>,
}

struct Check<'f, 'a> {
    all: &'f Inspected<'f>,
    literals: &'f Literals<'f, 'a>,
    call: &'f CallSite<'a>,
    index: usize,
}

impl<'a> Check<'_, 'a> {
    /// Checks one argument; returns `true` if it is wrong.
    fn argument(&self, argument: &Argument, term: &'a Term, out: &mut Vec<Diagnostic>) -> bool {
        let literal = self.literals.follow(term);
        match (&literal.kind, argument.ty) {
            (TermKind::Object(members), Type::Object(known)) => {
                self.filters(known, members, literal, term, out)
            }
            _ => self
                .literals
                .value(literal, argument.ty)
                .is_some_and(|value| self.try_with(value, self.place(literal, term), out)),
        }
    }

    /// Returns the place to report: a literal in another file is reported where it is used.
    fn place<'t>(&self, part: &'t Term, used: &'t Term) -> &'t Term {
        if part.span.file == self.literals.file.id() { part } else { used }
    }

    /// Checks each key by itself, and then whether a required one is missing.
    fn filters(
        &self,
        known: &'static [Field],
        given: &'a [(Term, Term)],
        whole: &'a Term,
        used: &'a Term,
        out: &mut Vec<Diagnostic>,
    ) -> bool {
        let required = || known.iter().filter(|f| f.required);
        let mut present = Object::new();
        let mut open = given.len() > MAX_PARTS;
        let mut wrong = false;
        for (key, value) in given.iter().take(MAX_PARTS) {
            let Some(name) = self.literals.value(self.literals.follow(key), Type::Any) else {
                open = true;
                continue;
            };
            let field = known.iter().find(|f| Value::from(f.name) == name);
            let ty = field.map_or(Type::Any, |f| f.ty);
            let literal = self.literals.follow(value);
            let filled = self.literals.value(literal, ty).unwrap_or_else(|| placeholder(ty));
            let mut object: Object =
                required().map(|f| (Value::from(f.name), placeholder(f.ty))).collect();
            object.insert(name.clone(), filled);
            let at = match field {
                None => self.place(key, used),
                Some(_) => self.place(literal, self.place(value, used)),
            };
            wrong |= self.try_with(Value::from(object), at, out);
            if field.is_some() {
                present.insert(name, placeholder(ty));
            }
        }
        if !open {
            wrong |= self.try_with(Value::from(present), self.place(whole, used), out);
        }
        wrong
    }

    /// Checks a value by asking the function itself, with placeholders for all other arguments.
    fn try_with(&self, value: Value, at: &Term, out: &mut Vec<Diagnostic>) -> bool {
        let function = self.call.function;
        let mut arguments: Vec<Value> =
            function.arguments.iter().map(|a| placeholder(a.ty)).collect();
        if let Some(argument) = arguments.get_mut(self.index) {
            *argument = value;
        }
        let product = self.all.product;
        let Err(error) = function.request(product, &arguments) else { return false };
        let name = product.function(function.name);
        let mut diagnostic = Diagnostic::error("invalid-argument", format!("`{name}`: {error}"))
            .at(self.all.position(at.span));
        diagnostic.hint = error.hint().map(str::to_owned);
        // Only the first of several problems with one literal is reported.
        if out.last().is_none_or(|last| last.position != diagnostic.position) {
            out.push(diagnostic);
        }
        true
    }
}

impl<'a> Literals<'_, 'a> {
    /// Returns the expression that a term is bound to, as far as that is known.
    fn follow(&self, term: &'a Term) -> &'a Term {
        let mut at = term;
        for _ in 0..MAX_STEPS {
            match &at.kind {
                TermKind::Group(inner) => at = inner,
                TermKind::Var(name) => match self.file.model.variable(name, at.span) {
                    Some(variable) => match variable.binding {
                        Binding::Value(value) => at = value,
                        Binding::Element(_) | Binding::Unknown => break,
                    },
                    None => break,
                },
                TermKind::Ref(parts) => match self.constants.find(at) {
                    Some((value, length)) if length + 1 == parts.len() => at = value,
                    _ => break,
                },
                _ => break,
            }
        }
        at
    }

    /// Returns the value of a literal with placeholders for its unknown parts; `None` if all of it
    /// is unknown.
    fn value(&self, term: &'a Term, ty: Type) -> Option<Value> {
        self.value_at(term, ty, MAX_DEPTH)
    }

    fn value_at(&self, term: &'a Term, ty: Type, depth: usize) -> Option<Value> {
        let element = match ty {
            Type::Array(of) => *of,
            _ => Type::Any,
        };
        // The depth is bounded: without it, shared parts within shared parts would be read
        // exponentially often.
        let part = |item: &'a Term| {
            let inner = depth.checked_sub(1);
            inner
                .and_then(|depth| self.value_at(self.follow(item), element, depth))
                .unwrap_or_else(|| placeholder(element))
        };
        match &term.kind {
            TermKind::Null => Some(Value::Null),
            TermKind::Bool(value) => Some(Value::Bool(*value)),
            TermKind::Number(number) => Some(Value::from(number.clone())),
            TermKind::String(text) => Some(Value::from(text.clone())),
            TermKind::Array(items) => {
                Some(Value::from(items.iter().take(MAX_PARTS).map(part).collect::<Vec<_>>()))
            }
            TermKind::Set(items) => {
                Some(Value::from(items.iter().take(MAX_PARTS).map(part).collect::<Set>()))
            }
            TermKind::Comprehension(Collection::Array, _) => {
                Some(Value::from(vec![placeholder(element)]))
            }
            TermKind::Comprehension(Collection::Set, _) => {
                Some(Value::from(Set::from([placeholder(element)])))
            }
            // Where no object is expected, its contents don't matter.
            TermKind::Object(_) | TermKind::Comprehension(Collection::Object, _)
                if !matches!(ty, Type::Object(_)) =>
            {
                Some(Value::new_object())
            }
            _ => None,
        }
    }
}

/// Returns a valid value of a type.
fn placeholder(ty: Type) -> Value {
    match ty {
        Type::Digest => Value::from(format!("sha256:{}", "0".repeat(64))),
        Type::Uuid => Value::from("00000000-0000-0000-0000-000000000000"),
        Type::Boolean => Value::from(true),
        Type::Integer | Type::Number => Value::from(1_u64),
        Type::Count => Value::from("1"),
        Type::Null => Value::Null,
        Type::Array(of) => Value::from(vec![placeholder(*of)]),
        Type::Map(_) => Value::new_object(),
        Type::Either(one, _) => placeholder(*one),
        Type::Object(fields) => {
            let required = fields.iter().filter(|f| f.required);
            let object: Object =
                required.map(|f| (Value::from(f.name), placeholder(f.ty))).collect();
            Value::from(object)
        }
        // Strings, and what may be one; names of enumerations are in capitals.
        _ => Value::from("X"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;
    use crate::Product;
    use crate::functions::FUNCTIONS;

    #[test]
    fn placeholders_are_valid_arguments() {
        for function in FUNCTIONS {
            let arguments: Vec<Value> =
                function.arguments.iter().map(|a| placeholder(a.ty)).collect();
            assert!(function.request(&Product::default(), &arguments).is_ok(), "{}", function.name);
            for (index, argument) in function.arguments.iter().enumerate() {
                let Type::Object(fields) = argument.ty else { continue };
                let all = fields.iter().map(|f| (Value::from(f.name), placeholder(f.ty)));
                let mut arguments = arguments.clone();
                arguments[index] = Value::from(all.collect::<Object>());
                assert!(
                    function.request(&Product::default(), &arguments).is_ok(),
                    "{}",
                    function.name
                );
            }
        }
    }
}
