//! Modifiers: the values that `with` replaces while its expression is evaluated.

use std::rc::Rc;

use super::deferred::deferred_read;
use super::machine::{Machine, Run, Stop};
use super::replaced::{
    DeferredTarget, DeferredTerm, DeferredValue, DeferredValues, Mock, Replaced, Standin,
};
use super::{ErrorCode, EvalError};
use crate::core::{Call, Target, With, WithTarget, WithValue};
use crate::syntax::tree::Span;
use crate::value::{Shared, Value};

/// An expression's modifiers, evaluated.
pub(super) struct Replacement<'p> {
    with: &'p [With],
    input: Option<Value>,
    data: Option<Value>,
    deferred: DeferredValues<'p>,
    shadow: u32,
    mocks: Vec<Mock<'p>>,
    /// The number of modifiers that replace data.
    data_targets: usize,
    /// `false` if one of them replaces the input or a part of it, or those outside do.
    own_input: bool,
    /// `false` if one of them replaces the whole input, or those outside do.
    closed_input: bool,
}

/// The state that was in force before the modifiers.
pub(super) struct SavedState<'p> {
    input: Option<Value>,
    data: Option<Value>,
    deferred: DeferredValues<'p>,
    shadow: u32,
    data_targets: usize,
    own_input: bool,
    closed_input: bool,
    /// The places of the closed objects that the modifiers copied.
    copies: Vec<usize>,
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
        let mut in_force = self.deferred.to_vec();
        let mut shadow = self.shadow;
        for with in with {
            let target = match &with.target {
                WithTarget::Input(path) => DeferredTarget::Input(path),
                WithTarget::Data(path) => DeferredTarget::Data(path),
                WithTarget::Function(_) => DeferredTarget::Function,
            };
            let content = match &with.value {
                WithValue::Term(term) => Err(DeferredTerm::Term(term)),
                WithValue::Function(target, _, site) => Ok(Standin::Function(*target, *site)),
                WithValue::Comprehension(value) => Err(DeferredTerm::Comprehension(value)),
                WithValue::Ref(reference) => match target {
                    DeferredTarget::Function => Ok(Standin::Ref(reference, run.base)),
                    // The compile stages leave references in closures of queries only.
                    DeferredTarget::Input(_) | DeferredTarget::Data(_) => {
                        Err(DeferredTerm::Ref(reference))
                    }
                },
            };
            let by = match content {
                Ok(by) => by,
                Err(content) => match self.given_value(run, content) {
                    Some(value) => Standin::Value(value),
                    None => {
                        let deferred = Rc::new(self.defer(run, (content, target), shadow));
                        shadow = deferred.shadow_end();
                        Standin::Deferred(deferred)
                    }
                },
            };
            let (path, document) = match &with.target {
                WithTarget::Function(name) => {
                    if let Standin::Deferred(deferred) = &by {
                        in_force.push(Rc::clone(deferred));
                    }
                    mocks.push(Mock { name, by, at: with.span });
                    continue;
                }
                WithTarget::Input(path) => (path, &mut input),
                WithTarget::Data(path) => {
                    data_targets += 1;
                    (path, &mut data)
                }
            };
            in_force.retain(|deferred: &Rc<DeferredValue<'p>>| !deferred.is_at_or_below(target));
            if in_force.iter().any(|deferred| deferred.is_above(target)) {
                return Err(deferred_read(run));
            }
            let value = match by {
                Standin::Value(value) => value,
                Standin::Deferred(deferred) => {
                    let outline = self.outline_of(run, &deferred);
                    in_force.push(deferred);
                    outline
                }
                Standin::Function(..) | Standin::Ref(..) => {
                    let message = "a function replaces what isn't one";
                    return Err(EvalError::new(ErrorCode::Internal, Some(span), message).into());
                }
            };
            *document = Some(put_document(document.as_ref(), path, value, span)?);
        }
        let deferred =
            if in_force.is_empty() { DeferredValues::default() } else { in_force.into() };
        let mut of_input = with.iter().filter_map(|with| match &with.target {
            WithTarget::Input(path) => Some(path),
            _ => None,
        });
        let closed_input = self.closed_input && of_input.clone().all(|path| !path.is_empty());
        let own_input = self.own_input && of_input.next().is_none();
        Ok(Replacement {
            with,
            input,
            data,
            deferred,
            shadow,
            mocks,
            data_targets,
            own_input,
            closed_input,
        })
    }

    /// The value of a modifier, if it has one.
    fn given_value(&self, run: &Run<'p>, content: DeferredTerm<'p>) -> Option<Value> {
        match content {
            DeferredTerm::Term(term) => {
                self.value(term, run.base).map(std::borrow::Cow::into_owned)
            }
            DeferredTerm::Ref(_) | DeferredTerm::Comprehension(_) => None,
        }
    }

    /// Puts modifiers in force.
    pub(super) fn enter_with(
        &mut self,
        run: &Run<'p>,
        replacement: &Replacement<'p>,
    ) -> SavedState<'p> {
        let mut saved = SavedState {
            input: std::mem::replace(&mut self.input, replacement.input.clone()),
            data: std::mem::replace(&mut self.data, replacement.data.clone()),
            deferred: std::mem::replace(&mut self.deferred, Rc::clone(&replacement.deferred)),
            shadow: std::mem::replace(&mut self.shadow, replacement.shadow),
            data_targets: replacement.data_targets,
            own_input: std::mem::replace(&mut self.own_input, replacement.own_input),
            closed_input: std::mem::replace(&mut self.closed_input, replacement.closed_input),
            copies: Vec::new(),
        };
        let is_query = self.replaced_data == 0 && replacement.data_targets > 0;
        if is_query && let Some(data) = &replacement.data {
            self.closed.add_data(data);
        }
        for with in replacement.with {
            let (path, document, of_input) = match &with.target {
                WithTarget::Input(path) if self.closed_input => (path, &replacement.input, true),
                WithTarget::Data(path) if !is_query => (path, &replacement.data, false),
                _ => continue,
            };
            if let Some(document) = document {
                saved.copies.extend(self.closed.add_copies(document, path, of_input));
            }
        }
        self.replaced.push(Replaced(replacement.with));
        self.replaced_data += replacement.data_targets;
        self.caches.push();
        run.comprehensions.push();
        if self.mocks.is_empty() {
            self.mocks.push(Vec::new());
        }
        if let Some(group) = self.mocks.last_mut() {
            group.push(replacement.mocks.clone());
        }
        saved
    }

    /// Ends modifiers and restores the state before them.
    pub(super) fn leave_with(&mut self, run: &Run<'p>, saved: SavedState<'p>) {
        if let Some(group) = self.mocks.last_mut() {
            group.pop();
        }
        run.comprehensions.pop();
        self.caches.pop();
        self.replaced.pop();
        self.replaced_data -= saved.data_targets;
        self.input = saved.input;
        self.data = saved.data;
        self.deferred = saved.deferred;
        self.shadow = saved.shadow;
        self.own_input = saved.own_input;
        self.closed_input = saved.closed_input;
        self.closed.remove(&saved.copies);
    }

    /// Returns the replacement of a function, if it has one.
    #[inline]
    pub(super) fn standin(&self, name: &str) -> Option<Standin<'p>> {
        self.mock(name).map(|mock| mock.by.clone())
    }

    fn mock(&self, name: &str) -> Option<&Mock<'p>> {
        let group = self.mocks.last()?;
        group.iter().rev().find_map(|mocks| mocks.iter().rev().find(|mock| mock.name == name))
    }

    /// Returns the modifier that replaces the host function which a call calls.
    pub(super) fn replaced_host_call(&self, call: &Call) -> Option<Span> {
        match call.target {
            Target::Host(_) => self.mock(&call.name).map(|mock| mock.at),
            _ => None,
        }
    }
}

/// Returns a document with a value placed at a path; a value on the way that isn't an object is
/// replaced by one.
fn put_document(
    document: Option<&Value>,
    path: &[Value],
    value: Value,
    span: Span,
) -> Result<Value, Stop> {
    if path.iter().any(|part| part.as_str().is_none()) {
        // OPA's error for such a path.
        return Err(EvalError::new(ErrorCode::Conflict, Some(span), "bad document path").into());
    }
    Ok(put_at(document, path, value))
}

fn put_at(document: Option<&Value>, path: &[Value], value: Value) -> Value {
    let Some((key, rest)) = path.split_first() else { return value };
    let mut members = match document {
        Some(Value::Object(members)) => Shared::clone(members),
        _ => Shared::default(),
    };
    let below = members.get(key).cloned();
    let value = crate::value::deeper(|| put_at(below.as_ref(), rest, value));
    Shared::make_mut(&mut members).insert(key.clone(), value);
    Value::Object(members)
}
