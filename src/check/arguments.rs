//! Arguments that can't be right, whatever the input is.
//!
//! Owns the reading of literals: in place, through variables that are bound to them and through
//! rules that are. What an argument must look like is each function's own to say: unknown parts
//! are filled in with something that is right, so that only what the author wrote can be wrong.

use std::collections::{BTreeMap, HashSet};

use regorus::Value;
use regorus::unstable as ast;

use ast::{Expr, ExprRef};

use super::walk::{Binding, Call, Model};
use crate::Diagnostic;
use crate::builtins::{Argument, Field, Type};
use crate::evaluate::load::{Meaning, ModuleSyntax, bytes, chain};

/// How many variables and rules are followed to a literal.
const MAX_STEPS: usize = 20;

/// How many keys of an object, and elements of an array, are looked at. Filters have a dozen keys;
/// a file may call a function thousands of times with thousands of them.
const MAX_PARTS: usize = 100;

/// How many wrong arguments of one file are reported: each holds the text of its line.
const MAX_FINDINGS: usize = 100;

/// How deep arrays and sets are read: no argument is deeper than an object of arrays.
const MAX_DEPTH: usize = 2;

/// Finds wrong arguments of every call that isn't replaced.
pub(super) fn check(module: &ModuleSyntax<'_>, model: &Model<'_>, out: &mut Vec<Diagnostic>) {
    let literals = Literals { module, model };
    // What many calls are given by one name is checked once for each function.
    let mut seen = HashSet::new();
    for call in model.calls.iter().filter(|call| !call.replaced && call.is_complete()) {
        for (index, (argument, expr)) in call.function.arguments.iter().zip(call.params).enumerate()
        {
            let span = literals.follow(expr).span();
            let given = (call.function.name, index, span.source.file(), span.start);
            if out.len() >= MAX_FINDINGS || !seen.insert(given) {
                continue;
            }
            let check = Check { literals: &literals, call, index };
            check.argument(argument, expr, out);
        }
    }
}

/// What an expression is bound to, as far as that is known.
pub(super) fn literal<'e>(
    module: &'e ModuleSyntax<'e>,
    model: &'e Model<'e>,
    expr: &'e ExprRef,
) -> &'e ExprRef {
    Literals { module, model }.follow(expr)
}

struct Literals<'a> {
    module: &'a ModuleSyntax<'a>,
    model: &'a Model<'a>,
}

struct Check<'a> {
    literals: &'a Literals<'a>,
    call: &'a Call<'a>,
    index: usize,
}

impl Check<'_> {
    fn argument(&self, argument: &Argument, expr: &ExprRef, out: &mut Vec<Diagnostic>) {
        let literal = self.literals.follow(expr);
        match (literal.as_ref(), argument.ty) {
            (Expr::Object { fields, .. }, Type::Object(known)) => {
                self.filters(known, fields, literal, expr, out);
            }
            _ => {
                if let Some(value) = self.literals.value(literal, argument.ty) {
                    self.try_with(value, self.place(literal, expr), out);
                }
            }
        }
    }

    /// A literal in another file is shown where it is used.
    fn place<'e>(&self, part: &'e ExprRef, used: &'e ExprRef) -> &'e ExprRef {
        if self.literals.here(part) { part } else { used }
    }

    /// Each key by itself, and then what is missing.
    fn filters(
        &self,
        known: &'static [Field],
        given: &[(ast::Span, ExprRef, ExprRef)],
        whole: &ExprRef,
        used: &ExprRef,
        out: &mut Vec<Diagnostic>,
    ) {
        let required = || known.iter().filter(|f| f.required);
        let mut present = BTreeMap::new();
        let mut open = given.len() > MAX_PARTS;
        for (_, key, value) in given.iter().take(MAX_PARTS) {
            let Some(name) = self.literals.value(self.literals.follow(key), Type::Any) else {
                open = true;
                continue;
            };
            let field = known.iter().find(|f| Value::from(f.name) == name);
            let ty = field.map_or(Type::Any, |f| f.ty);
            let literal = self.literals.follow(value);
            let filled = self.literals.value(literal, ty).unwrap_or_else(|| placeholder(ty));
            let mut object: BTreeMap<Value, Value> =
                required().map(|f| (Value::from(f.name), placeholder(f.ty))).collect();
            object.insert(name.clone(), filled);
            let at = match field {
                None => self.place(key, used),
                Some(_) => self.place(literal, self.place(value, used)),
            };
            self.try_with(Value::from(object), at, out);
            if field.is_some() {
                present.insert(name, placeholder(ty));
            }
        }
        if !open {
            self.try_with(Value::from(present), self.place(whole, used), out);
        }
    }

    /// Asks the function itself, with right values for all other arguments.
    fn try_with(&self, value: Value, at: &ExprRef, out: &mut Vec<Diagnostic>) {
        let function = self.call.function;
        let mut arguments: Vec<Value> =
            function.arguments.iter().map(|a| placeholder(a.ty)).collect();
        if let Some(argument) = arguments.get_mut(self.index) {
            *argument = value;
        }
        let Err(error) = function.request(&arguments) else { return };
        let module = self.literals.module;
        let name = module.all().product().function(function.name);
        let (start, end) = bytes(at);
        let mut diagnostic = Diagnostic::error("invalid-argument", format!("`{name}`: {error}"))
            .at(module.position(start, end));
        diagnostic.hint = error.hint().map(str::to_owned);
        out.push(diagnostic);
    }
}

