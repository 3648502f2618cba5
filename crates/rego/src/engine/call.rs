//! Calls: comparisons, built-in functions, host functions and functions of the policy, with their
//! replacements by `with`.

use super::host::{HostAnswer, HostCall};
use super::machine::{Flow, Machine, Next, Run, Stop};
use super::reached::{MAX_RECORDS, Misordered};
use super::replaced::Standin;
use super::results::{OtherSide, RuleValue, SingleResult, SingleValue, is_false};
use super::rules::ArgumentTerms;
use super::{ErrorCode, EvalError};
use crate::builtins::{self, Builtin};
use crate::core::{Call, Comparison, Native, Op, Target, Watch};
use crate::syntax::tree::Span;
use crate::value::Value;

/// The maximum number of stored errors of built-in functions.
const KEPT_ERRORS: usize = 64;

impl<'p, 'r> Machine<'p, 'r> {
    /// Makes a call that has at most one answer. Returns [`SingleResult::Many`], before anything is
    /// called, if it may have several.
    pub(super) fn call_single(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        call: &'p Call,
    ) -> Result<SingleResult, Stop> {
        if let Target::Compare(comparison) = call.target
            && self.mocks.is_empty()
            && let [a, b] = &*call.args
            && let (Some(a), Some(b)) = (self.value(a, run.base), self.value(b, run.base))
        {
            let holds = self.compare(comparison, (&a, &b), op.span);
            return Ok(match &call.output {
                None => holds.into(),
                Some(output) => self.unify_owned(output, run.base, Value::Bool(holds)).into(),
            });
        }
        let target = match self.standin(&call.name) {
            None => call.target,
            Some(Standin::Value(value)) if !matches!(call.target, Target::Host(_)) => {
                return Ok(self.answer(run, call, value).into());
            }
            Some(_) => return Ok(SingleResult::Many),
        };
        match target {
            Target::Function(id) => {
                let core = self.core;
                let Some(set) = core.set(id) else { return Ok(SingleResult::No) };
                let free = call.output.as_ref().is_none_or(|output| self.is_free(output, run.base));
                let regular = |term| self.irregular(term, run.base).is_none();
                if !set.single || !free || self.tracer.is_some() || !call.args.iter().all(regular) {
                    return Ok(SingleResult::Many);
                }
                let args = call.args.iter().map(|term| self.value(term, run.base));
                let args = args.map(|value| value.map(std::borrow::Cow::into_owned));
                // An argument without a value is still passed as a term.
                let Some(args) = args.collect() else { return Ok(SingleResult::Many) };
                let found = self.function_single(run, id, args, call.output.is_some())?;
                Ok(match found {
                    SingleValue::Value(value) => self.answer(run, call, value).into(),
                    SingleValue::Undefined => SingleResult::No,
                    SingleValue::Many => SingleResult::Many,
                })
            }
            Target::Builtin(builtin) if matches!(builtin.run, builtins::Run::Each(_)) => {
                Ok(SingleResult::Many)
            }
            target => {
                let value = self.call_value(run, op, call, (target, call.site))?;
                Ok(value.is_some_and(|value| self.answer(run, call, value)).into())
            }
        }
    }

