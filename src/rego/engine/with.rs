//! Modifiers: what `with` replaces, for as long as its expression is evaluated.

use std::cell::RefCell;

use super::machine::{Machine, Run, Stop};
use super::reference::Other;
use super::{ErrorCode, EvalError};
use crate::rego::core::{Ref, Target, With, WithTarget, WithValue};
use crate::rego::syntax::tree::Span;
use crate::rego::value::{Shared, Value};

/// What stands in for a function.
#[derive(Clone)]
pub(super) enum Standin<'p> {
    /// A value, whatever the arguments.
    Value(Value),
    /// Another function.
    Function(Target),
    /// What a reference finds, whatever the arguments; its variables are of a frame.
    Ref(&'p Ref, u32),
}

/// A function and what stands in for it.
#[derive(Clone)]
pub(super) struct Mock<'p> {
    name: &'p str,
    by: Standin<'p>,
}

/// The modifiers of an expression that is being evaluated.
pub(super) struct Replaced<'p>(&'p [With]);

impl Replaced<'_> {
    /// Whether a path in data is at or within what is replaced.
    pub(super) fn covers(&self, path: &[Value]) -> bool {
        self.0.iter().any(|with| match &with.target {
            WithTarget::Data(target) => path.starts_with(target),
            _ => false,
        })
    }
}

/// What an expression's modifiers say, with values.
pub(super) struct Replacement<'p> {
    with: &'p [With],
    input: Option<Value>,
    data: Option<Value>,
    mocks: Vec<Mock<'p>>,
    /// How many replace data.
    data_targets: usize,
}

/// What was in force before.
pub(super) struct Before {
    input: Option<Value>,
    data: Option<Value>,
    data_targets: usize,
}

impl<'p> Machine<'p, '_> {
    /// Evaluates the values of modifiers.
    pub(super) fn replacement(
        &mut self,
        run: &Run<'p>,
        with: &'p [With],
        span: Span,
    ) -> Result<Replacement<'p>, Stop> {
        let mut input = self.input.clone();
        let mut data = self.data.clone();
        let mut mocks = Vec::new();
        let mut data_targets = 0;
        for with in with {
            let by = match &with.value {
                WithValue::Term(term) => {
                    let value = self.value(term, run.base).ok_or_else(|| {
                        let message = "the value of a modifier has no value";
                        EvalError::new(ErrorCode::Internal, Some(span), message)
                    })?;
                    Standin::Value(value.into_owned())
                }
                WithValue::Function(target, _) => Standin::Function(*target),
                WithValue::Ref(reference) => Standin::Ref(reference, run.base),
            };
            match (&with.target, by) {
                (WithTarget::Function(name), by) => mocks.push(Mock { name, by }),
                (WithTarget::Input(path), Standin::Value(value)) => {
                    input = Some(place(input.as_ref(), path, value, span)?);
                }
                (WithTarget::Data(path), Standin::Value(value)) => {
                    data = Some(place(data.as_ref(), path, value, span)?);
                    data_targets += 1;
                }
                // The compile stages leave these in closures of queries only.
                (target, Standin::Ref(reference, _)) => {
                    let found = RefCell::new(None);
                    self.refer(run, reference, Other::Any(&found), &mut |_| Ok(()))?;
                    let Some(value) = found.into_inner() else { continue };
                    match target {
                        WithTarget::Input(path) => {
                            input = Some(place(input.as_ref(), path, value, span)?);
                        }
                        WithTarget::Data(path) => {
                            data = Some(place(data.as_ref(), path, value, span)?);
                            data_targets += 1;
                        }
                        WithTarget::Function(_) => {}
                    }
                }
                (_, Standin::Function(_)) => {
                    let message = "a function replaces what isn't one";
                    return Err(EvalError::new(ErrorCode::Internal, Some(span), message).into());
                }
            }
        }
        Ok(Replacement { with, input, data, mocks, data_targets })
    }

    /// Puts modifiers in force.
    pub(super) fn enter_with(&mut self, replacement: &Replacement<'p>) -> Before {
        let before = Before {
            input: std::mem::replace(&mut self.input, replacement.input.clone()),
            data: std::mem::replace(&mut self.data, replacement.data.clone()),
            data_targets: replacement.data_targets,
        };
        self.replaced.push(Replaced(replacement.with));
        self.replaced_data += replacement.data_targets;
        self.caches.push();
        if self.mocks.is_empty() {
            self.mocks.push(Vec::new());
        }
        if let Some(group) = self.mocks.last_mut() {
            group.push(replacement.mocks.clone());
        }
        before
    }

    /// Ends them.
    pub(super) fn leave_with(&mut self, before: Before) {
        if let Some(group) = self.mocks.last_mut() {
            group.pop();
        }
        self.caches.pop();
        self.replaced.pop();
        self.replaced_data -= before.data_targets;
        self.input = before.input;
        self.data = before.data;
    }

    /// What stands in for a function.
    #[inline]
    pub(super) fn standin(&self, name: &str) -> Option<Standin<'p>> {
        let group = self.mocks.last()?;
        let found = |mocks: &Vec<Mock<'p>>| {
            mocks.iter().rev().find(|mock| mock.name == name).map(|mock| mock.by.clone())
        };
        group.iter().rev().find_map(found)
    }
}

/// A document with a value placed at a path; what is in its way and not an object is replaced.
fn place(
    document: Option<&Value>,
    path: &[Value],
    value: Value,
    span: Span,
) -> Result<Value, Stop> {
    if path.iter().any(|part| part.as_str().is_none()) {
        // As OPA has it.
        return Err(EvalError::new(ErrorCode::Conflict, Some(span), "bad document path").into());
    }
    Ok(placed(document, path, value))
}

fn placed(document: Option<&Value>, path: &[Value], value: Value) -> Value {
    let Some((key, rest)) = path.split_first() else { return value };
    let mut members = match document {
        Some(Value::Object(members)) => Shared::clone(members),
        _ => Shared::default(),
    };
    let below = members.get(key).cloned();
    let value = crate::rego::value::deeper(|| placed(below.as_ref(), rest, value));
    Shared::make_mut(&mut members).insert(key.clone(), value);
    Value::Object(members)
}