impl<'a> Literals<'a> {
    /// What an expression is bound to, as far as that is known.
    fn follow(&self, expr: &'a ExprRef) -> &'a ExprRef {
        let mut at = expr;
        for _ in 0..MAX_STEPS {
            let (base, steps) = chain(at);
            let Expr::Var { span, .. } = base.as_ref() else { break };
            // What names mean is known by where they stand in this file.
            if !self.here(at) {
                break;
            }
            let start = span.start as usize;
            if let Some(variable) = self.model.variable(start) {
                match variable.binding {
                    Binding::Value(value) if steps.is_empty() => at = value,
                    _ => break,
                }
                continue;
            }
            match self.module.meaning(start) {
                Some(Meaning::Rule { rule, steps: own }) if own == steps.len() => {
                    let Some(value) = self.module.all().constant(rule) else { break };
                    at = value;
                }
                _ => break,
            }
        }
        at
    }

    /// Whether an expression stands in the file that is looked at.
    fn here(&self, expr: &ExprRef) -> bool {
        expr.span().source.file() == self.module.path()
    }

    /// The value of a literal, its unknown parts filled in; nothing when all of it is unknown.
    fn value(&self, expr: &'a ExprRef, ty: Type) -> Option<Value> {
        self.value_at(expr, ty, MAX_DEPTH)
    }

    fn value_at(&self, expr: &'a ExprRef, ty: Type, depth: usize) -> Option<Value> {
        let element = match ty {
            Type::Array(of) => *of,
            _ => Type::Any,
        };
        // A part that is shared, in a whole that is shared, and so on, would be read once for each.
        let part = |item: &'a ExprRef| {
            let inner = depth.checked_sub(1);
            inner
                .and_then(|depth| self.value_at(self.follow(item), element, depth))
                .unwrap_or_else(|| placeholder(element))
        };
        match expr.as_ref() {
            Expr::String { value, .. }
            | Expr::RawString { value, .. }
            | Expr::Number { value, .. }
            | Expr::Bool { value, .. }
            | Expr::Null { value, .. } => Some(value.clone()),
            Expr::UnaryExpr { expr, .. } => match expr.as_ref() {
                Expr::Number { span, .. } => {
                    Value::from_json_str(&format!("-{}", span.text())).ok()
                }
                _ => None,
            },
            Expr::Array { items, .. } => {
                Some(Value::from(items.iter().take(MAX_PARTS).map(part).collect::<Vec<_>>()))
            }
            Expr::Set { items, .. } => Some(Value::from(
                items.iter().take(MAX_PARTS).map(part).collect::<std::collections::BTreeSet<_>>(),
            )),
            Expr::ArrayCompr { .. } => Some(Value::from(vec![placeholder(element)])),
            Expr::SetCompr { .. } => {
                Some(Value::from(std::collections::BTreeSet::from([placeholder(element)])))
            }
            // Of an object in place of anything else, only that it is one matters.
            Expr::Object { .. } | Expr::ObjectCompr { .. } if !matches!(ty, Type::Object(_)) => {
                Some(Value::new_object())
            }
            _ => None,
        }
    }
}

/// A value that is right for a type.
fn placeholder(ty: Type) -> Value {
    match ty {
        Type::String | Type::Any | Type::Timestamp => Value::from("x"),
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
            let object: BTreeMap<Value, Value> =
                required.map(|f| (Value::from(f.name), placeholder(f.ty))).collect();
            Value::from(object)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;
    use crate::builtins::FUNCTIONS;

    #[test]
    fn what_is_filled_in_is_right() {
        for function in FUNCTIONS {
            let arguments: Vec<Value> =
                function.arguments.iter().map(|a| placeholder(a.ty)).collect();
            assert!(function.request(&arguments).is_ok(), "{}", function.name);
            for (index, argument) in function.arguments.iter().enumerate() {
                let Type::Object(fields) = argument.ty else { continue };
                let all = fields.iter().map(|f| (Value::from(f.name), placeholder(f.ty)));
                let mut arguments = arguments.clone();
                arguments[index] = Value::from(all.collect::<BTreeMap<_, _>>());
                assert!(function.request(&arguments).is_ok(), "{}", function.name);
            }
        }
    }
}
