//! Modifiers: what `with` replaces, for as long as its expression is evaluated.

use std::rc::Rc;

use super::machine::{Machine, Run, Stop};
use super::open::{Open, Opens, Place, What, unread};
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
    /// A term that has no value yet, whatever the arguments.
    Open(Rc<Open<'p>>),
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
    /// True if a path in data is at or within what is replaced.
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
    opens: Opens<'p>,
    shadow: u32,
    mocks: Vec<Mock<'p>>,
    /// The number of those that replace data.
    data_targets: usize,
}

/// What was in force before.
pub(super) struct Before<'p> {
    input: Option<Value>,
    data: Option<Value>,
    opens: Opens<'p>,
    shadow: u32,
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
        let mut opens = self.opens.to_vec();
        let mut shadow = self.shadow;
        for with in with {
            let place = match &with.target {
                WithTarget::Input(path) => Place::Input(path),
                WithTarget::Data(path) => Place::Data(path),
                WithTarget::Function(_) => Place::Function,
            };
            let what = match &with.value {
                WithValue::Term(term) => Err(What::Term(term)),
                WithValue::Function(target, _) => Ok(Standin::Function(*target)),
                WithValue::Ref(reference) => match place {
                    Place::Function => Ok(Standin::Ref(reference, run.base)),
                    // The compile stages leave these in closures of queries only.
                    Place::Input(_) | Place::Data(_) => Err(What::Ref(reference)),
                },
            };
            let by = match what {
                Ok(by) => by,
                Err(what) => match self.given_value(run, what) {
                    Some(value) => Standin::Value(value),
                    None => {
                        let open = Rc::new(Open::new(self, run, (what, place), shadow));
                        shadow = open.shadow_end();
                        Standin::Open(open)
                    }
                },
            };
            let (path, document) = match &with.target {
                WithTarget::Function(name) => {
                    if let Standin::Open(open) = &by {
                        opens.push(Rc::clone(open));
                    }
                    mocks.push(Mock { name, by });
                    continue;
                }
                WithTarget::Input(path) => (path, &mut input),
                WithTarget::Data(path) => {
                    data_targets += 1;
                    (path, &mut data)
                }
            };
            opens.retain(|open: &Rc<Open<'p>>| !open.is_at_or_below(place));
            if opens.iter().any(|open| open.is_above(place)) {
                return Err(unread(run));
            }
            let value = match by {
                Standin::Value(value) => value,
                Standin::Open(open) => {
                    let outline = self.outline_of(run, &open);
                    opens.push(open);
                    outline
                }
                Standin::Function(_) | Standin::Ref(..) => {
                    let message = "a function replaces what isn't one";
                    return Err(EvalError::new(ErrorCode::Internal, Some(span), message).into());
                }
            };
            *document = Some(self::place(document.as_ref(), path, value, span)?);
        }
        let opens = if opens.is_empty() { Opens::default() } else { opens.into() };
        Ok(Replacement { with, input, data, opens, shadow, mocks, data_targets })
    }

    /// The value of what a modifier gives, if it has one.
    fn given_value(&self, run: &Run<'p>, what: What<'p>) -> Option<Value> {
        match what {
            What::Term(term) => self.value(term, run.base).map(std::borrow::Cow::into_owned),
            What::Ref(_) => None,
        }
    }

    /// Puts modifiers in force.
    pub(super) fn enter_with(
        &mut self,
        run: &Run<'p>,
        replacement: &Replacement<'p>,
    ) -> Before<'p> {
        let before = Before {
            input: std::mem::replace(&mut self.input, replacement.input.clone()),
            data: std::mem::replace(&mut self.data, replacement.data.clone()),
            opens: std::mem::replace(&mut self.opens, Rc::clone(&replacement.opens)),
            shadow: std::mem::replace(&mut self.shadow, replacement.shadow),
            data_targets: replacement.data_targets,
        };
        self.replaced.push(Replaced(replacement.with));
        self.replaced_data += replacement.data_targets;
        self.caches.push();
        run.remembered.push();
        if self.mocks.is_empty() {
            self.mocks.push(Vec::new());
        }
        if let Some(group) = self.mocks.last_mut() {
            group.push(replacement.mocks.clone());
        }
        before
    }

    /// Ends them.
    pub(super) fn leave_with(&mut self, run: &Run<'p>, before: Before<'p>) {
        if let Some(group) = self.mocks.last_mut() {
            group.pop();
        }
        run.remembered.pop();
        self.caches.pop();
        self.replaced.pop();
        self.replaced_data -= before.data_targets;
        self.input = before.input;
        self.data = before.data;
        self.opens = before.opens;
        self.shadow = before.shadow;
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