    /// Makes a call for each of its answers.
    pub(super) fn call_many(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        call: &'p Call,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        let Some(at) = self.replaced_host_call(call) else {
            return self.call_or_standin(run, op, call, next);
        };
        self.call_or_standin(run, op, call, &mut |machine| {
            if let Some(output) = &call.output
                && let Some(answer) = machine.value(output, run.base)
            {
                machine.context.stands_in(at, &call.name, &answer)?;
            }
            next(machine)
        })
    }

    fn call_or_standin(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        call: &'p Call,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        match self.standin(&call.name) {
            Some(Standin::Function(target, site)) => {
                // Within the function that stands in, nothing is replaced.
                self.mocks.push(Vec::new());
                let flow = self.call_target(run, op, call, (target, site), &mut |machine| {
                    machine.mocks.pop();
                    let flow = next(machine);
                    machine.mocks.push(Vec::new());
                    flow
                });
                self.mocks.pop();
                flow
            }
            Some(Standin::Value(value)) => self.answered(run, call, value, next),
            Some(Standin::Ref(reference, base)) => match &call.output {
                Some(output) => {
                    let apart = Run { base, ..run.clone() };
                    self.evaluate_reference(
                        &apart,
                        reference,
                        OtherSide::Term(output, run.base),
                        next,
                    )
                }
                // As in OPA, a reference whose value isn't used isn't looked up.
                None => next(self),
            },
            Some(Standin::Deferred(deferred)) => match &call.output {
                Some(output) => self.unify_deferred(
                    run,
                    &deferred,
                    &[],
                    OtherSide::Term(output, run.base),
                    next,
                ),
                None => next(self),
            },
            None => self.call_target(run, op, call, (call.target, call.site), next),
        }
    }

    fn call_target(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        call: &'p Call,
        (target, site): (Target, Option<u32>),
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        match target {
            Target::Function(id) => {
                let (args, unbound) = self.outlined_args(run, call);
                let output = call.output.as_ref().filter(|output| !self.is_free(output, run.base));
                let captured = call.output.is_some();
                let irregular =
                    call.args.iter().any(|term| self.irregular(term, run.base).is_some());
                let terms = match (unbound, irregular) {
                    (true, _) => ArgumentTerms::Unbound(&call.args),
                    (false, true) => ArgumentTerms::Irregular(&call.args),
                    (false, false) => ArgumentTerms::Plain,
                };
                self.function(run, id, (args, terms), (output, captured), &mut |machine, given| {
                    match (given, &call.output) {
                        (RuleValue::Value(value), _) => {
                            machine.answered(run, call, value, &mut *next)
                        }
                        (RuleValue::Term(..), None) => next(machine),
                        (RuleValue::Term(term, base), Some(output)) => machine.attempt(|machine| {
                            let holds = machine.unify(output, run.base, term, base);
                            if holds { next(machine) } else { Ok(()) }
                        }),
                    }
                })
            }
            Target::Builtin(&Builtin { run: builtins::Run::Each(each), name, .. }) => {
                let mut args = self.args(run, op, call)?;
                if self.survey.is_some() {
                    for arg in &mut args {
                        *arg = self.apart(arg)?;
                    }
                }
                let mut flow = Ok(());
                let context = self.context;
                let result = each(context, &args, &mut |value| {
                    flow = self.step().and_then(|()| self.answered(run, call, value, &mut *next));
                    flow.is_ok()
                });
                flow?;
                if let Err(error) = result {
                    self.failed(name, op.span, &error)?;
                }
                Ok(())
            }
            target => match self.call_value(run, op, call, (target, site))? {
                Some(value) => self.answered(run, call, value, next),
                None => Ok(()),
            },
        }
    }

    /// Takes a call's value and continues if it fits.
    fn answered(
        &mut self,
        run: &Run<'p>,
        call: &'p Call,
        value: Value,
        next: Next<'_, 'p, 'r>,
    ) -> Flow {
        self.attempt(
            |machine| {
                if machine.answer(run, call, value) { next(machine) } else { Ok(()) }
            },
        )
    }

    /// Takes a call's value: unifies it with the call's output, or, if there is none, requires it
    /// not to be `false`.
    #[inline]
    fn answer(&mut self, run: &Run<'p>, call: &'p Call, value: Value) -> bool {
        match &call.output {
            Some(output) => self.unify_owned(output, run.base, value),
            None => !is_false(&value),
        }
    }

    /// The values of a call's arguments.
    fn args(&self, run: &Run<'p>, op: &Op, call: &'p Call) -> Result<Vec<Value>, Stop> {
        let mut args = Vec::with_capacity(call.args.len());
        for (index, term) in call.args.iter().enumerate() {
            let Some(value) = self.value(term, run.base) else {
                let message = format!("argument {} of `{}` has no value", index + 1, call.name);
                return Err(EvalError::new(ErrorCode::Internal, Some(op.span), message).into());
            };
            args.push(value.into_owned());
        }
        Ok(args)
    }

    /// The values of a function's arguments, and `true` if one has no value; such an argument is
    /// given as the rule index sees it.
    fn outlined_args(&self, run: &Run<'p>, call: &'p Call) -> (Vec<Value>, bool) {
        let mut unbound = false;
        let args = call.args.iter().map(|term| match self.value(term, run.base) {
            Some(value) => value.into_owned(),
            None => {
                unbound = true;
                self.outline(term, run.base)
            }
        });
        (args.collect(), unbound)
    }

    /// Calls a target that has at most one value.
    fn call_value(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        call: &'p Call,
        (target, site): (Target, Option<u32>),
    ) -> Result<Option<Value>, Stop> {
        match target {
            Target::Compare(comparison) => {
                let args = self.args(run, op, call)?;
                let [a, b] = args.as_slice() else { return Ok(None) };
                Ok(Some(Value::Bool(self.compare(comparison, (a, b), op.span))))
            }
            Target::Builtin(builtin) => {
                let builtins::Run::Plain(plain) = builtin.run else {
                    return Err(missing(&call.name, op.span));
                };
                self.count(site);
                // Most calls have one argument or two; an array avoids the allocation.
                let answer = match &*call.args {
                    [a] => {
                        let args = [self.arg(run, op, call, a)?];
                        plain(self.context, &args)
                    }
                    [a, b] => {
                        let args = [self.arg(run, op, call, a)?, self.arg(run, op, call, b)?];
                        plain(self.context, &args)
                    }
                    _ => plain(self.context, &self.args(run, op, call)?),
                };
                match answer {
                    Ok(value) => {
                        if let Some(value) = &value {
                            self.context.spend(weight(value))?;
                            if call.watch != Watch::Nothing {
                                self.watch(run, op, call, value);
                            }
                        }
                        Ok(value)
                    }
                    Err(_) if site.is_some() && self.makes_no_call(op) => Ok(None),
                    Err(error) => {
                        self.failed(builtin.name, op.span, &error)?;
                        Ok(None)
                    }
                }
            }
            Target::Host(index) => self.call_host(run, op, call, (index, site)),
            Target::Native(native) => self.call_native(run, op, call, native),
            Target::Function(_) | Target::Missing => Err(missing(&call.name, op.span)),
        }
    }

    /// Compares values, and records an ordering of different types.
    #[inline]
    fn compare(&self, comparison: Comparison, (a, b): (&Value, &Value), span: Span) -> bool {
        if comparison.orders() && !matches!((a, b), (Value::Number(_), Value::Number(_))) {
            self.judge_order(a, b, span);
        }
        compare(comparison, a, b)
    }

    /// Records an ordering of values of different types.
    fn judge_order(&self, a: &Value, b: &Value, ordering: Span) {
        let Some((left, right)) = misordered(a, b) else { return };
        let mut known = self.misordered.borrow_mut();
        if known.len() < MAX_RECORDS && !known.iter().any(|known| known.ordering == ordering) {
            known.push(Misordered { ordering, left, right });
        }
    }

    /// Records the elements of different types that a function ordered, or the text that it decoded.
    fn watch(&self, run: &Run<'p>, op: &Op, call: &'p Call, result: &Value) {
        if call.watch == Watch::Decoding {
            let given = call.args.first().and_then(|term| self.value(term, run.base));
            let mut decoded = self.decoded.borrow_mut();
            decoded.extend(given.map(std::borrow::Cow::into_owned));
        } else if let Value::Array(sorted) = result
            && call.name.as_ref() == "sort"
        {
            let pairs = sorted.iter().zip(sorted.iter().skip(1));
            pairs.for_each(|(a, b)| self.judge_order(a, b, op.span));
        } else if let Some(given) = call.args.first().and_then(|term| self.value(term, run.base)) {
            match &*given {
                Value::Array(items) => {
                    items.iter().for_each(|item| self.judge_order(item, result, op.span))
                }
                Value::Set(items) => {
                    items.iter().for_each(|item| self.judge_order(item, result, op.span))
                }
                _ => {}
            }
        }
    }

    /// Counts a call of a call site.
    #[inline]
    fn count(&mut self, site: Option<u32>) {
        if let Some(site) = site {
            *self.calls.entry(site).or_default() += 1;
        }
    }

    fn arg(
        &self,
        run: &Run<'p>,
        op: &Op,
        call: &'p Call,
        term: &'p crate::core::Term,
    ) -> Result<Value, Stop> {
        match self.value(term, run.base) {
            Some(value) => Ok(value.into_owned()),
            // `args` makes the error, which names the argument.
            None => self.args(run, op, call).map(|_| Value::Null),
        }
    }

    fn call_host(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        call: &'p Call,
        (index, site): (u32, Option<u32>),
    ) -> Result<Option<Value>, Stop> {
        let core = self.core;
        let Some(function) = core.host.get(index as usize) else {
            return Err(missing(&call.name, op.span));
        };
        let args = self.args(run, op, call)?;
        self.count(site);
        // The time that a call takes is the host's to limit, so it's asked before each.
        self.context.poll()?;
        let host = self.context.host;
        let made = HostCall { span: op.span, name: &function.name, args: &args };
        match host.call(&made) {
            HostAnswer::Value(value) => {
                self.context.spend(weight(&value))?;
                if let Some(member) = host.may_lack(&function.name) {
                    self.closed.add_answer(&value, member);
                }
                Ok(Some(value))
            }
            HostAnswer::Undefined => Ok(None),
            HostAnswer::Pending => {
                self.begin_guessing();
                Ok(None)
            }
            HostAnswer::Error(_) | HostAnswer::Fail(_) if self.makes_no_call(op) => Ok(None),
            HostAnswer::Error(error) => {
                self.failed(&function.name, op.span, &error)?;
                Ok(None)
            }
            HostAnswer::Fail(source) => {
                let message = format!("{}: {source}", function.name);
                Err(EvalError {
                    source: Some(source),
                    ..EvalError::new(ErrorCode::Host, Some(op.span), message)
                }
                .into())
            }
        }
    }

    fn call_native(
        &mut self,
        run: &Run<'p>,
        op: &'p Op,
        call: &'p Call,
        native: Native,
    ) -> Result<Option<Value>, Stop> {
        let args = self.args(run, op, call)?;
        let type_error = |machine: &mut Self, position: usize, got: &Value, expected: &str| {
            let error = builtins::Error::operand(position, got, &[expected]);
            machine.failed(&call.name, op.span, &error).map(|()| None)
        };
        match (native, args.as_slice()) {
            (Native::Print | Native::Template, [operands]) => {
                let Value::Array(operands) = operands else {
                    return type_error(self, 1, operands, "array");
                };
                if native == Native::Print {
                    let host = self.context.host;
                    self.combine(op.span, operands, &mut Vec::new(), &mut |texts| {
                        host.print(op.span, &texts.join(" "));
                        Ok(())
                    })?;
                    // `print` has no value, and the call holds.
                    return Ok(Some(Value::Bool(true)));
                }
                let mut text: Option<String> = None;
                self.combine(op.span, operands, &mut Vec::new(), &mut |texts| {
                    if text.is_some() {
                        let message = "template-strings must not produce multiple outputs";
                        return Err(
                            EvalError::new(ErrorCode::Conflict, Some(op.span), message).into()
                        );
                    }
                    text = Some(texts.concat());
                    Ok(())
                })?;
                let text = text.unwrap_or_default();
                self.context.spend(text.len() as u64)?;
                Ok(Some(Value::from(text)))
            }
            (Native::Member, [value, collection]) => {
                let found = match collection {
                    Value::Array(items) => items.contains(value),
                    Value::Object(members) => members.values().any(|member| member == value),
                    Value::Set(items) => items.contains(value),
                    _ => false,
                };
                Ok(Some(Value::Bool(found)))
            }
            (Native::Trace, [message]) => match message {
                Value::String(text) => {
                    self.note(run, op.span, text);
                    Ok(Some(Value::Bool(true)))
                }
                other => type_error(self, 1, other, "string"),
            },
            _ => Err(missing(&call.name, op.span)),
        }
    }

    /// Calls back with each combination of the operands' values, as texts.
    fn combine(
        &mut self,
        span: Span,
        operands: &[Value],
        texts: &mut Vec<String>,
        each: &mut dyn FnMut(&[String]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Some((first, rest)) = operands.split_first() else {
            self.step()?;
            return each(texts);
        };
        let mut with = |machine: &mut Self, text: String| {
            texts.push(text);
            let result = machine.deeper(|machine| machine.combine(span, rest, texts, each));
            texts.pop();
            result
        };
        match first {
            Value::Set(values) if values.is_empty() => with(self, "<undefined>".to_owned()),
            Value::Set(values) => values.iter().try_for_each(|value| {
                if value.is_collection() {
                    self.context.spend(value.size())?;
                }
                with(self, plain_text(value))
            }),
            Value::Array(_) | Value::Object(_) => {
                let message = format!("illegal argument type: {}", first.type_name());
                Err(EvalError::new(ErrorCode::Internal, Some(span), message).into())
            }
            scalar => with(self, plain_text(scalar)),
        }
    }

    /// Records the error of a function, whose call is then undefined; or ends the evaluation, if
    /// the error demands it.
    pub(super) fn failed(&mut self, name: &str, span: Span, error: &builtins::Error) -> Flow {
        let failure = self.context.failure(name, span, error);
        if error.halt {
            return Err(failure.into());
        }
        if self.errors.len() < KEPT_ERRORS {
            self.errors.push(failure);
        }
        Ok(())
    }
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        value => value.to_string(),
    }
}

#[cold]
fn missing(name: &str, span: Span) -> Stop {
    EvalError::new(ErrorCode::Internal, Some(span), format!("unsupported built-in: {name}")).into()
}

/// Returns the types of the values that decide the order of two, if they differ: the first elements of
/// arrays that aren't equal.
fn misordered(a: &Value, b: &Value) -> Option<(&'static str, &'static str)> {
    match (a, b) {
        (Value::Array(a), Value::Array(b)) => {
            let (a, b) = a.iter().zip(b.iter()).find(|(a, b)| a != b)?;
            crate::value::deeper(|| misordered(a, b))
        }
        _ if std::mem::discriminant(a) == std::mem::discriminant(b) => None,
        _ => Some((a.type_name(), b.type_name())),
    }
}

#[inline]
fn compare(comparison: Comparison, a: &Value, b: &Value) -> bool {
    match comparison {
        Comparison::Equal => a == b,
        Comparison::NotEqual => a != b,
        Comparison::Less => a < b,
        Comparison::LessOrEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterOrEqual => a >= b,
    }
}

/// The approximate size of a value itself, in bytes; its elements were counted when they were made.
#[inline]
fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.len() as u64 * 24,
        Value::Object(members) => members.len() as u64 * 64,
        Value::Set(items) => items.len() as u64 * 32,
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
